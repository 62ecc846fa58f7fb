import { inFrontOf } from '../../../contracts/position.ts'
import type { EventStore } from '../event-store.ts'
import { isNext } from '../guard-log.ts'
import type { EventMark, RowTables } from './row-tables.ts'

/**
 * Empties the read models where the log was restored from an older copy since they were folded.
 *
 * @returns the event that they follow from, and that the log does not have any more
 */
export async function emptyIfLost({
  store,
  tables,
}: {
  readonly store: Pick<EventStore, 'readAll'>
  readonly tables: RowTables
}): Promise<EventMark | undefined> {
  const newest = tables.newest()
  if (newest === undefined) return undefined
  if (await isNext(store, { id: newest.id, after: inFrontOf(newest.position) })) return undefined
  tables.empty()
  return newest
}
