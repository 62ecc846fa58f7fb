import type { BarBatch, FundingUpdate } from '../../../contracts/domain/feed.ts'
import { type Market, marketName, type Series, seriesName } from '../../../contracts/domain/series.ts'
import { type Timeframe, timeframeMs } from '../../../contracts/domain/timeframes.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { createDelayQueue, type DelayQueue } from '../../runtime/async/delay-queue.ts'
import { BarAggregator } from '../aggregate-bars.ts'
import { ROW_NUMBERS } from '../bar-maker.ts'
import { planSource } from '../plan-source.ts'
import type { Catalogue, SummarisedRecording } from './open-catalogue.ts'
import { readCandleRows, readFunding } from './read-recording.ts'
import type { RowBlock } from './read-rows.ts'

export interface ReplayPlan {
  /** The series to make, each once. */
  readonly series: readonly Series[]
  /** The markets whose funding is wanted, each once. */
  readonly funding: readonly Market[]
  /** Open time of the first bar wanted of a timeframe. */
  notBefore(timeframe: Timeframe): number
  /** The last instant. */
  readonly to: number
  /** Hears of each row of a candle file that was read. */
  onRow(): void
}

/** A candle file at the row that is next. */
interface CandleCursor {
  readonly source: number
  readonly lengthMs: number
  /** Rows that open earlier are not wanted. */
  readonly notBefore: number
  readonly blocks: AsyncGenerator<RowBlock, void, undefined>
  block: RowBlock
  row: number
}

/** A batch before it is known as history or live. */
export type Instant = Omit<BarBatch, 'phase'>

const NEVER = Number.POSITIVE_INFINITY

/** Batches made at a time. */
const GROUP_BATCHES = 256

/**
 * Merges the files of some series by the close time of their bars. A file is held a block at a time, so memory grows
 * with the number of files and not with their length; funding, of a few rows a day, is held whole.
 *
 * @returns how many rows of files will be read, and the batches in order, some at a time: one turn of an asynchronous
 *   loop costs more than one batch
 * @throws ServiceError `market_data_missing` for a series the catalogue does not have.
 */
export function planReplay(catalogue: Catalogue, plan: ReplayPlan) {
  const aggregator = new BarAggregator()
  const files = new Map<SummarisedRecording, { source: number; notBefore: number }>()
  for (const series of plan.series) {
    const recording = recordingFor(catalogue, series)
    const notBefore = plan.notBefore(series.timeframe)
    const source = aggregator.add({ series, base: recording.content as Timeframe, notBefore })
    const known = files.get(recording)
    files.set(recording, { source, notBefore: Math.min(notBefore, known?.notBefore ?? notBefore) })
  }
  const rows = [...files.keys()].reduce((sum, { summary }) => sum + summary.rows, 0)

  async function* groups() {
    const cursors = [...files].map(([recording, { source, notBefore }]): CandleCursor => {
      const timeframe = recording.content as Timeframe
      const blocks = readCandleRows(recording, timeframe)
      const block = { rows: new Float64Array(), count: 0 }
      return { source, lengthMs: timeframeMs(timeframe), notBefore, blocks, block, row: -1 }
    })
    const queue = createDelayQueue<CandleCursor>()
    try {
      for (const cursor of cursors) await advance(cursor, queue, plan)
      yield* merge(aggregator, queue, await readSettlements(catalogue, plan), plan)
    } finally {
      for (const cursor of cursors) await cursor.blocks.return()
    }
  }
  return { rows, groups }
}

async function* merge(
  aggregator: BarAggregator,
  queue: DelayQueue<CandleCursor>,
  settlements: readonly FundingUpdate[],
  plan: ReplayPlan,
): AsyncGenerator<readonly Instant[], void, undefined> {
  let group: Instant[] = []
  let settled = 0
  for (;;) {
    const at = Math.min(queue.nextAt ?? NEVER, settlements[settled]?.funding.time ?? NEVER)
    if (at === NEVER || at > plan.to) break
    for (let due = aggregator.overdue(at); due !== undefined; due = aggregator.overdue(at)) {
      group.push({ at: due, bars: aggregator.close(due), funding: [] })
    }
    for (let cursor = queue.take(at); cursor !== undefined; cursor = queue.take(at)) {
      aggregator.push(cursor.source, cursor.block.rows, cursor.row * ROW_NUMBERS)
      // Waits only where the file's next block has to be read: a wait for every bar would cost more than the bar.
      if (!stepWithinBlock(cursor, queue, plan)) await advance(cursor, queue, plan)
    }
    const bars = aggregator.close(at)
    const funding: FundingUpdate[] = []
    for (; settlements[settled]?.funding.time === at; settled++)
      funding.push(settlements[settled] as FundingUpdate)
    if (bars.length > 0 || funding.length > 0) group.push({ at, bars, funding })
    if (group.length >= GROUP_BATCHES) {
      yield group
      group = []
    }
  }
  yield group
}

/** Moves to the next wanted row of the block and queues the file under its close; false where there is none. */
function stepWithinBlock(cursor: CandleCursor, queue: DelayQueue<CandleCursor>, plan: ReplayPlan): boolean {
  const { block } = cursor
  for (cursor.row++; cursor.row < block.count; cursor.row++) {
    const opens = block.rows[cursor.row * ROW_NUMBERS] as number
    const closes = opens + cursor.lengthMs
    if (closes > plan.to) return true
    plan.onRow()
    if (opens < cursor.notBefore) continue
    queue.add(closes, cursor)
    return true
  }
  return false
}

async function advance(
  cursor: CandleCursor,
  queue: DelayQueue<CandleCursor>,
  plan: ReplayPlan,
): Promise<void> {
  while (!stepWithinBlock(cursor, queue, plan)) {
    const next = await cursor.blocks.next()
    if (next.done) return
    cursor.block = next.value
    cursor.row = -1
  }
}

/** The settlements that are wanted, in order of time; those of one instant by the names of their markets. */
async function readSettlements(catalogue: Catalogue, plan: ReplayPlan): Promise<FundingUpdate[]> {
  const from = Math.min(...plan.series.map(({ timeframe }) => plan.notBefore(timeframe)))
  const updates: FundingUpdate[] = []
  for (const { exchange, coin } of plan.funding) {
    const market = { exchange, coin }
    const recording = catalogue.markets.get(marketName(market))?.funding
    const all = recording === undefined ? [] : await readFunding(recording)
    for (const funding of all) if (from === NEVER || funding.time >= from) updates.push({ market, funding })
  }
  return updates.toSorted(
    (a, b) => a.funding.time - b.funding.time || (marketName(a.market) < marketName(b.market) ? -1 : 1),
  )
}

function recordingFor(catalogue: Catalogue, series: Series): SummarisedRecording {
  const market = catalogue.markets.get(marketName(series))
  const known = market?.listing.timeframes ?? []
  const native = planSource(series.timeframe, market?.listing.native ?? [])
  const recording = market?.candles.find(({ content }) => content === native?.timeframe)
  if (recording !== undefined && known.includes(series.timeframe)) return recording
  const recorded = `recorded are ${[...catalogue.markets.keys()].join(', ')}`
  const hint = known.length === 0 ? recorded : `${marketName(series)} has ${known.join(', ')}`
  throw new ServiceError('market_data_missing', {
    message: `there are no recorded bars for ${seriesName(series)}; ${hint}`,
    details: { series: seriesName(series) },
  })
}
