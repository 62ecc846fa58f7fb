import type { DeliveryCursor } from '../../../contracts/delivery-events.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import type { ServiceEvent } from '../../../contracts/event-catalogue.ts'
import { comparePositions, type Position } from '../../../contracts/position.ts'
import type { Call } from '../../../contracts/verdict.ts'
import type { Subscription } from '../../../projections/index.ts'
import type { EventStore } from '../../log/event-store.ts'
import { asksForChange, isOfSeries, topNOf } from './passes-filter.ts'
import type { Matched, Signal } from './signal.ts'
import { createSignalFacts, toSignals } from './signal-facts.ts'
import { createSignalIndex } from './signal-index.ts'

export interface MatcherOptions {
  readonly store: Pick<EventStore, 'read'>
  /** Position at which the tail begins, exclusive. */
  readonly after: Position
}

/**
 * Matches and numbers the signals of the tail of the log for many subscriptions at once. The numbers are those
 * that {@link lookThrough} gives one subscription alone: they follow from the log and the filters, each from the
 * position at which it was set, and from no clock.
 */
export interface Matcher {
  /** Position of the newest event that was matched. */
  readonly position: Position
  readonly size: number
  /**
   * Takes the next event of the log; one at a time, in order. Events up to the position are left out, so a tail
   * may begin earlier. Whether a subscription may be sent to is not asked here: one that begins in the past meets
   * pauses that are long over, so the caller, who knows its newest state, detaches it.
   */
  match(event: ServiceEvent): Promise<readonly Matched[]>
  /**
   * Takes a subscription into the tail. Its cursor may be ahead of the tail, not behind: what lies between is
   * for {@link lookThrough}, up to the matcher's position.
   *
   * @throws ServiceError `internal_error` for a cursor behind the tail.
   */
  attach(subscription: Pick<Subscription, 'subscriptionId' | 'filters'>, cursor: DeliveryCursor): void
  /** Lets a subscription go. @returns where its numbering stands; undefined where it was not attached. */
  detach(subscriptionId: string): DeliveryCursor | undefined
  /** The cursor of a subscription; undefined where it is not attached. */
  cursor(subscriptionId: string): DeliveryCursor | undefined
}

interface Entry {
  readonly subscriptionId: string
  readonly slot: number
  sequence: number
  /** Up to here it has been matched already; null once the tail has something behind it. */
  ahead: Position | null
}

/**
 * @example
 * const matcher = createMatcher({ store, after: await store.head() })
 * matcher.attach(subscription, { after: matcher.position, sequence: 1 })
 * for (const { sequence, signal } of await matcher.match(event)) console.log(sequence, signal.type)
 */
export function createMatcher({ store, after }: MatcherOptions): Matcher {
  const index = createSignalIndex()
  const facts = createSignalFacts({ store })
  const entries = new Map<string, Entry>()
  const slots: (Entry | undefined)[] = []
  const freeSlots: number[] = []
  let position = after

  const isAhead = ({ ahead }: Entry): boolean => ahead !== null && comparePositions(ahead, position) > 0
  const cursorOf = (entry: Entry): DeliveryCursor => ({
    after: (isAhead(entry) ? entry.ahead : null) ?? position,
    sequence: entry.sequence,
  })

  function detach(subscriptionId: string): DeliveryCursor | undefined {
    const entry = entries.get(subscriptionId)
    if (entry === undefined) return undefined
    entries.delete(subscriptionId)
    slots[entry.slot] = undefined
    index.remove(entry.slot)
    freeSlots.push(entry.slot)
    return cursorOf(entry)
  }

  /** Numbers a signal for everybody who asked for it. Nobody comes or goes meanwhile: it does not wait. */
  function number(signal: Signal, rank: number | undefined, before: Call | undefined): Matched[] {
    const matched: Matched[] = []
    for (const slot of index.matching(signal, rank)) {
      const [entry, filter] = [slots[slot], index.filter(slot)]
      if (entry === undefined || filter === undefined) continue
      if (entry.ahead !== null) {
        if (comparePositions(signal.position, entry.ahead) <= 0) continue
        entry.ahead = null
      }
      if (asksForChange(filter, signal) && signal.data.call === before) continue
      const { subscriptionId } = entry
      matched.push({ subscriptionId, sequence: entry.sequence++, signal, topN: topNOf(filter, signal) })
    }
    return matched
  }

  async function matchSignal(signal: Signal): Promise<Matched[]> {
    if (!isOfSeries(signal)) return number(signal, undefined, undefined)
    const rank = index.asksForRank ? await facts.rank(signal) : undefined
    const isAsked = signal.type === 'trade_call' && index.asksForChanges
    const before = isAsked ? await facts.previousCall(signal) : undefined
    return number(signal, rank, before)
  }

  return {
    get position() {
      return position
    },
    get size() {
      return entries.size
    },
    async match(event) {
      if (comparePositions(event.position, position) <= 0) return []
      const matched: Matched[] = []
      for (const signal of toSignals(event)) matched.push(...(await matchSignal(signal)))
      facts.see(event)
      position = event.position
      if (event.type === 'SubscriptionChanged') {
        const entry = entries.get(event.data.subscriptionId)
        if (entry !== undefined) index.put(entry.slot, event.data.filter)
      }
      return matched
    },
    attach({ subscriptionId, filters }, cursor) {
      if (comparePositions(cursor.after, position) < 0) {
        throw new ServiceError('internal_error', {
          message: `subscription ${subscriptionId} stands at ${cursor.after}, behind the tail at ${position}`,
        })
      }
      detach(subscriptionId)
      const slot = freeSlots.pop() ?? slots.length
      // At the tail counts, too: a cursor may stand between two signals of the next event.
      const ahead = cursor.after
      const entry: Entry = { subscriptionId, slot, sequence: cursor.sequence, ahead }
      entries.set(subscriptionId, entry)
      slots[slot] = entry
      // Later ones are set when the tail meets the event that brought them.
      const filter = filters.findLast((period) => comparePositions(period.after, position) <= 0) ?? filters[0]
      if (filter !== undefined) index.put(slot, filter.filter)
    },
    detach,
    cursor(subscriptionId) {
      const entry = entries.get(subscriptionId)
      return entry === undefined ? undefined : cursorOf(entry)
    },
  }
}
