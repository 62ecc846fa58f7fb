import type { ResolvedEvent } from '@eventstore/db-client'
import { isErasable } from '../../../contracts/erasable-streams.ts'
import { isServiceError } from '../../../contracts/errors.ts'
import type { RecordedEvent } from '../../../contracts/event.ts'
import type { Position } from '../../../contracts/position.ts'
import { appendedAt, parseStored, toPosition } from './recorded-event.ts'

/** An event of the log, read as far as one needs to see whether anybody wants it. */
export interface LogEntry {
  readonly stream: string
  readonly type: string
  readonly position: Position
  /** When it was appended, ISO 8601. */
  readonly at: string
  /** The event itself, or undefined for one that this service did not write. */
  event(): RecordedEvent | undefined
}

/** Undefined for EventStoreDB's own events, and for what can be erased unless it is asked for. */
export function toEntry(
  resolved: ResolvedEvent,
  onForeign: (entry: Pick<LogEntry, 'stream' | 'type' | 'position'>) => void,
  withKeys = false,
): LogEntry | undefined {
  const { event: stored } = resolved
  if (stored?.position === undefined || (!withKeys && isErasable(stored.streamId))) return undefined
  if (stored.streamId.startsWith('$') || stored.type.startsWith('$')) return undefined
  let read: { readonly event: RecordedEvent | undefined } | undefined
  const entry: LogEntry = {
    stream: stored.streamId,
    type: stored.type,
    position: toPosition(stored.position),
    at: appendedAt(stored),
    event() {
      read ??= { event: readOwn(resolved) }
      if (read.event === undefined) onForeign(entry)
      return read.event
    },
  }
  return entry
}

function readOwn(resolved: ResolvedEvent): RecordedEvent | undefined {
  try {
    return parseStored(resolved)?.event
  } catch (error) {
    if (isServiceError(error, 'event_unreadable')) return undefined
    throw error
  }
}
