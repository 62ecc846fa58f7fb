import type { Position as LogPosition, ResolvedEvent } from '@eventstore/db-client'
import { z } from 'zod'
import { ServiceError } from '../../../contracts/errors.ts'
import { eventMetaSchema, type RecordedEvent } from '../../../contracts/event.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import { eventAt, type Position, START } from '../../../contracts/position.ts'
import type { EncodedEvent } from '../encode-append.ts'

/**
 * The metadata of each event as EventStoreDB holds it. `$correlationId` and `$causationId` repeat what is in
 * `meta`, because EventStoreDB's own projections group by these two names.
 */
export const storedMetadataSchema = z.object({
  /** The event's id; EventStoreDB's own event id may be that of the attempt, see `append-events.ts`. */
  id: z.uuid(),
  /** The attempt that wrote the event: tells a first append from a repeat that the server took for done. */
  attempt: z.uuid(),
  schema: z.int().positive(),
  /** When an event that was copied from another store was appended there. */
  at: z.iso.datetime().optional(),
  meta: eventMetaSchema,
  $correlationId: z.string(),
  $causationId: z.string().optional(),
})

type StoredMetadata = z.infer<typeof storedMetadataSchema>

const UUID = /^[\da-f]{8}-[\da-f]{4}-[1-8][\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/
const MOST_META_CHARACTERS = 128
const META_NAMES: ReadonlySet<string> = new Set(Object.keys(eventMetaSchema.shape))
const REQUIRED_META = ['correlationId', 'actor'] as const

const isMetaText = (text: unknown): boolean =>
  typeof text === 'string' && text.length > 0 && text.length <= MOST_META_CHARACTERS

/** As every adapter writes it: a time in any other form is looked at with the schema. */
const isTime = (at: unknown): boolean =>
  typeof at === 'string' &&
  at.length === 24 &&
  !Number.isNaN(Date.parse(at)) &&
  new Date(at).toISOString() === at

/**
 * Whether metadata is as this service writes it, told without the schema, which takes as long as everything else that
 * is done with an event here. What it does not know for sound is looked at with the schema.
 */
export function isPlainlySound(metadata: unknown): metadata is StoredMetadata {
  if (typeof metadata !== 'object' || metadata === null) return false
  const {
    id,
    attempt,
    schema,
    meta,
    $correlationId,
    $causationId = '',
    at,
  } = metadata as Record<string, unknown>
  if (at !== undefined && !isTime(at)) return false
  if (typeof id !== 'string' || typeof attempt !== 'string' || !UUID.test(id) || !UUID.test(attempt))
    return false
  if (!Number.isSafeInteger(schema) || (schema as number) < 1) return false
  if (typeof $correlationId !== 'string' || typeof $causationId !== 'string') return false
  if (typeof meta !== 'object' || meta === null || Array.isArray(meta)) return false
  const texts = meta as Record<string, unknown>
  return (
    REQUIRED_META.every((name) => name in texts) &&
    Object.entries(texts).every(([name, text]) => META_NAMES.has(name) && isMetaText(text))
  )
}

/** An event of this service in EventStoreDB. */
export interface StoredEvent {
  readonly event: RecordedEvent
  readonly attempt: string
}

/** An event on its way to EventStoreDB: data and metadata are JSON. */
export interface ProposedEvent {
  /** The id that the server is to know it by. */
  readonly id: string
  readonly type: string
  readonly data: string
  readonly metadata: string
}

export function proposeEvent(
  event: EncodedEvent,
  serverId: string,
  attempt: string,
  at?: string,
): ProposedEvent {
  const meta = JSON.parse(event.meta) as StoredMetadata['meta']
  const metadata: StoredMetadata = {
    id: event.id,
    attempt,
    schema: event.schema,
    ...(at !== undefined && { at }),
    meta,
    $correlationId: meta.correlationId,
    ...(meta.causationId === undefined ? {} : { $causationId: meta.causationId }),
  }
  return { id: serverId, type: event.type, data: event.data, metadata: JSON.stringify(metadata) }
}

/**
 * The service's event in what EventStoreDB hands over, or undefined for one of EventStoreDB's own (`$…`). @throws
 * ServiceError `event_unreadable` for an event that something else wrote into this log.
 */
export function parseStored({ event: stored }: ResolvedEvent): StoredEvent | undefined {
  if (stored === undefined || stored.streamId.startsWith('$') || stored.type.startsWith('$')) return undefined
  const metadata: StoredMetadata | undefined = isPlainlySound(stored.metadata)
    ? stored.metadata
    : storedMetadataSchema.safeParse(stored.metadata).data
  if (metadata === undefined || !stored.isJson || stored.position === undefined) {
    throw new ServiceError('event_unreadable', {
      message: `${stored.type} at revision ${stored.revision} of ${stored.streamId} in EventStoreDB was not written by this service; give the service a database of its own`,
    })
  }
  const { id, attempt, schema, meta, at } = metadata
  return {
    attempt,
    event: {
      id,
      type: stored.type,
      schema,
      data: stored.data as JsonObject,
      meta,
      stream: stored.streamId,
      revision: Number(stored.revision),
      position: toPosition(stored.position),
      at: at ?? stored.created.toISOString(),
    },
  }
}

/** When an event was appended, to here or to the log that it was copied from. */
export function appendedAt({ created, metadata }: NonNullable<ResolvedEvent['event']>): string {
  const at = typeof metadata === 'object' && metadata !== null && 'at' in metadata ? metadata.at : undefined
  return typeof at === 'string' ? at : created.toISOString()
}

export const toPosition = ({ commit, prepare }: LogPosition): Position => `${commit}/${prepare}`

const LOG_POSITION = /^(\d{1,20})\/(\d{1,20})$/

/**
 * Inverse of {@link toPosition}; `START` is the server's own word for it. @throws ServiceError `invalid_request` for a
 * position of another kind of store.
 */
export function toLogPosition(position: Position): LogPosition | 'start' {
  if (position === START) return 'start'
  // A read includes the place that it begins at.
  const match = LOG_POSITION.exec(eventAt(position))
  if (match === null) {
    throw new ServiceError('invalid_request', {
      message: `position ${JSON.stringify(position)} is not one of EventStoreDB, which look like "12/12"`,
    })
  }
  return { commit: BigInt(match[1] ?? ''), prepare: BigInt(match[2] ?? '') }
}
