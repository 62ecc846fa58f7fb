import { createHash } from 'node:crypto'
import { shiftedFrom } from '../../../contracts/domain/verdict.ts'
import type { EventType, ServiceEvent } from '../../../contracts/events/event-catalogue.ts'
import { inFrontOf } from '../../../contracts/infra/position.ts'
import { uuidV8 } from '../../runtime/ids/uuid.ts'
import { isTraceparent } from '../../runtime/tracing/trace-context.ts'
import type { Signal } from './signal.ts'

/** Types of the events that can be signals. */
export const SIGNAL_EVENTS = ['VerdictRecorded', 'ScanCompleted'] as const satisfies readonly EventType[]

/**
 * The signals that an event says, in their order: of a verdict that it is BUY or SELL, and that the regime of its series
 * has shifted; a digest. None for every other event. Each has a place of its own: that of the event is the last one's.
 *
 * @example toSignals(decodeEvent(recorded)).map(({ type }) => type) // ['trade_call', 'regime_shift']
 */
export function toSignals(event: ServiceEvent): readonly Signal[] {
  const { id: eventId, position, stream, revision, meta } = event
  // What is no trace context would be no header either.
  const traceparent = isTraceparent(meta.traceparent) ? meta.traceparent : undefined
  switch (event.type) {
    case 'VerdictRecorded': {
      const { exchange, timeframe, coin, barClose, call } = event.data
      const priorRegime = shiftedFrom(event.data)
      if (call === 'HOLD' && priorRegime === undefined) return NONE
      const about = { at: Date.parse(event.at), exchange, timeframe, coin, barClose, traceparent }
      const place = { position, stream, revision }
      if (priorRegime === undefined) {
        return [{ type: 'trade_call', eventId, ...place, ...about, data: event.data }]
      }
      const { verdictId, regime, confidence } = event.data
      const data = { exchange, coin, timeframe, verdictId, barClose, regime, priorRegime, confidence }
      const shift = { type: 'regime_shift', eventId: shiftId(eventId), ...place, ...about, data } as const
      if (call === 'HOLD') return [shift]
      const first = { ...place, position: inFrontOf(position) }
      return [{ type: 'trade_call', eventId, ...first, ...about, data: event.data }, shift]
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
      return [{ type: 'scan_digest', eventId, position, stream, revision, ...about, data: event.data }]
    }
    default:
      return NONE
  }
}

const NONE: readonly Signal[] = []

/** Id of a shift: it has no event of its own, and is another signal than the verdict it comes with. */
const shiftId = (verdictId: string): string =>
  uuidV8(createHash('sha256').update(`regime shift\n${verdictId}`).digest())
