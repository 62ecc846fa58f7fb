import type { z } from 'zod'
import { type BarsAnswer, barsAnswerSchema } from '../../../contracts/bars-answer.ts'
import type { Candle } from '../../../contracts/candle.ts'
import { isServiceError, reasonOf, ServiceError } from '../../../contracts/errors.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import type { Series } from '../../../contracts/series.ts'
import { timeframeMs } from '../../../contracts/timeframes.ts'
import { trackRecordAnswerSchema } from '../../../contracts/track-record-row.ts'
import type { Verdict } from '../../../contracts/verdict.ts'
import { trackRecordReport } from '../../analyst/index.ts'
import { createRace, modelFile } from '../../engine/index.ts'
import { type AuditTools, type LogSource, readAt } from '../../proof/index.ts'
import { pagesOf } from '../../runtime/http/pages.ts'
import { barPages } from '../kit/bar-pages.ts'
import { recomputeVerdict } from './recompute-verdict.ts'

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
      const own = modelFile()
      if (own.modelVersion !== verdict.modelVersion || own.sha256 !== sha256)
        return 'their model is not that of this release'
      if ((verdict.barClose - verdict.anchorBar) / timeframeMs(verdict.timeframe) > MOST_BARS)
        return `the state of their series began more than ${MOST_BARS} bars before`
      try {
        const { bars, differences } = await recomputeVerdict(verdict, barsBefore(source, verdict))
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
      const pageAt = async (after: string | undefined) => {
        const query = new URLSearchParams({ group_by: grouping, ...(after !== undefined && { after }) })
        const page = await answerAt(source, `api/track-record?${query.toString()}`, publishedSchema)
        return page ?? { rows: undefined, next: null }
      }
      for await (const page of pagesOf('the track record', pageAt, MOST_PAGES)) {
        if (page.rows === undefined) return undefined
        for (const row of page.rows) rows.push(row)
      }
      return rows
    },
    reported(rows, grouping) {
      const sorted = [...rows]
        .map(([key, row]) => ({ key, row }))
        .toSorted((a, b) => (a.key < b.key ? -1 : 1))
      const range = ({ prefix, after = '', limit }: { prefix: string; after?: string; limit: number }) =>
        sorted.filter(({ key }) => key.startsWith(prefix) && key > after).slice(0, limit)
      const query = { groupBy: grouping, limit: sorted.length + 1 } as const
      return [...trackRecordReport({ range, position: () => '' }, query).rows]
    },
  }
}

/** Pages of a track record at most: twenty thousand rows, one for each model and series. */
const MOST_PAGES = 100
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

/** Pages of bars and funding that open in [from, to), until the source has none. */
async function* pagesOfBars(
  source: LogSource,
  { exchange, coin, timeframe }: Series,
  from: number,
  to: number,
): AsyncGenerator<BarsAnswer | typeof NO_PAGE, void, void> {
  yield* barPages(timeframe, { from, to }, async (begin) => {
    const query = new URLSearchParams({ exchange, coin, timeframe, from: String(begin), to: String(to) })
    return (await answerAt(source, `api/bars?${query.toString()}`, barsAnswerSchema)) ?? NO_PAGE
  })
}

const NO_PAGE = { bars: undefined, next: null } as const

/** The pages from the bar where the state of a verdict's series began. */
async function* barsBefore(source: LogSource, verdict: Verdict): AsyncGenerator<BarsAnswer, void, void> {
  for await (const page of pagesOfBars(source, verdict, verdict.anchorBar, verdict.barClose))
    if (page.bars !== undefined) yield page
}

const barsFrom =
  (source: LogSource): AuditTools['barsOf'] =>
  async (series, from, to) => {
    const bars: Candle[] = []
    for await (const page of pagesOfBars(source, series, from, to)) {
      if (page.bars === undefined) return undefined
      for (const bar of page.bars) bars.push(bar)
    }
    return bars
  }

/** @throws ServiceError `proof_invalid` for another answer than the one of this service */
const answerAt = <Schema extends z.ZodType>(source: LogSource, path: string, schema: Schema) =>
  readAt(source, path, (bytes) => {
    try {
      return schema.parse(JSON.parse(bytes.toString()))
    } catch (error) {
      throw faulty(
        `/${path.split('?')[0]} answers otherwise than this service: ${reasonOf(error).slice(0, 200)}`,
      )
    }
  })

const faulty = (why: string): ServiceError =>
  new ServiceError('proof_invalid', { message: `This cannot be relied on: ${why}.` })
