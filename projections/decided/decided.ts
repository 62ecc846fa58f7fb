import type { Outcome } from '../../contracts/domain/outcome.ts'
import { seriesName } from '../../contracts/domain/series.ts'
import type { JsonObject } from '../../contracts/infra/json.ts'
import type { Projection } from '../projection.ts'

/** The verdict of a series that was decided last, and the last BUY or SELL among them. Key: the series' name. */
export interface Decided extends JsonObject {
  readonly newest: Outcome
  /** Null while only HOLD was decided. */
  readonly newestCall: Outcome | null
}

/**
 * The public part of each series: the newest verdict whose window has closed, with its outcome. @example
 * rows.get('SIM.BTC.1h')?.newest.race
 */
export const decided: Projection<Decided> = {
  name: 'decided',
  version: 1,
  events: ['OutcomeLabelled'],
  fold(rows, event) {
    if (event.type !== 'OutcomeLabelled') return
    const outcome = event.data
    const key = seriesName(outcome)
    const before = rows.get(key)
    // Labels come in the order in which races end, which is not that of their bars.
    const isNewer = (one: Outcome | null | undefined) => !one || outcome.barClose >= one.barClose
    const isCall = outcome.call !== 'HOLD' && !outcome.recordedLate
    rows.put(key, {
      newest: isNewer(before?.newest) ? outcome : (before?.newest ?? outcome),
      newestCall: isCall && isNewer(before?.newestCall) ? outcome : (before?.newestCall ?? null),
    })
  },
}
