import { ServiceError } from '../../../contracts/errors.ts'
import type { RecordedEvent } from '../../../contracts/event.ts'
import { comparePositions, inFrontOf, type Position, START } from '../../../contracts/position.ts'
import { UNFINISHED_COPY_STREAM } from '../../../contracts/streams.ts'
import type { EventStoreDbStore } from '../../log/eventstoredb/eventstoredb-store.ts'
import { RecentMap } from '../../runtime/cache/recent-map.ts'
import type { CopiedEvent, CopySource, CopyTarget } from './copy-log.ts'

/** Longer than processes that share a log take between two renewals of their leases. */
export const REST_MS = 5_000

/** A log in EventStoreDB. Nobody can be kept from writing to it, so that it is looked whether somebody does. */
export function openEventStoreDbSource(store: EventStoreDbStore, rest: () => Promise<void>): CopySource {
  let given: Position = START
  return {
    description: 'EventStoreDB',
    async *events() {
      given = START
      for await (const event of store.readCopies()) {
        if (event.stream === UNFINISHED_COPY_STREAM)
          throw new ServiceError('store_mismatch', {
            message: 'EventStoreDB holds a copy that is not finished',
          })
        given = event.position
        yield copiedOf(event)
      }
    },
    async at(position) {
      for await (const event of store.readCopies(inFrontOf(position))) {
        if (event.position === position) return event
        break
      }
      throw new ServiceError('event_unreadable', {
        message: `an event names position ${position} of EventStoreDB, where none is`,
      })
    },
    async isAtRest() {
      await rest()
      const head = await store.head()
      return head === START || comparePositions(head, given) <= 0
    },
  }
}

/** Appends under way at once: one that waits for the disk of the server keeps the next ones from waiting for it in turn. */
const UNDER_WAY = 256
const REMEMBERED = 100_000

/**
 * An empty EventStoreDB, or one that a copy into was begun; an event of its own says so until it is whole. Appends go
 * over one call, which the server takes in order. The first that fails is the last that is sent.
 */
export function openEventStoreDbTarget(
  store: EventStoreDbStore,
  { newId, now }: { readonly newId: () => string; readonly now: () => number },
): CopyTarget {
  const underWay: Promise<Position>[] = []
  const placed = new RecentMap<string, Promise<Position>>(REMEMBERED)
  let failure: { readonly error: unknown } | undefined
  const requireSound = (): void => {
    if (failure !== undefined) throw failure.error
  }
  const flush = async (): Promise<void> => {
    while (underWay.length > 0) await underWay.shift()
    requireSound()
  }
  return {
    description: 'EventStoreDB',
    async begin() {
      for await (const _ of store.read(UNFINISHED_COPY_STREAM, { limit: 1 })) return
      if ((await store.head()) !== START)
        throw new ServiceError('store_mismatch', {
          message:
            'EventStoreDB is not empty, and no copy into it was begun: it is in use, or a copy was finished',
          nextStep: 'Copy into an empty one.',
        })
      const meta = { correlationId: 'store copy', actor: 'store copy' }
      const event = { id: newId(), type: 'CopyBegun', schema: 1, data: { at: now() }, meta }
      await store.append(UNFINISHED_COPY_STREAM, [event], { expected: 'no-stream' })
    },
    async *events() {
      for await (const event of store.readCopies())
        if (event.stream !== UNFINISHED_COPY_STREAM) yield copiedOf(event)
    },
    async append(events) {
      const [first] = events
      if (first === undefined) return
      requireSound()
      const { stream, revision, at } = first
      const expected = revision === 0 ? 'no-stream' : revision - 1
      const sending = store.appendCopied(stream, events, { expected, at }).then(({ position }) => position)
      sending.catch((error: unknown) => (failure ??= { error }))
      underWay.push(sending)
      placed.set(`${stream} ${revision + events.length - 1}`, sending)
      if (underWay.length >= UNDER_WAY) await underWay.shift()
    },
    flush,
    async positionOf(stream, revision) {
      const known = placed.get(`${stream} ${revision}`)
      if (known !== undefined) return known
      await flush()
      for await (const { position } of store.read(stream, { from: revision, limit: 1 })) return position
      return undefined
    },
    finish: () => store.erase(UNFINISHED_COPY_STREAM),
  }
}

const copiedOf = (event: RecordedEvent): CopiedEvent => ({
  ...event,
  data: JSON.stringify(event.data),
  meta: JSON.stringify(event.meta),
})
