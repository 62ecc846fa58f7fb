import { reasonOf } from '../../../contracts/errors.ts'
import type { RecordedEvent } from '../../../contracts/event.ts'
import { decodeEvent, requireReadable } from '../../../contracts/event-catalogue.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import type { Position } from '../../../contracts/position.ts'
import type { Projection } from '../../../projections/projection.ts'

/** Rows by key; undefined where a row was deleted. */
export type ChangedRows = Map<string, JsonObject | undefined>

/** An event that cannot be folded, why, and how many of its batch were folded before it. */
export interface Poison {
  readonly position: Position
  readonly reason: string
  readonly folded: number
}

interface FoldedBatch {
  readonly changes: ReadonlyMap<string, JsonObject | undefined>
  /** The changes are those of the events before it. */
  readonly poison?: Poison
}

/**
 * Folds events over rows that are read through `stored`, without changing what is stored.
 *
 * @param known rows as they are stored; what is read and changed is added
 */
export function foldBatch(
  projection: Projection,
  stored: (key: string) => JsonObject | undefined,
  events: readonly RecordedEvent[],
  known: ChangedRows = new Map(),
): FoldedBatch {
  const changes: ChangedRows = new Map()
  const change = (key: string, row: JsonObject | undefined): void => {
    changes.set(key, row)
    // After the others: those that were changed longest ago are forgotten first.
    known.delete(key)
    known.set(key, row)
  }
  const rows = {
    get(key: string) {
      if (!known.has(key)) known.set(key, stored(key))
      return known.get(key)
    },
    put: change,
    delete: (key: string) => change(key, undefined),
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
      const sound = foldBatch(projection, stored, events.slice(0, index))
      return { changes: sound.changes, poison: { position: event.position, reason, folded: index } }
    }
  }
  return { changes }
}

/** Rows of a projection that are kept in memory. */
const KNOWN_ROWS = 1_000

/**
 * The rows that stay in memory after a batch: those that were read or changed last.
 *
 * @param changed rows that the batch changed; more than are kept are of the past, and nobody asks for the first of them
 */
export function keptRows<Row>(known: Map<string, Row>, changed: number): Map<string, Row> {
  if (changed > KNOWN_ROWS) return new Map()
  for (const key of known.keys()) {
    if (known.size <= KNOWN_ROWS) break
    known.delete(key)
  }
  return known
}
