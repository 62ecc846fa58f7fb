import { inFrontOf } from '../../../contracts/position.ts'
import type { EventStore } from '../event-store.ts'
import { isNext } from '../guard-log.ts'
import type { EventMark, RowTables } from './row-tables.ts'

/** Drops the rows where the log was restored from an older copy since they were folded. @returns the event that is missing */
export async function keepRowsOfThisLog({
  store,
  tables,
}: {
  readonly store: EventStore
  readonly tables: RowTables
}): Promise<EventMark | undefined> {
  const newest = tables.newest()
  // Without one, nothing was folded, or by a release that did not write it down.
  if (newest !== undefined && (await isStillThere(store, newest))) {
    tables.standOnNewest()
    return undefined
  }
  tables.empty()
  return newest
}

/** Whether a log has an event at its place. */
export const isStillThere = (
  store: Pick<EventStore, 'readAll'>,
  { id, position }: EventMark,
): Promise<boolean> => isNext(store, { id, after: inFrontOf(position) })
