import { ServiceError } from '../../contracts/errors/errors.ts'
import { isErasable, isStreamName } from '../../contracts/events/streams.ts'
import { eventMetaSchema, type NewEvent } from '../../contracts/infra/event.ts'
import { jsonFault } from '../../contracts/infra/json.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { ExpectedRevision } from './event-store.ts'

/** An event as it is written: checked, with data and meta as JSON text. */
export interface EncodedEvent {
  readonly id: string
  readonly type: string
  readonly schema: number
  readonly data: string
  readonly meta: string
}

export interface EncodedAppend {
  readonly stream: string
  readonly expected: ExpectedRevision
  readonly events: readonly EncodedEvent[]
  readonly bytes: number
  /** When its events were appended to the log that they are copied from, ISO 8601; a store that is written to first says so itself. */
  readonly at?: string
}

/** @throws ServiceError `event_invalid` for a stream that is not one of those that can be erased. */
export function requireErasable(stream: string): void {
  if (typeof stream === 'string' && isStreamName(stream) && isErasable(stream)) return
  refuse(`stream ${show(stream)} cannot be erased: only those named subject-… can`)
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const EVENT_TYPE = /^[A-Z][A-Za-z0-9]{0,63}$/

/**
 * Checks and encodes an append, the same way for every adapter, before anything reaches a log: a value
 * that JSON would drop or change (bigint, undefined, NaN) is refused here.
 */
export function validateAppend(
  stream: string,
  events: readonly NewEvent[],
  expected: ExpectedRevision,
): EncodedAppend {
  if (typeof stream !== 'string' || !isStreamName(stream)) {
    refuse(`stream name ${show(stream)} is not allowed`)
  }
  if (typeof expected === 'number' && !(Number.isSafeInteger(expected) && expected >= 0)) {
    refuse(`expected revision ${expected} is not a revision`)
  }
  if (events.length === 0) refuse('an append without events')
  if (events.length > LIMITS.appendEvents) {
    throw new ServiceError('payload_too_large', {
      message: `${events.length} events in one append; the limit is ${LIMITS.appendEvents}`,
    })
  }
  const encoded = events.map(encodeEvent)
  // Most appends are of one event.
  if (encoded.length > 1 && new Set(encoded.map(({ id }) => id)).size !== encoded.length) {
    refuse('one append with the same event id twice')
  }
  const bytes = bytesOf(encoded)
  if (bytes > LIMITS.appendBytes) {
    throw new ServiceError('payload_too_large', {
      message: `an append of ${bytes} bytes; the limit is ${LIMITS.appendBytes}`,
    })
  }
  return { stream, expected, events: encoded, bytes }
}

/** Bytes of events; where they are sure to fit an append, the most that they can be. */
function bytesOf(events: readonly EncodedEvent[]): number {
  const most = events.reduce((sum, { data, meta }) => sum + 3 * (data.length + meta.length), 0)
  if (most <= LIMITS.appendBytes) return most
  return events.reduce((sum, { data, meta }) => sum + Buffer.byteLength(data) + Buffer.byteLength(meta), 0)
}

function encodeEvent(event: NewEvent): EncodedEvent {
  if (typeof event.id !== 'string' || !UUID.test(event.id)) {
    refuse(`event id ${show(event.id)} is not a lower-case UUID`)
  }
  if (typeof event.type !== 'string' || !EVENT_TYPE.test(event.type)) {
    refuse(`event type ${show(event.type)} is not allowed`)
  }
  if (!Number.isSafeInteger(event.schema) || event.schema < 1)
    refuse(`schema ${event.schema} is not a version`)
  if (event.data === null || typeof event.data !== 'object' || Array.isArray(event.data)) {
    refuse(`${event.type}: data is not an object`)
  }
  const fault = jsonFault(event.data, LIMITS.jsonDepth)
  if (fault !== undefined) refuse(`${event.type}: data at ${fault}`)
  const meta = eventMetaSchema.safeParse(event.meta)
  if (!meta.success) refuse(`${event.type}: meta is not valid: ${meta.error.issues[0]?.message ?? ''}`)
  return {
    id: event.id,
    type: event.type,
    schema: event.schema,
    data: JSON.stringify(event.data),
    meta: JSON.stringify(event.meta),
  }
}

/** A value of any kind, short enough for a message. */
const show = (value: unknown): string => JSON.stringify(String(value).slice(0, 80))

function refuse(message: string): never {
  throw new ServiceError('event_invalid', { message })
}
