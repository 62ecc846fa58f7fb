import type { EventType, ServiceEvent } from '../../../contracts/event-catalogue.ts'
import type { Signal } from './signal.ts'

/** Types of the events that can be signals. */
export const SIGNAL_EVENTS = [
  'VerdictRecorded',
  'RegimeShifted',
  'ScanCompleted',
] as const satisfies readonly EventType[]

/**
 * The signal that an event is: a verdict that says BUY or SELL, a shift of the regime, or a digest. Undefined for
 * every other event, a verdict that says HOLD included.
 *
 * @example toSignal(decodeEvent(recorded))?.type // 'trade_call'
 */
export function toSignal(event: ServiceEvent): Signal | undefined {
  const { id: eventId, position, stream, revision } = event
  switch (event.type) {
    case 'VerdictRecorded': {
      if (event.data.call === 'HOLD') return undefined
      const { exchange, timeframe, coin, barClose } = event.data
      const about = { at: Date.parse(event.at), exchange, timeframe, coin, barClose }
      return { type: 'trade_call', eventId, position, stream, revision, ...about, data: event.data }
    }
    case 'RegimeShifted': {
      const { exchange, timeframe, coin, barClose } = event.data
      const about = { at: Date.parse(event.at), exchange, timeframe, coin, barClose }
      return { type: 'regime_shift', eventId, position, stream, revision, ...about, data: event.data }
    }
    case 'ScanCompleted': {
      const { exchange, timeframe, boundary } = event.data
      const about = { at: Date.parse(event.at), exchange, timeframe, coin: null, barClose: boundary }
      return { type: 'scan_digest', eventId, position, stream, revision, ...about, data: event.data }
    }
    default:
      return undefined
  }
}
