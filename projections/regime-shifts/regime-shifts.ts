import type { JsonObject } from '../../contracts/json.ts'
import type { Regime } from '../../contracts/regime.ts'
import { type Series, seriesName } from '../../contracts/series.ts'
import type { Projection } from '../projection.ts'

/** One change of regime of a series. Key: {@link regimeShiftKey}. */
export interface RegimeShift extends JsonObject {
  readonly series: string
  readonly barClose: number
  readonly regime: Regime
  readonly priorRegime: Regime
  readonly confidence: number
  readonly verdictId: string
  readonly position: string
}

/** Digits of a bar close in a key, so that keys sort by time. */
const TIME_DIGITS = 15

/** Keys of one series sort by time; `regimeShiftKey(series)` is the prefix of all of them. */
export const regimeShiftKey = (series: Series, barClose?: number): string =>
  `${seriesName(series)}/${barClose === undefined ? '' : String(barClose).padStart(TIME_DIGITS, '0')}`

/** The history of regimes: every shift of every series. */
export const regimeShifts: Projection<RegimeShift> = {
  name: 'regime_shifts',
  version: 1,
  changes: 'rows',
  events: ['RegimeShifted'],
  fold(rows, event) {
    if (event.type !== 'RegimeShifted') return
    const { barClose, regime, priorRegime, confidence, verdictId } = event.data
    rows.put(regimeShiftKey(event.data, barClose), {
      series: seriesName(event.data),
      barClose,
      regime,
      priorRegime,
      confidence,
      verdictId,
      position: event.position,
    })
  },
}
