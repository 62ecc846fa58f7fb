import { isErasable } from '../../../contracts/erasable-streams.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { type EventMeta, eventMetaSchema, type RecordedEvent } from '../../../contracts/event.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import { eventAt, type Position, START } from '../../../contracts/position.ts'
import type { EncodedEvent } from '../encode-append.ts'
import { UnparsedEvent } from '../unparsed-event.ts'
import type { ServerEvent } from './read-message.ts'
import { type Field, message } from './wire-format.ts'

/** The part of an event's metadata that is read: its id, and when it was appended to the log that it was copied from. */
type StoredMetadata = Pick<RecordedEvent, 'id' | 'schema' | 'meta'> & { readonly at?: string }

const UUID = /^[\da-f]{8}-[\da-f]{4}-[1-8][\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/
const MOST_META_CHARACTERS = 128
const META_NAMES: ReadonlySet<string> = new Set(Object.keys(eventMetaSchema.shape))
const REQUIRED_META = ['correlationId', 'actor'] as const

/** As every adapter writes it. */
const isTime = (at: unknown): boolean =>
  typeof at === 'string' &&
  at.length === 24 &&
  !Number.isNaN(Date.parse(at)) &&
  new Date(at).toISOString() === at

/** Whether metadata is as this service writes it. A schema would take as long as all else that is done with an event here. */
export function isSound(metadata: unknown): metadata is StoredMetadata {
  if (typeof metadata !== 'object' || metadata === null) return false
  const { id, schema, meta, at } = metadata as Record<string, unknown>
  if (at !== undefined && !isTime(at)) return false
  if (typeof id !== 'string' || !UUID.test(id)) return false
  if (!Number.isSafeInteger(schema) || (schema as number) < 1) return false
  if (typeof meta !== 'object' || meta === null || Array.isArray(meta)) return false
  return REQUIRED_META.every((name) => name in meta) && Object.entries(meta).every(isMetaText)
}

const isMetaText = ([name, text]: [string, unknown]): boolean =>
  META_NAMES.has(name) &&
  typeof text === 'string' &&
  (text.length > 0 || name === 'traceparent') &&
  text.length <= MOST_META_CHARACTERS

/** An event on its way to EventStoreDB: data and metadata are JSON. */
export interface ProposedEvent {
  /** The id that the server is to know it by. */
  readonly id: string
  readonly type: string
  readonly data: string
  readonly metadata: string
}

export function proposeEvent(event: EncodedEvent, attempt: string, at?: string): ProposedEvent {
  const meta = JSON.parse(event.meta) as EventMeta
  const metadata = {
    id: event.id,
    // Former releases tell by it who wrote an event.
    attempt,
    schema: event.schema,
    ...(at !== undefined && { at }),
    meta,
    // EventStoreDB's own projections group by these two names.
    $correlationId: meta.correlationId,
    ...(meta.causationId !== undefined && { $causationId: meta.causationId }),
  }
  return { id: attempt, type: event.type, data: event.data, metadata: JSON.stringify(metadata) }
}

/** Whether the log shows it: none of EventStoreDB's own, and what can be erased where it is asked for. */
export const isEntry = ({ stream, type }: ServerEvent, withKeys = false): boolean =>
  !stream.startsWith('$') && !type.startsWith('$') && (withKeys || !isErasable(stream))

/** The event itself, which all who ask share; undefined for one that this service did not write. */
export function eventOf(
  stored: ServerEvent,
  onForeign: (stored: ServerEvent) => void,
  asText = false,
): RecordedEvent | undefined {
  const event = asText ? parseStored(stored, true) : (stored.recorded ??= parseStored(stored))
  if (event === undefined) onForeign(stored)
  return event
}

/** The service's event in what EventStoreDB hands over; undefined for one that something else wrote into this log. */
export function parseStored(stored: ServerEvent, asText = false): RecordedEvent | undefined {
  const { stream, revision, position, type } = stored
  const metadata = parseJson(stored.metadata)
  const data = asText ? null : parseJson(stored.data)
  if (!isSound(metadata) || !stored.isJson || data === undefined) return undefined
  const { id, schema, meta, at = stored.created } = metadata
  const place = { id, type, schema, stream, revision, position, at }
  if (asText) return new UnparsedEvent(place, place.position, stored.data, meta)
  return { ...place, data: data as JsonObject, meta }
}

/** Undefined for a text that is no JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const LOG_POSITION = /^(\d{1,15})\/(\d{1,15})$/

/**
 * A position as requests name it, and the server's own word for `START`. @throws ServiceError `invalid_request` for a position
 * of another kind of store
 */
export function toLogPosition(position: Position): Field | 'start' {
  if (position === START) return 'start'
  // A read includes the place that it begins at.
  const match = LOG_POSITION.exec(eventAt(position))
  if (match === null) {
    throw new ServiceError('invalid_request', {
      message: `position ${JSON.stringify(position)} is not one of EventStoreDB, which look like "12/12"`,
    })
  }
  return message(1, [1, Number(match[1])], [2, Number(match[2])])
}
