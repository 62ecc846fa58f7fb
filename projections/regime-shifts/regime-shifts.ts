import { type Series, seriesName } from '../../contracts/domain/series.ts'
import { type Regime, shiftedFrom } from '../../contracts/domain/verdict.ts'
import type { JsonObject } from '../../contracts/infra/json.ts'
import type { Projection } from '../projection.ts'

/** One change of regime of a series. Key: {@link regimeShiftKey}. */
export interface RegimeShift extends JsonObject {
  readonly kind: 'shift'
  readonly series: string
  readonly barClose: number
  readonly regime: Regime
  readonly priorRegime: Regime
  readonly confidence: number
  readonly verdictId: string
  readonly position: string
}

/** The regime that a series is in. Key: {@link currentRegimeKey}. */
interface CurrentRegime extends JsonObject {
  readonly kind: 'current'
  readonly regime: Regime
}

/** Digits of a bar close in a key, so that keys sort by time. */
const TIME_DIGITS = 15

/** Keys of one series sort by time; `regimeShiftKey(series)` is the prefix of all of them. */
export const regimeShiftKey = (series: Series, barClose?: number): string =>
  `${seriesName(series)}/${barClose === undefined ? '' : String(barClose).padStart(TIME_DIGITS, '0')}`

/** No exchange begins with a lower-case letter, so that it stands apart from every history. */
const currentRegimeKey = (series: string): string => `current/${series}`

/**
 * The history of regimes: every shift of every series. A series has shifted where the regime of a verdict differs from
 * that of the verdict before it in its stream. Verdicts alone say so.
 */
export const regimeShifts: Projection<RegimeShift | CurrentRegime> = {
  name: 'regime_shifts',
  version: 2,
  events: ['VerdictRecorded'],
  fold(rows, event) {
    if (event.type !== 'VerdictRecorded') return
    const { barClose, regime, confidence, verdictId } = event.data
    const series = seriesName(event.data)
    const before = rows.get(currentRegimeKey(series))
    const previous = before === undefined ? null : { barClose, regime: before.regime }
    const priorRegime = shiftedFrom({ regime, previous })
    // One row for each shift, and none for all the verdicts between.
    if (before === undefined || priorRegime !== undefined) {
      rows.put(currentRegimeKey(series), { kind: 'current', regime })
    }
    if (priorRegime === undefined) return
    const { position } = event
    const about = { series, barClose, regime, priorRegime, confidence, verdictId, position }
    rows.put(regimeShiftKey(event.data, barClose), { kind: 'shift', ...about })
  },
}
