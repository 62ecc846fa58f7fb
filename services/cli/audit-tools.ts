import { type BarsAnswer, barsAnswerSchema } from '../../contracts/bars-answer.ts'
import type { Candle } from '../../contracts/candle.ts'
import { isServiceError } from '../../contracts/errors.ts'
import type { JsonObject } from '../../contracts/json.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { timeframeMs } from '../../contracts/timeframes.ts'
import { trackRecordAnswerSchema } from '../../contracts/track-record-row.ts'
import type { Verdict } from '../../contracts/verdict.ts'
import { trackRecordReport } from '../analyst/index.ts'
import { createRace, modelFile } from '../engine/index.ts'
import type { AuditTools, LogSource } from '../proof/index.ts'
import { recomputeVerdict } from './recompute-verdict.ts'

/** What an audit reads of a published record. */
const publishedSchema = trackRecordAnswerSchema.pick({ rows: true, next: true })

/** Recomputes what a log says, with the code of this release and the bars of a source. */
export function auditTools(source: LogSource, barsOf = barsFrom(source)): AuditTools {
  return {
    barsOf,
    raceOf({ timeframe, barClose, validUntil, barrier }, bars) {
      const barMs = timeframeMs(timeframe)
      const race = createRace({ barClose, barMs, windowBars: (validUntil - barClose) / barMs, barrier })
      for (const bar of bars) {
        const result = race.take(bar)
        if (result !== undefined) return { ...result }
      }
      return { ...race.end() }
    },
    async recompute(verdict, sha256) {
      if (modelFile().sha256 !== sha256) return 'their model is not that of this release'
      if ((verdict.barClose - verdict.anchorBar) / timeframeMs(verdict.timeframe) > MOST_BARS)
        return `the state of their series began more than ${MOST_BARS} bars before`
      try {
        const { bars, differences } = await recomputeVerdict(verdict, pagesOf(source, verdict))
        if (bars < (verdict.barClose - verdict.anchorBar) / timeframeMs(verdict.timeframe)) return NO_BARS
        const fields = differences.map(({ field }) => field).filter((field) => isJudged(verdict, field))
        return { differences: fields, hasSameInputs: !fields.includes('inputsHash') }
      } catch (error) {
        // There are no bars, or too few.
        if (isServiceError(error, 'config_invalid') || isServiceError(error, 'market_data_missing'))
          return NO_BARS
        throw error
      }
    },
    untilSigned: async () => undefined,
    async published(grouping) {
      const rows: JsonObject[] = []
      for (let after = ''; ; ) {
        const bytes = await source.get(`api/track-record?group_by=${grouping}${after}`)
        if (bytes === undefined) return undefined
        const answer = publishedSchema.parse(JSON.parse(bytes.toString()))
        rows.push(...(answer.rows as unknown as JsonObject[]))
        if (answer.next === null) return rows
        after = `&after=${answer.next}`
      }
    },
    reported(rows, grouping) {
      const sorted = [...rows]
        .map(([key, row]) => ({ key, row }))
        .toSorted((a, b) => (a.key < b.key ? -1 : 1))
      const range = ({ prefix, after = '', limit }: { prefix: string; after?: string; limit: number }) =>
        sorted.filter(({ key }) => key.startsWith(prefix) && key > after).slice(0, limit)
      const found: JsonObject[] = []
      for (let after: string | undefined; ; ) {
        const query = {
          groupBy: grouping,
          limit: LIMITS.trackRecordRows,
          ...(after && { after }),
        } as const
        const page = trackRecordReport({ range, position: () => '' }, query)
        found.push(...(page.rows as unknown as JsonObject[]))
        if (page.next === undefined) return found
        after = page.next
      }
    },
  }
}

/** Wording may change with a release. And a model may be kept from calling, which no bars say: then it says HOLD. */
const JUDGED: ReadonlySet<string> = new Set([
  'call',
  'probability',
  'price',
  'barrier',
  'regime',
  'inputsHash',
])
const isJudged = ({ call }: Verdict, field: string): boolean =>
  JUDGED.has(field) && (field !== 'call' || call !== 'HOLD')
const NO_BARS = 'not all the bars since the state of their series began are there'
/** Bars that one verdict is computed again from, at most. */
const MOST_BARS = 20_000

/** Pages of bars and funding, from the bar where the state of a verdict's series began. */
async function* pagesOf(
  source: LogSource,
  { exchange, coin, timeframe, anchorBar, barClose }: Verdict,
): AsyncGenerator<BarsAnswer, void, void> {
  for (let next: number | null = anchorBar; next !== null; ) {
    const query = `exchange=${exchange}&coin=${coin}&timeframe=${timeframe}&from=${next}&to=${barClose}`
    const bytes: Buffer | undefined = await source.get(`api/bars?${query}`)
    if (bytes === undefined) return
    const answer = barsAnswerSchema.parse(JSON.parse(bytes.toString()))
    yield answer
    if (answer.next !== null && answer.next <= next) return
    next = answer.next
  }
}

/** Bars as a service serves them. */
const barsFrom =
  (source: LogSource): AuditTools['barsOf'] =>
  async ({ exchange, coin, timeframe }, from, to) => {
    const bars: Candle[] = []
    for (let next: number | null = from; next !== null; ) {
      const query = `exchange=${exchange}&coin=${coin}&timeframe=${timeframe}&from=${next}&to=${to}`
      const bytes: Buffer | undefined = await source.get(`api/bars?${query}`)
      if (bytes === undefined) return undefined
      const answer = barsAnswerSchema.parse(JSON.parse(bytes.toString()))
      bars.push(...answer.bars)
      next = answer.next
    }
    return bars
  }
