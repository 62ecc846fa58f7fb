import { barsAnswerSchema } from '../../contracts/bars-answer.ts'
import type { Candle } from '../../contracts/candle.ts'
import type { JsonObject } from '../../contracts/json.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { timeframeMs } from '../../contracts/timeframes.ts'
import { trackRecordAnswerSchema } from '../../contracts/track-record-row.ts'
import { trackRecordReport } from '../analyst/index.ts'
import { createRace } from '../engine/index.ts'
import type { AuditTools, LogSource } from '../proof/index.ts'

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
      for (let after = ''; ; ) {
        const bytes = await source.get(`api/track-record?group_by=timeframe${after}`)
        if (bytes === undefined) return undefined
        const answer = publishedSchema.parse(JSON.parse(bytes.toString()))
        rows.push(...(answer.rows as unknown as JsonObject[]))
        if (answer.next === null) return rows
        after = `&after=${answer.next}`
      }
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
