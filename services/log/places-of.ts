import type { EventPlace, RecordedEvent } from '../../contracts/event.ts'
import { LIMITS } from '../../contracts/limits.ts'

/** Places of events, in pages, for a store that reads events whole. */
export async function* placesOf(
  events: AsyncIterable<RecordedEvent>,
): AsyncGenerator<readonly EventPlace[], void, void> {
  let page: EventPlace[] = []
  for await (const { id, type, schema, stream, revision, position } of events) {
    page.push({ id, type, schema, stream, revision, position })
    if (page.length < LIMITS.readPageEvents) continue
    yield page
    page = []
  }
  if (page.length > 0) yield page
}
