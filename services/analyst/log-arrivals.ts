import { decodeEvent, type ServiceEvent } from '../../contracts/event-catalogue.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { Position } from '../../contracts/position.ts'
import type { EventStore, SubscriptionItem } from '../platform/event-store/event-store.ts'
import { matchesFilter, type ReplayFilter, storeFilter } from './replay-filter.ts'

export type VerdictEvent = Extract<ServiceEvent, { type: 'VerdictRecorded' }>

/** A matching verdict that was appended, and the position of the one before it. */
export interface Arrival {
  readonly event: VerdictEvent
  readonly previous: Position
}

export interface LogArrivals {
  /**
   * Waits for matching verdicts.
   *
   * @returns what came, in log order; nothing after the wait was over; undefined when the subscription has ended.
   */
  take(waitMs: number): Promise<Arrival[] | undefined>
  /** Resolves when the subscription has ended, once its signal was aborted. */
  ended(): Promise<void>
}

/** What is appended in one commit arrives within this time of its first event. */
const GATHER_MS = 5

/** Subscribes to the verdicts behind a position. */
export function createLogArrivals(
  store: EventStore,
  options: {
    readonly after: Position
    readonly filter: ReplayFilter
    readonly signal: AbortSignal
    readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>
  },
): LogArrivals {
  const { after, filter, signal, sleep } = options
  const items = store.subscribe({ after, filter: storeFilter(filter), signal })[Symbol.asyncIterator]()
  let previous = after
  /** Asked for and not there yet; kept over waits, so that nothing is lost between them. */
  let next: Promise<IteratorResult<SubscriptionItem, unknown>> | undefined

  function arrivalOf(item: SubscriptionItem): Arrival | undefined {
    if (item.kind !== 'event') return undefined
    const event = decodeEvent(item.event)
    if (event.type !== 'VerdictRecorded' || !matchesFilter(filter, event.data)) return undefined
    const arrival = { event, previous }
    previous = event.position
    return arrival
  }

  return {
    async take(waitMs) {
      const arrived: Arrival[] = []
      const waiting = new AbortController()
      let over = sleep(waitMs, waiting.signal)
      try {
        while (arrived.length < LIMITS.readPageEvents) {
          next ??= items.next()
          // The wait comes first: a log full of what does not match must not hold up what is due.
          const result = await Promise.race([over.then(() => undefined), next])
          if (result === undefined) break
          next = undefined
          if (result.done === true) return undefined
          const arrival = arrivalOf(result.value)
          if (arrival === undefined) continue
          if (arrived.push(arrival) === 1) over = sleep(GATHER_MS, waiting.signal)
        }
        return arrived
      } finally {
        waiting.abort()
      }
    },

    async ended() {
      await Promise.allSettled([next])
    },
  }
}
