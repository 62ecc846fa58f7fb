import type { RecordedEvent } from '../../../../contracts/event.ts'
import { comparePositions, type Position, START } from '../../../../contracts/position.ts'
import { isErasable, isStreamName } from '../../../../contracts/streams.ts'
import type { EventFilter, EventStore, SubscriptionItem } from '../event-store.ts'
import { placesOf } from '../places-of.ts'

/**
 * A store that shows only the streams of one prefix and what came after one position, so that tests which
 * need an empty log can share a server. Imported by tests only.
 */
export function confineStore(store: EventStore, prefix: string, base: Position): EventStore {
  // What can be erased is known by how its name begins, and is read by name only.
  const within = (stream: string): string => {
    if (!isStreamName(stream)) return stream
    return isErasable(stream) ? `${stream}.${prefix}` : prefix + stream
  }
  const strip = (event: RecordedEvent): RecordedEvent => ({
    ...event,
    stream: isErasable(event.stream)
      ? event.stream.slice(0, -prefix.length - 1)
      : event.stream.slice(prefix.length),
  })
  const confine = ({ streamPrefixes = [''], ...filter }: EventFilter = {}): EventFilter => ({
    ...filter,
    streamPrefixes: streamPrefixes.map((streamPrefix) => prefix + streamPrefix),
  })
  const toBase = (position: Position): Position => (comparePositions(position, base) <= 0 ? START : position)
  const stripItem = (item: SubscriptionItem): SubscriptionItem =>
    item.kind === 'event'
      ? { kind: 'event', event: strip(item.event) }
      : { kind: item.kind, position: toBase(item.position) }
  const fromBase = (after: Position): Position => (after === START ? base : after)

  return {
    append: (stream, events, options) => store.append(within(stream), events, options),
    async *read(stream, options) {
      for await (const event of store.read(within(stream), options)) yield strip(event)
    },
    async *readAll({ after = START, filter, ...options } = {}) {
      const all = store.readAll({ ...options, after: fromBase(after), filter: confine(filter) })
      for await (const event of all) yield strip(event)
    },
    readPlaces(options) {
      return placesOf(this.readAll(options))
    },
    async *subscribe({ after, filter, signal }) {
      const start = after === 'end' ? after : fromBase(after)
      for await (const item of store.subscribe({ after: start, filter: confine(filter), signal }))
        yield stripItem(item)
    },
    erase: (stream) => store.erase(within(stream)),
    async head() {
      return toBase(await store.head())
    },
    health: () => store.health(),
    close: () => store.close(),
  }
}
