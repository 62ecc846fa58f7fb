import type { EventPlace, RecordedEvent } from '../../../contracts/event.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { pagesOf } from '../async/pages-of.ts'

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
