import type { z } from 'zod'
import { barsAnswerSchema } from '../../contracts/bars-answer.ts'
import type { Candle } from '../../contracts/candle.ts'
import { reasonOf, ServiceError } from '../../contracts/errors.ts'
import type { JsonObject } from '../../contracts/json.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { timeframeMs } from '../../contracts/timeframes.ts'
import { trackRecordAnswerSchema } from '../../contracts/track-record-row.ts'
import { trackRecordReport } from '../analyst/index.ts'
import { createRace } from '../engine/index.ts'
import { pagesOf } from '../platform/http/pages.ts'
import { type AuditTools, type LogSource, readAt } from '../proof/index.ts'
import { barPages } from './bar-pages.ts'

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
    async published() {
      const rows: JsonObject[] = []
      const pageAt = async (after: string | undefined) => {
        const query = new URLSearchParams({ group_by: 'timeframe', ...(after !== undefined && { after }) })
        const page = await answerAt(source, `api/track-record?${query.toString()}`, publishedSchema)
        return page ?? { rows: undefined, next: null }
      }
      for await (const page of pagesOf('the track record', pageAt, MOST_PAGES)) {
        if (page.rows === undefined) return undefined
        for (const row of page.rows) rows.push(row)
      }
      return rows
    },
    reported(rows) {
      const sorted = [...rows]
        .map(([key, row]) => ({ key, row }))
        .toSorted((a, b) => (a.key < b.key ? -1 : 1))
      const range = ({ prefix, after = '', limit }: { prefix: string; after?: string; limit: number }) =>
        sorted.filter(({ key }) => key.startsWith(prefix) && key > after).slice(0, limit)
      const found: JsonObject[] = []
      for (let after: string | undefined; ; ) {
        const query = {
          groupBy: 'timeframe',
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

/** Of a track record: twenty thousand rows, which are models by timeframes. */
const MOST_PAGES = 100
/** Bars as a service serves them. */
const barsFrom =
  (source: LogSource): AuditTools['barsOf'] =>
  async (series, from, to) => {
    const { exchange, coin, timeframe } = series
    const pages = barPages(timeframe, { from, to }, async (begin) => {
      const query = new URLSearchParams({ exchange, coin, timeframe, from: String(begin), to: String(to) })
      const page = await answerAt(source, `api/bars?${query.toString()}`, barsAnswerSchema)
      return page ?? { bars: undefined, next: null }
    })
    const bars: Candle[] = []
    for await (const page of pages) {
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
