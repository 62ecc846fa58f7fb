import type { EventPlace, RecordedEvent } from '../../contracts/event.ts'
import { LIMITS } from '../../contracts/limits.ts'

/** Places of events, in pages, for a store that reads events whole. */
export async function* placesOf(
  events: AsyncIterable<RecordedEvent>,
): AsyncGenerator<readonly EventPlace[], void, void> {
  for await (const page of pagesOf(events, LIMITS.readPageEvents)) yield page.map(placeOf)
}

const placeOf = ({ id, type, schema, stream, revision, position }: RecordedEvent): EventPlace => ({
  id,
  type,
  schema,
  stream,
  revision,
  position,
})

/** Gathers items into arrays of one size; the last one may hold fewer. */
async function* pagesOf<Item>(
  items: AsyncIterable<Item>,
  size: number,
): AsyncGenerator<readonly Item[], void, void> {
  let page: Item[] = []
  for await (const item of items) {
    page.push(item)
    if (page.length < size) continue
    yield page
    page = []
  }
  if (page.length > 0) yield page
}
