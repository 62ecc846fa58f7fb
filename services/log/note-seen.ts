import { comparePositions, type Position, START } from '../../contracts/position.ts'
import type { EventStore } from './event-store.ts'

/** The store, and the newest position that was appended through it or read in one of its streams. */
export function noteSeen(store: EventStore): { readonly store: EventStore; readonly newest: () => Position } {
  let newest: Position = START
  function note(stream: string, position: Position): void {
    // Read models never meet what can be forgotten, so nobody may wait for it.
    if (!stream.startsWith('subject-') && comparePositions(position, newest) > 0) newest = position
  }
  const append: EventStore['append'] = async (stream, events, options) => {
    const appended = await store.append(stream, events, options)
    note(stream, appended.position)
    return appended
  }
  const read: EventStore['read'] = async function* (stream, options) {
    for await (const event of store.read(stream, options)) {
      note(stream, event.position)
      yield event
    }
  }
  return { store: { ...store, append, read }, newest: () => newest }
}
