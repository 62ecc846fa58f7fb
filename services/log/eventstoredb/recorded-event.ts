import { type RecordedEvent as ClientEvent, jsonEvent } from '@eventstore/db-client'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { isErasable } from '../../../contracts/events/streams.ts'
import {
  type EventMeta,
  eventMetaSchema,
  type RecordedEvent,
  type Revision,
} from '../../../contracts/infra/event.ts'
import type { JsonObject } from '../../../contracts/infra/json.ts'
import { eventAt, type Position, START } from '../../../contracts/infra/position.ts'
import type { EncodedEvent } from '../validate-append.ts'

/** The part of an event's metadata that is read: its id, and when it was appended to the log that it was copied from. */
type StoredMetadata = Pick<RecordedEvent, 'id' | 'schema' | 'meta'> & { readonly at?: string }

const UUID = /^[\da-f]{8}-[\da-f]{4}-[1-8][\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/
const MOST_META_CHARACTERS = 128
const META_NAMES: ReadonlySet<string> = new Set(Object.keys(eventMetaSchema.shape))

/** As every adapter writes it. */
const isTime = (at: unknown): boolean =>
  typeof at === 'string' && !Number.isNaN(Date.parse(at)) && new Date(at).toISOString() === at

/** Whether metadata is as this service writes it. A schema would take as long as all else that is done with an event here. */
export function isSound(metadata: unknown): metadata is StoredMetadata {
  if (typeof metadata !== 'object' || metadata === null) return false
  const { id, schema, meta, at } = metadata as Record<string, unknown>
  if (at !== undefined && !isTime(at)) return false
  if (typeof id !== 'string' || !UUID.test(id)) return false
  if (!Number.isSafeInteger(schema) || (schema as number) < 1) return false
  if (typeof meta !== 'object' || meta === null || Array.isArray(meta)) return false
  return 'correlationId' in meta && 'actor' in meta && Object.entries(meta).every(isMetaText)
}

const isMetaText = ([name, text]: [string, unknown]): boolean =>
  META_NAMES.has(name) &&
  typeof text === 'string' &&
  (text.length > 0 || name === 'traceparent') &&
  text.length <= MOST_META_CHARACTERS

/** An event of the log as the client gives it. */
export interface StoredEvent {
  /** The id that the server knows it by, another one for each try to append it. */
  readonly serverId: string
  readonly stream: string
  readonly revision: Revision
  readonly position: Position
  readonly type: string
  readonly data: unknown
  readonly metadata: unknown
  readonly isJson: boolean
  /** When the server wrote it, ISO 8601. */
  readonly created: string
  /** The event itself, once somebody asked for it. */
  recorded?: RecordedEvent | undefined
}

export function storedOf(event: ClientEvent): StoredEvent {
  const { id: serverId, streamId: stream, position, type, data, metadata, isJson } = event
  const place = { revision: Number(event.revision), position: `${position?.commit}/${position?.prepare}` }
  return { serverId, stream, ...place, type, data, metadata, isJson, created: event.created.toISOString() }
}

/** @param serverId for this try @param at when it was appended to the log that it was copied from */
export function proposeEvent(event: EncodedEvent, serverId: string, at?: string) {
  const meta = JSON.parse(event.meta) as EventMeta
  const metadata = {
    id: event.id,
    schema: event.schema,
    ...(at !== undefined && { at }),
    meta,
    // EventStoreDB's own projections group by these two names.
    $correlationId: meta.correlationId,
    ...(meta.causationId !== undefined && { $causationId: meta.causationId }),
  }
  return jsonEvent({ id: serverId, type: event.type, data: JSON.parse(event.data) as JsonObject, metadata })
}

/** Whether the log shows it: none of EventStoreDB's own, and what can be erased only on demand. */
export const isEntry = ({ stream, type }: StoredEvent, withKeys = false): boolean =>
  !stream.startsWith('$') && !type.startsWith('$') && (withKeys || !isErasable(stream))

/** The event itself, which all who ask share; undefined for one that this service did not write. */
export function eventOf(
  stored: StoredEvent,
  onForeign: (stored: StoredEvent) => void,
): RecordedEvent | undefined {
  const event = (stored.recorded ??= parseStored(stored))
  if (event === undefined) onForeign(stored)
  return event
}

/** The service's event in what EventStoreDB hands over; undefined for one that something else wrote into this log. */
export function parseStored(stored: StoredEvent): RecordedEvent | undefined {
  const { stream, revision, position, type, metadata, data } = stored
  if (!isSound(metadata) || !stored.isJson || typeof data !== 'object' || data === null) return undefined
  const { id, schema, meta, at = stored.created } = metadata
  return { id, type, schema, stream, revision, position, at, data: data as JsonObject, meta }
}

const LOG_POSITION = /^(\d{1,15})\/(\d{1,15})$/

/** A position as requests name it. @throws ServiceError `invalid_request` for a position of another kind of store */
export function toLogPosition(position: Position) {
  if (position === START) return 'start' as const
  const [, commit, prepare] = LOG_POSITION.exec(eventAt(position)) ?? []
  if (commit !== undefined && prepare !== undefined)
    return { commit: BigInt(commit), prepare: BigInt(prepare) }
  throw new ServiceError('invalid_request', {
    message: `position ${JSON.stringify(position)} is not one of EventStoreDB, which look like "12/12"`,
  })
}
