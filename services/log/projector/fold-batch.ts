import { reasonOf } from '../../../contracts/errors.ts'
import type { RecordedEvent } from '../../../contracts/event.ts'
import { decodeEvent, requireReadable } from '../../../contracts/event-catalogue.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import type { Position } from '../../../contracts/position.ts'
import type { Projection } from '../../../projections/projection.ts'
import type { ChangedRows } from './row-tables.ts'

/** An event that cannot be folded, why, and how many of its batch were folded before it. */
interface Poison {
  readonly position: Position
  readonly reason: string
  readonly folded: number
}

interface FoldedBatch {
  readonly changes: ChangedRows
  /** The changes are those of the events before it. */
  readonly poison?: Poison
}

/**
 * Folds events over rows, without changing them.
 *
 * @param before rows as they were before these events
 */
export function foldBatch(
  projection: Projection,
  before: (key: string) => JsonObject | undefined,
  events: readonly RecordedEvent[],
): FoldedBatch {
  const changes = new Map<string, JsonObject | undefined>()
  const rows = {
    get: (key: string) => changes.get(key) ?? (changes.has(key) ? undefined : before(key)),
    put: (key: string, row: JsonObject) => void changes.set(key, row),
    delete: (key: string) => void changes.set(key, undefined),
  }
  for (const [index, event] of events.entries()) {
    try {
      if (projection.needs === 'recorded') {
        requireReadable(event)
        projection.fold(rows, event)
      } else projection.fold(rows, decodeEvent(event))
    } catch (error) {
      const reason = reasonOf(error)
      // The failed fold may have changed rows before it failed: fold again, up to the event before it.
      const sound = foldBatch(projection, before, events.slice(0, index))
      return { changes: sound.changes, poison: { position: event.position, reason, folded: index } }
    }
  }
  return { changes }
}
