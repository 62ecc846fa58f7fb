import type { Candle } from '../../contracts/candle.ts'
import { ServiceError } from '../../contracts/errors.ts'
import type { Exchange } from '../../contracts/exchanges.ts'
import type { FundingRate } from '../../contracts/funding.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { marketName } from '../../contracts/series.ts'
import { TIMEFRAMES, type Timeframe, timeframeMs } from '../../contracts/timeframes.ts'
import type { UsedSeries } from '../../services/engine/provenance.ts'
import { BarMaker, ROW_NUMBERS } from '../../services/market/bar-maker.ts'
import { findRecordings } from '../../services/market/recorded/find-recordings.ts'
import { readCandleRows, readFunding } from '../../services/market/recorded/read-recording.ts'
import type { Recording } from '../../services/market/recorded/recording.ts'
import { type Cover, coverTime } from './cover-time.ts'
import { describeHistory } from './describe-history.ts'
import type { SeriesHistory } from './series-history.ts'

/** Which data a command reads. */
export interface DataSelection {
  readonly folders: readonly string[]
  readonly exchanges?: readonly Exchange[]
  readonly coins?: readonly string[]
  readonly timeframes: readonly Timeframe[]
  /** Bars that close later are not read; Unix milliseconds. */
  readonly until?: number
}

/** Hears while histories are read. */
export interface Hearer {
  readonly report: (line: string) => void
  /** A file that bars are taken from, before any of it is given. */
  readonly used: (series: UsedSeries) => void
}

/** A candle file in memory. */
interface CandleFile {
  readonly recording: Recording
  readonly isSpot: boolean
  readonly barMs: number
  readonly name: string
  readonly from: number
  readonly until: number
  /** Six numbers a bar. */
  readonly rows: Float64Array
}

/** A gap of more bars than this ends a history; over a shorter one bars follow one another, as they do live. */
const LONGEST_GAP_BARS = 12

/** A history shorter than the warm-up says nothing. */
const FEWEST_BARS = LIMITS.warmUpBars + 100

/**
 * The unbroken histories that some folders hold, coin by coin, shortest timeframe first. A coin's time is
 * shared out among all files of it, on any exchange, so that no moment of it counts twice; bars are of the file
 * itself or made of shorter ones. One coin's files are in memory at a time.
 *
 * @param hearer hears of what was left out, and of every file that is read
 * @throws ServiceError `market_data_missing`, `market_data_damaged`
 */
export async function* readHistories(
  selection: DataSelection,
  { report, used }: Hearer,
): AsyncGenerator<SeriesHistory, void, void> {
  const recordings = await findAll(selection, report)
  const candles = recordings.filter(({ content }) => content !== 'funding')
  const byCoin = Map.groupBy(candles, ({ market }) => market.coin)
  let histories = 0
  for (const coin of [...byCoin.keys()].toSorted()) {
    // Files that no wanted timeframe can be made of are left alone.
    const of = (byCoin.get(coin) ?? []).filter(({ content }) =>
      serves(content as Timeframe, selection.timeframes),
    )
    const files = await Promise.all(of.map((one) => readFile(one, selection)))
    const fundingOf = await readFundings(
      recordings.filter(({ content, market }) => content === 'funding' && market.coin === coin),
      selection,
    )
    for (const file of files) {
      const { market, content } = file.recording
      const bars = [...barsOf({ ...file, recording: file }, file.barMs)]
      const funding = fundingOf.get(marketName(market)) ?? []
      const described = describeHistory({
        series: { ...market, timeframe: content as Timeframe },
        isSpot: file.isSpot,
        bars,
        funding,
      })
      if (described !== undefined) used(described)
    }
    for (const timeframe of TIMEFRAMES) {
      if (!selection.timeframes.includes(timeframe)) continue
      for (const history of historiesOf(timeframe, files, fundingOf)) {
        histories += 1
        yield history
      }
    }
  }
  if (histories > 0) return
  throw new ServiceError('market_data_missing', {
    message: `The data has no series of ${selection.timeframes.join(', ')} with at least ${FEWEST_BARS} bars.`,
  })
}

const serves = (native: Timeframe, wanted: readonly Timeframe[]): boolean =>
  wanted.some((timeframe) => timeframeMs(timeframe) % timeframeMs(native) === 0)

