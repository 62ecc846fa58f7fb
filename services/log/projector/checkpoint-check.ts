import { isServiceError } from '../../../contracts/errors.ts'
import { inFrontOf } from '../../../contracts/position.ts'
import type { EventStore } from '../event-store.ts'
import type { EventMark, RowTables } from './row-tables.ts'

interface CheckpointCheck {
  readonly store: Pick<EventStore, 'readAll'>
  readonly tables: RowTables
}

/**
 * Empties the read models if the log was restored from an older copy since they were folded.
 *
 * @returns the event that they follow from, and that the log does not have any more
 */
export async function emptyIfLost({ store, tables }: CheckpointCheck): Promise<EventMark | undefined> {
  const newest = tables.newest()
  if (newest === undefined || (await isThere(store, newest))) return undefined
  tables.empty()
  return newest
}

async function isThere(store: CheckpointCheck['store'], { id, position }: EventMark): Promise<boolean> {
  try {
    for await (const event of store.readAll({ after: inFrontOf(position), limit: 1 })) return event.id === id
    return false
  } catch (error) {
    // The position is none of this log.
    if (isServiceError(error, 'invalid_request')) return false
    throw error
  }
}
