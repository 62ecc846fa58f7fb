import type { ErrorCode } from '../../contracts/errors/errors.ts'
import { isErasable } from '../../contracts/events/streams.ts'
import type { Revision } from '../../contracts/infra/event.ts'
import type { JsonObject } from '../../contracts/infra/json.ts'
import type { Position } from '../../contracts/infra/position.ts'
import type { ExpectedRevision } from './event-store.ts'
import type { EncodedAppend, EncodedEvent } from './validate-append.ts'

/** An event that is in the log already. */
export interface StoredEvent {
  readonly stream: string
  readonly revision: Revision
  readonly position: Position
  readonly type: string
  readonly schema: number
  readonly data: string
}

/** The questions an append asks of a log. */
export interface LogView {
  /** The event of this id; `data` is what it is held against, for a log that keeps no more than a hash of old ones. */
  findById(id: string): StoredEvent | undefined
  /** Revision of the newest event of a stream, -1 for a missing one. */
  headOf(stream: string): Revision
  /** Asked of streams that can be erased only. */
  isErased(stream: string): boolean
}

export type AppendDecision =
  | { readonly kind: 'append'; readonly firstRevision: Revision }
  | { readonly kind: 'replay'; readonly revision: Revision; readonly position: Position }
  | { readonly kind: 'refuse'; readonly refusal: AppendRefusal }

/** A refusal in a form that crosses a thread boundary. */
export interface AppendRefusal {
  readonly code: ErrorCode
  readonly message: string
  readonly details?: JsonObject
}

/**
 * Whether an append happens, has happened before, or is refused. Ids are asked before the head, because a
 * retry of an append that had happened finds its stream moved on.
 */
export function decideAppend(append: EncodedAppend, log: LogView): AppendDecision {
  if (isErasable(append.stream) && log.isErased(append.stream)) {
    return { kind: 'refuse', refusal: streamErased(append.stream) }
  }
  const found = append.events.map((event) => log.findById(event.id))
  if (found.some((event) => event !== undefined)) return decideRepeat(append, found)
  const head = log.headOf(append.stream)
  if (!isExpected(append.expected, head)) return { kind: 'refuse', refusal: revisionConflict(append, head) }
  return { kind: 'append', firstRevision: head + 1 }
}

const isExpected = (expected: ExpectedRevision, head: Revision): boolean =>
  head === (expected === 'no-stream' ? -1 : expected)

function decideRepeat(append: EncodedAppend, found: readonly (StoredEvent | undefined)[]): AppendDecision {
  const first = found[0]
  const last = found.at(-1)
  const isSame =
    first !== undefined &&
    last !== undefined &&
    isExpected(append.expected, first.revision - 1) &&
    append.events.every((event, index) =>
      isSameEvent(event, found[index], append.stream, first.revision + index),
    )
  if (isSame) return { kind: 'replay', revision: last.revision, position: last.position }
  return {
    kind: 'refuse',
    refusal: idempotencyConflict(append.events[found.findIndex(Boolean)], append.stream),
  }
}

const isSameEvent = (
  event: EncodedEvent,
  stored: StoredEvent | undefined,
  stream: string,
  revision: Revision,
): boolean =>
  stored !== undefined &&
  stored.stream === stream &&
  stored.revision === revision &&
  stored.type === event.type &&
  stored.schema === event.schema &&
  stored.data === event.data

export function revisionConflict(append: EncodedAppend, head: Revision): AppendRefusal {
  const actual = head === -1 ? null : head
  return {
    code: 'revision_conflict',
    message: `${append.stream} is ${actual === null ? 'missing' : `at revision ${actual}`}, expected ${append.expected}`,
    details: { expected: append.expected, actual },
  }
}

export const streamErased = (stream: string): AppendRefusal => ({
  code: 'stream_erased',
  message: `${stream} was erased and takes no events`,
})

export function idempotencyConflict(event: EncodedEvent | undefined, stream: string): AppendRefusal {
  return {
    code: 'idempotency_conflict',
    message: `event id ${event?.id ?? ''} is in the log already, with other content or at another place than ${stream} expects`,
  }
}
