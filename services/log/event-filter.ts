import { isErasable } from '../../contracts/erasable-streams.ts'
import type { EventFilter } from './event-store.ts'

/** Whether an event is shown to who reads the log, and matches every given part of a filter. */
export function matchesFilter(
  event: { readonly stream: string; readonly type: string },
  filter: EventFilter | undefined,
): boolean {
  if (isErasable(event.stream)) return false
  if (filter === undefined) return true
  const { streamPrefixes, types } = filter
  if (types !== undefined && !types.includes(event.type)) return false
  return streamPrefixes === undefined || streamPrefixes.some((prefix) => event.stream.startsWith(prefix))
}
