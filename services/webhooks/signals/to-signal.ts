import type { EventType, ServiceEvent } from '../../../contracts/event-catalogue.ts'
import type { Signal } from './signal.ts'

/** Types of the events that can be signals. */
export const SIGNAL_EVENTS = [
  'VerdictRecorded',
  'RegimeShifted',
  'ScanCompleted',
] as const satisfies readonly EventType[]

const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/

/**
 * The signal that an event is: a verdict that says BUY or SELL, a shift of the regime, or a digest. Undefined for
 * every other event, a verdict that says HOLD included.
 *
 * @example toSignal(decodeEvent(recorded))?.type // 'trade_call'
 */
export function toSignal(event: ServiceEvent): Signal | undefined {
  const { id: eventId, position, stream, revision, meta } = event
  // What is no trace context would be no header either.
  const traceparent = TRACEPARENT.test(meta.traceparent ?? '') ? meta.traceparent : undefined
  switch (event.type) {
    case 'VerdictRecorded': {
      if (event.data.call === 'HOLD') return undefined
      const { exchange, timeframe, coin, barClose } = event.data
      const about = { at: Date.parse(event.at), exchange, timeframe, coin, barClose, traceparent }
      return { type: 'trade_call', eventId, position, stream, revision, ...about, data: event.data }
    }
    case 'RegimeShifted': {
      const { exchange, timeframe, coin, barClose } = event.data
      const about = { at: Date.parse(event.at), exchange, timeframe, coin, barClose, traceparent }
      return { type: 'regime_shift', eventId, position, stream, revision, ...about, data: event.data }
    }
    case 'ScanCompleted': {
      const { exchange, timeframe, boundary } = event.data
      const about = {
        at: Date.parse(event.at),
        exchange,
        timeframe,
        coin: null,
        barClose: boundary,
        traceparent,
      }
      return { type: 'scan_digest', eventId, position, stream, revision, ...about, data: event.data }
    }
    default:
      return undefined
  }
}