async function findAll(
  { folders, exchanges, coins }: DataSelection,
  report: (line: string) => void,
): Promise<Recording[]> {
  const all: Recording[] = []
  for (const folder of folders) {
    const { recordings, ignored } = await findRecordings(folder)
    for (const { name, reason } of ignored) report(`left out ${folder}/${name}: ${reason}`)
    for (const recording of recordings) {
      const { exchange, coin } = recording.market
      if (!(exchanges?.includes(exchange) ?? true) || !(coins?.includes(coin) ?? true)) continue
      all.push({ ...recording, name: `${folder}/${recording.name}` })
    }
  }
  return all
}

async function readFile(
  recording: Recording,
  { until = Number.POSITIVE_INFINITY }: DataSelection,
): Promise<CandleFile> {
  const timeframe = recording.content as Timeframe
  const barMs = timeframeMs(timeframe)
  const blocks: Float64Array[] = []
  let length = 0
  for await (const { rows, count } of readCandleRows(recording, timeframe)) {
    const block = rows.slice(0, count * ROW_NUMBERS)
    blocks.push(block)
    length += block.length
  }
  const all = new Float64Array(length)
  let at = 0
  for (const block of blocks) {
    all.set(block, at)
    at += block.length
  }
  let end = all.length
  while (end > 0 && (all[end - ROW_NUMBERS] ?? 0) + barMs > until) end -= ROW_NUMBERS
  const rows = all.subarray(0, end)
  const { isSpot, name } = recording
  const from = rows[0] ?? 0
  return {
    recording,
    isSpot,
    barMs,
    name,
    from,
    until: end === 0 ? from : (rows[end - ROW_NUMBERS] ?? 0) + barMs,
    rows,
  }
}

/** The funding file of each market that reaches furthest, by market name. */
async function readFundings(
  recordings: readonly Recording[],
  { until = Number.POSITIVE_INFINITY }: DataSelection,
): Promise<ReadonlyMap<string, readonly FundingRate[]>> {
  const best = new Map<string, readonly FundingRate[]>()
  for (const recording of recordings) {
    const funding = (await readFunding(recording)).filter(({ time }) => time <= until)
    const name = marketName(recording.market)
    if (funding.length > (best.get(name)?.length ?? 0)) best.set(name, funding)
  }
  return best
}

function* historiesOf(
  timeframe: Timeframe,
  files: readonly CandleFile[],
  fundingOf: ReadonlyMap<string, readonly FundingRate[]>,
): Generator<SeriesHistory, void, void> {
  const barMs = timeframeMs(timeframe)
  const usable = files
    .filter((file) => barMs % file.barMs === 0)
    .map((file) => ({
      ...file,
      from: Math.ceil(file.from / barMs) * barMs,
      until: Math.floor(file.until / barMs) * barMs,
    }))
  let bars: Candle[] = []
  let last: Cover<CandleFile> | undefined
  const ended = function* (): Generator<SeriesHistory, void, void> {
    if (last !== undefined && bars.length >= FEWEST_BARS) {
      const { market, isSpot } = last.recording.recording
      const funding = fundingOf.get(marketName(market)) ?? []
      yield { series: { ...market, timeframe }, isSpot, bars, funding }
    }
    bars = []
  }
  for (const cover of coverTime(usable, FEWEST_BARS * barMs)) {
    if (last !== undefined && !isSameMarket(last.recording, cover.recording)) yield* ended()
    for (const bar of barsOf(cover, barMs)) {
      const before = bars.at(-1)
      if (before !== undefined && bar.openTime - before.openTime > (LONGEST_GAP_BARS + 1) * barMs)
        yield* ended()
      last = cover
      bars.push(bar)
    }
    last = cover
  }
  yield* ended()
}

const isSameMarket = (a: CandleFile, b: CandleFile): boolean =>
  a.recording.market.exchange === b.recording.market.exchange && a.isSpot === b.isSpot

/** The bars of a timeframe in a stretch of a file, made of shorter ones where the file's are. */
function* barsOf(
  { recording, from, until }: Cover<CandleFile>,
  barMs: number,
): Generator<Candle, void, void> {
  const { rows } = recording
  const bars = new BarMaker(barMs, from, false)
  let closes = 0
  for (let at = 0; at < rows.length; at += ROW_NUMBERS) {
    const openTime = rows[at] ?? 0
    if (openTime < from) continue
    if (openTime >= until) break
    if (closes !== 0 && openTime >= closes) {
      const bar = bars.finish()
      if (bar !== undefined) yield bar
    }
    closes = bars.take(rows, at) || closes
  }
  const bar = bars.finish()
  if (bar !== undefined) yield bar
}
