import { timeframeMs } from '../../../contracts/domain/timeframes.ts'
import { WINDOW_BARS } from '../../../contracts/domain/verdict.ts'
import type { Signal } from './signal.ts'

/**
 * When the window of a signal closes, Unix milliseconds of market time. From then on everybody may see it; before, it is
 * what callers pay for, and what is pushed to subscribers.
 */
export function windowClosesAt(signal: Signal): number {
  switch (signal.type) {
    case 'trade_call':
      return signal.data.validUntil
    case 'regime_shift':
      return signal.data.barClose + WINDOW_BARS[signal.data.timeframe] * timeframeMs(signal.data.timeframe)
    default:
      return signal.data.calls.reduce(
        (latest, { validUntil }) => Math.max(latest, validUntil),
        signal.data.boundary,
      )
  }
}
