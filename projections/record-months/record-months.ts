import { isoDay } from '../../contracts/domain/iso-time.ts'
import { seriesName } from '../../contracts/domain/series.ts'
import type { JsonObject } from '../../contracts/infra/json.ts'
import type { Projection } from '../projection.ts'
import { type CallTally, countCall, NO_CALLS } from '../track-record/call-tally.ts'
import { countRange, NO_RANGES, type RangeTally } from '../track-record/range-tally.ts'

/** From when the next call of a series is apart from the one before, Unix milliseconds. */
interface FreeFrom extends JsonObject {
  readonly freeFrom: number
}

export const MONTH_PREFIX = 'month/'

/** @example monthKey('barrier-4', '1h', Date.UTC(2026, 0, 5)) === 'month/barrier-4/1h/2026-01' */
const monthKey = (modelVersion: string, timeframe: string, barClose: number): string =>
  `${MONTH_PREFIX}${modelVersion}/${timeframe}/${isoDay(barClose).slice(0, -'-01'.length)}`

/** The calls of a month, and the ranges of all its verdicts. */
export interface MonthTally extends CallTally {
  readonly ranges: RangeTally
}

/**
 * The track record by month: results of the calls per model and timeframe, counting of each series only calls whose
 * windows do not overlap, and how often prices ended within the range that was foretold.
 */
export const recordMonths: Projection<MonthTally | FreeFrom> = {
  name: 'record_months',
  version: 4,
  events: ['OutcomeLabelled'],
  fold(rows, event) {
    if (event.type !== 'OutcomeLabelled') return
    const outcome = event.data
    if (outcome.recordedLate) return
    const { modelVersion, timeframe, barClose, validUntil } = outcome
    const key = monthKey(modelVersion, timeframe, barClose)
    const before = (rows.get(key) as MonthTally | undefined) ?? { ...NO_CALLS, ranges: NO_RANGES }
    const month = { ...before, ranges: countRange(before.ranges, outcome) }
    if (month.ranges !== before.ranges) rows.put(key, month)
    if (outcome.call === 'HOLD') return
    const freeKey = `free/${modelVersion}/${seriesName(outcome)}`
    const { freeFrom = 0 } = (rows.get(freeKey) as FreeFrom | undefined) ?? {}
    if (barClose < freeFrom) return
    rows.put(freeKey, { freeFrom: validUntil })
    rows.put(key, { ...month, ...countCall(month, outcome) })
  },
}
