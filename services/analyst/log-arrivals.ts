import { LIMITS } from '../../contracts/limits.ts'
import type { Position } from '../../contracts/position.ts'
import type { EventStore, SubscriptionItem } from '../log/event-store.ts'
import { type RecordedVerdict, verdictIn } from './matching-verdicts.ts'
import { matchesFilter, type ReplayFilter, storeFilter } from './replay-filter.ts'

/** A matching verdict that was appended, and the position of the one before it. */
export interface Arrival {
  readonly event: RecordedVerdict
  readonly previous: Position
}

/** All events of one commit arrive within this time of the first. */
const GATHER_MS = 5

export interface LogArrivalsOptions {
  readonly after: Position
  readonly filter: ReplayFilter
  readonly signal: AbortSignal
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>
}

/** Subscribes to the verdicts after a position that match a filter; `take` returns them in batches. */
export function createLogArrivals(store: EventStore, { after, filter, signal, sleep }: LogArrivalsOptions) {
  const items = store.subscribe({ after, filter: storeFilter(filter), signal })[Symbol.asyncIterator]()
  let previous = after
  /** Asked for; kept over waits, so that nothing is lost between them. */
  let next: Promise<void> | undefined
  let came: (() => IteratorResult<SubscriptionItem, unknown>) | undefined
  let wake = (): void => undefined

  /** One reaction waits, for as long as it takes: one for each look would be kept until something comes. */
  function askNext(): Promise<void> {
    const arrive = (result: typeof came): void => {
      came = result
      wake()
    }
    return items.next().then(
      (result) => arrive(() => result),
      (error: unknown) =>
        arrive(() => {
          throw error
        }),
    )
  }

  /** The next item; undefined when the wait ended first. */
  async function nextBefore(
    over: Promise<void>,
  ): Promise<IteratorResult<SubscriptionItem, unknown> | undefined> {
    next ??= askNext()
    const woken = new Promise<void>((resolve) => {
      wake = resolve
    })
    if (came !== undefined) wake()
    // The wait comes first: a log full of what does not match must not hold up what is due.
    const isOver = await Promise.race([over.then(() => true), woken])
    if (isOver === true || came === undefined) return undefined
    const result = came
    next = came = undefined
    return result()
  }

  function arrivalOf(item: SubscriptionItem): Arrival | undefined {
    const event = askedIn(item, filter)
    if (event === undefined) return undefined
    const arrival = { event, previous }
    previous = event.position
    return arrival
  }

  return {
    /**
     * Waits for matching verdicts.
     *
     * @returns what came, in log order; nothing after the wait was over; undefined when the subscription has ended.
     */
    async take(waitMs: number): Promise<Arrival[] | undefined> {
      const arrived: Arrival[] = []
      const waiting = new AbortController()
      let over = sleep(waitMs, waiting.signal)
      try {
        while (arrived.length < LIMITS.readPageEvents) {
          const result = await nextBefore(over)
          if (result === undefined) break
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

    /** Resolves when the subscription has ended, once its signal was aborted. */
    async ended(): Promise<void> {
      await next
    },
  }
}

/** The verdict that a filter asks for. */
function askedIn(item: SubscriptionItem, filter: ReplayFilter): RecordedVerdict | undefined {
  if (item.kind !== 'event') return undefined
  const verdict = verdictIn(item.event)
  return verdict !== undefined && matchesFilter(filter, verdict.data) ? verdict : undefined
}
