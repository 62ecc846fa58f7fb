import { later, type Position } from '../../contracts/infra/position.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { EventStore } from '../log/event-store.ts'
import type { Clock } from '../runtime/async/clock.ts'
import { matchingEvents } from './matching-events.ts'
import { matchesFilter, type ReplayFilter, storeFilter } from './replay-filter.ts'
import { seriesEvent } from './series-events.ts'
import { createRowMaker, rowEventType, type ShownRow } from './shown-rows.ts'

export interface FollowOptions {
  readonly filter: ReplayFilter
  /** The cursor of the row to go on after; without it, what becomes visible from now on. */
  readonly after?: Position
  /** Whether verdicts are shown as they are recorded, and not once they have an outcome. */
  readonly withOpen: boolean
  /** Ends after some milliseconds, or at once when the signal is aborted; does not reject. */
  readonly sleep: Clock['sleep']
  /** Ends the following, quietly. */
  readonly signal: AbortSignal
}

/** A verdict that became visible, or a sign that nothing did for a while; one comes at the beginning. */
export type FollowItem = ({ readonly kind: 'verdict' } & ShownRow) | { readonly kind: 'quiet' }

/** A pause without an item is said at its end: two of them are as long as a heartbeat may stay away. */
const PAUSE_MS = LIMITS.heartbeatMs / 2

/**
 * Verdicts as they become visible, in the order of a replay: the cursor in each row goes on after it, here and there. It is
 * pulled: a slow reader holds a page of the log.
 *
 * @throws ServiceError `store_unavailable`
 */
export async function* followVerdicts(
  store: EventStore,
  { filter, after, withOpen, sleep, signal: stopped }: FollowOptions,
): AsyncGenerator<FollowItem, void, void> {
  const ending = new AbortController()
  const signal = AbortSignal.any([stopped, ending.signal])
  const type = rowEventType(withOpen)
  const rowOf = createRowMaker(store, { signal })
  const head = await store.head()
  yield { kind: 'quiet' }
  try {
    if (after !== undefined)
      for await (const event of matchingEvents(store, { type, filter, after, upTo: head, signal }))
        yield { kind: 'verdict', ...(await rowOf(event)) }
    const from = later(after ?? head, head)
    const items = store.subscribe({ after: from, filter: storeFilter(filter, type), signal })
    for await (const item of withQuiet(items, () => sleep(PAUSE_MS, signal), signal)) {
      if (item.kind === 'quiet') yield item
      if (item.kind !== 'event') continue
      const event = seriesEvent(item.event, type)
      if (event !== undefined && matchesFilter(filter, event.data))
        yield { kind: 'verdict', ...(await rowOf(event)) }
    }
  } finally {
    ending.abort()
  }
}

/** Passes items on, and says in between when there was none for a while. */
async function* withQuiet<Item>(
  items: AsyncIterable<Item>,
  pause: () => Promise<void>,
  signal: AbortSignal,
): AsyncGenerator<Item | { readonly kind: 'quiet' }, void, void> {
  const iterator = items[Symbol.asyncIterator]()
  let wake = (): void => undefined
  let isPauseOver = false
  let hasCome = false
  // One reaction waits for each pause and each item: races between both would be kept until something comes.
  const rest = async (): Promise<void> => {
    await pause()
    isPauseOver = true
    wake()
  }
  void rest()
  const arrived: (() => IteratorResult<Item, unknown>)[] = []
  const arrive = (result: () => IteratorResult<Item, unknown>): void => {
    arrived.push(result)
    wake()
  }
  for (;;) {
    void iterator.next().then(
      (result) => arrive(() => result),
      (error: unknown) =>
        arrive(() => {
          throw error
        }),
    )
    while (arrived.length === 0) {
      if (isPauseOver && !signal.aborted) {
        isPauseOver = false
        void rest()
        if (!hasCome) yield { kind: 'quiet' }
        hasCome = false
      } else {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    }
    const result = arrived.pop()?.()
    if (result === undefined || result.done === true) return
    hasCome = true
    yield result.value
  }
}
