import { assert } from '../../../contracts/assert.ts'
import type { DeliveryCursor } from '../../../contracts/delivery-events.ts'
import type { ServiceEvent } from '../../../contracts/event-catalogue.ts'
import { comparePositions, type Position } from '../../../contracts/position.ts'
import type { Call } from '../../../contracts/verdict.ts'
import type { EventStore } from '../../log/event-store.ts'
import type { Subscription } from '../state/subscription-state.ts'
import { asksForChange, isOfSeries, topNOf } from './passes-filter.ts'
import type { Matched, Signal } from './signal.ts'
import { createSignalFacts, type SignalFacts, toSignals } from './signal-facts.ts'
import { SignalIndex } from './signal-index.ts'

export interface MatcherOptions {
  readonly store: Pick<EventStore, 'read'>
  /** Position at which the tail begins, exclusive. */
  readonly after: Position
}

interface Entry {
  readonly subscriptionId: string
  readonly slot: number
  sequence: number
  /** Up to here it has been matched already; null once the tail has passed it. */
  ahead: Position | null
}

/**
 * Matches and numbers the signals of the tail of the log for many subscriptions at once. The numbers are those
 * that {@link lookThrough} gives one subscription alone: they follow from the log and the filters, each from the
 * position at which it was set, and from no clock.
 *
 * @example
 * const matcher = new Matcher({ store, after: await store.head() })
 * matcher.attach(subscription, { after: matcher.position, sequence: 1 })
 * for (const { sequence, signal } of await matcher.match(event)) console.log(sequence, signal.type)
 */
export class Matcher {
  readonly #index = new SignalIndex()
  readonly #facts: SignalFacts
  readonly #entries = new Map<string, Entry>()
  readonly #slots: (Entry | undefined)[] = []
  readonly #freeSlots: number[] = []
  #position: Position

  constructor({ store, after }: MatcherOptions) {
    this.#facts = createSignalFacts({ store })
    this.#position = after
  }

  /** Position of the newest event that was matched. */
  get position(): Position {
    return this.#position
  }

  get size(): number {
    return this.#entries.size
  }

  /**
   * Takes the next event of the log; one at a time, in order. Events up to the position are left out, so a tail
   * may begin earlier. Whether a subscription may be sent to is not asked here: one that begins in the past meets
   * pauses that are long over, so the caller, who knows its newest state, detaches it.
   */
  async match(event: ServiceEvent): Promise<readonly Matched[]> {
    if (comparePositions(event.position, this.#position) <= 0) return []
    const matched: Matched[] = []
    for (const signal of toSignals(event)) matched.push(...(await this.#matchSignal(signal)))
    this.#facts.see(event)
    this.#position = event.position
    if (event.type === 'SubscriptionChanged') {
      const entry = this.#entries.get(event.data.subscriptionId)
      if (entry !== undefined) this.#index.put(entry.slot, event.data.filter)
    }
    return matched
  }

  /**
   * Takes a subscription into the tail. Its cursor may be ahead of the tail, not behind: what lies between is
   * for {@link lookThrough}, up to the matcher's position.
   *
   * @throws ServiceError `invariant_broken` for a cursor before the position of the tail.
   */
  attach(
    { subscriptionId, filters }: Pick<Subscription, 'subscriptionId' | 'filters'>,
    cursor: DeliveryCursor,
  ): void {
    const isAhead = comparePositions(cursor.after, this.#position) >= 0
    assert(isAhead, 'who joins has seen what the tail has passed', cursor.after)
    assert(cursor.sequence >= 1, 'deliveries are numbered from 1', cursor.sequence)
    this.detach(subscriptionId)
    const slot = this.#freeSlots.pop() ?? this.#slots.length
    // At the tail counts, too: a cursor may stand between two signals of the next event.
    const entry: Entry = { subscriptionId, slot, sequence: cursor.sequence, ahead: cursor.after }
    this.#entries.set(subscriptionId, entry)
    this.#slots[slot] = entry
    // Later ones are set when the tail meets the event that brought them.
    const filter =
      filters.findLast((period) => comparePositions(period.after, this.#position) <= 0) ?? filters[0]
    if (filter !== undefined) this.#index.put(slot, filter.filter)
  }

  /** Lets a subscription go. @returns its cursor; undefined where it was not attached. */
  detach(subscriptionId: string): DeliveryCursor | undefined {
    const entry = this.#entries.get(subscriptionId)
    if (entry === undefined) return undefined
    this.#entries.delete(subscriptionId)
    this.#slots[entry.slot] = undefined
    this.#index.remove(entry.slot)
    this.#freeSlots.push(entry.slot)
    return this.#cursorOf(entry)
  }

  /** The cursor of a subscription; undefined where it is not attached. */
  cursor(subscriptionId: string): DeliveryCursor | undefined {
    const entry = this.#entries.get(subscriptionId)
    return entry === undefined ? undefined : this.#cursorOf(entry)
  }

  #cursorOf({ ahead, sequence }: Entry): DeliveryCursor {
    const isAhead = ahead !== null && comparePositions(ahead, this.#position) > 0
    return { after: isAhead ? ahead : this.#position, sequence }
  }

  async #matchSignal(signal: Signal): Promise<Matched[]> {
    if (!isOfSeries(signal)) return this.#number(signal, undefined, undefined)
    const rank = this.#index.asksForRank ? await this.#facts.rank(signal) : undefined
    const isAsked = signal.type === 'trade_call' && this.#index.asksForChanges
    const before = isAsked ? await this.#facts.previousCall(signal) : undefined
    return this.#number(signal, rank, before)
  }

  /** Numbers a signal for everybody who asked for it. Nobody comes or goes meanwhile: it does not wait. */
  #number(signal: Signal, rank: number | undefined, before: Call | undefined): Matched[] {
    const matched: Matched[] = []
    for (const slot of this.#index.matching(signal, rank)) {
      const [entry, filter] = [this.#slots[slot], this.#index.filter(slot)]
      assert(entry !== undefined && filter !== undefined, 'a slot has its subscription and its filter', slot)
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
}
