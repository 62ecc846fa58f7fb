import type { z } from 'zod'
import { type BarsAnswer, barsAnswerSchema } from '../../../contracts/bars-answer.ts'
import type { Candle } from '../../../contracts/candle.ts'
import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import type { Series } from '../../../contracts/series.ts'
import { timeframeMs } from '../../../contracts/timeframes.ts'
import { trackRecordAnswerSchema } from '../../../contracts/track-record-row.ts'
import { trackRecordReport } from '../../analyst/index.ts'
import { createRace } from '../../engine/index.ts'
import { type AuditTools, type LogSource, readAt } from '../../proof/index.ts'
import { pagesOf } from '../../runtime/http/pages.ts'
import { barPages } from '../kit/bar-pages.ts'

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
