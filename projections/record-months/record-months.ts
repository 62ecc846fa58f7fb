import type { JsonObject } from '../../contracts/json.ts'
import { seriesName } from '../../contracts/series.ts'
import type { Projection } from '../projection.ts'
import { type CallTally, countCall, NO_CALLS } from '../track-record/call-tally.ts'

/** From when the next call of a series is apart from the one before, Unix milliseconds. */
interface FreeFrom extends JsonObject {
  readonly freeFrom: number
}

export const MONTH_PREFIX = 'month/'

/** @example monthKey('barrier-4', '1h', Date.UTC(2026, 0, 5)) === 'month/barrier-4/1h/2026-01' */
const monthKey = (modelVersion: string, timeframe: string, barClose: number): string =>
  `${MONTH_PREFIX}${modelVersion}/${timeframe}/${new Date(barClose).toISOString().slice(0, 7)}`

/**
 * The track record by month: results of the calls per model and timeframe, counting of each series only calls whose
 * windows do not overlap.
 */
export const recordMonths: Projection<CallTally | FreeFrom> = {
  name: 'record_months',
  version: 1,
  changes: 'rows',
  events: ['OutcomeLabelled'],
  fold(rows, event) {
    if (event.type !== 'OutcomeLabelled') return
    const outcome = event.data
    if (outcome.call === 'HOLD' || outcome.recordedLate) return
    const { modelVersion, timeframe, barClose, validUntil } = outcome
    const freeKey = `free/${modelVersion}/${seriesName(outcome)}`
    const { freeFrom = 0 } = (rows.get(freeKey) as FreeFrom | undefined) ?? {}
    if (barClose < freeFrom) return
    rows.put(freeKey, { freeFrom: validUntil })
    const key = monthKey(modelVersion, timeframe, barClose)
    rows.put(key, countCall((rows.get(key) as CallTally | undefined) ?? NO_CALLS, outcome))
  },
}
