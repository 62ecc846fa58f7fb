import { EXCHANGES } from '../../../contracts/exchanges.ts'
import { SIGNAL_TYPES, type SubscriptionFilter } from '../../../contracts/subscription.ts'
import { TIMEFRAMES } from '../../../contracts/timeframes.ts'
import { passesThresholds, topOf } from './passes-filter.ts'
import type { Signal } from './signal.ts'

const BITS = 32

/** A set of small whole numbers, one bit each: whole words of many such sets are cut with one another at once. */
interface SlotSet {
  readonly words: Uint32Array
  add(slot: number): void
  delete(slot: number): void
  has(slot: number): boolean
}

/** An empty set; words past its end do not exist, so readers take `word ?? 0`. */
export function createSlotSet(): SlotSet {
  let words = new Uint32Array(0)
  return {
    get words() {
      return words
    },
    add(slot) {
      const index = Math.floor(slot / BITS)
      if (index >= words.length) {
        const larger = new Uint32Array(Math.max(index + 1, words.length * 2))
        larger.set(words)
        words = larger
      }
      words[index] = (words[index] ?? 0) | (1 << (slot % BITS))
    },
    delete(slot) {
      const index = Math.floor(slot / BITS)
      if (index < words.length) words[index] = (words[index] ?? 0) & ~(1 << (slot % BITS))
    },
    has: (slot) => ((words[Math.floor(slot / BITS)] ?? 0) & (1 << (slot % BITS))) !== 0,
  }
}

/** Calls back for the slot of every bit of a word. */
export function eachBit(word: number, index: number, visit: (slot: number) => void): void {
  for (let left = word; left !== 0; left &= left - 1) {
    visit(index * BITS + (BITS - 1 - Math.clz32(left & -left)))
  }
}

/** Most coins that `top:N` can name. */
const TOP_MOST = 100

/**
 * Finds the filters that let a signal through, without looking at each. Filters stand in numbered slots. Types,
 * exchanges and timeframes are sets of slots of one bit each, cut with one another word by word, so that filters
 * which list every one of them cost no more than others; coins, of which there are many, list their slots.
 * Thresholds are checked last, on the remaining slots.
 */
export class SignalIndex {
  readonly #filters: (SubscriptionFilter | undefined)[] = []
  readonly #byType = setsFor(SIGNAL_TYPES)
  readonly #byExchange = setsFor(EXCHANGES)
  readonly #byTimeframe = setsFor(TIMEFRAMES)
  readonly #anyCoin = createSlotSet()
  /** At n: the filters that take the n largest coins, or more. */
  readonly #byRank = Array.from({ length: TOP_MOST + 1 }, createSlotSet)
  readonly #byCoin = new Map<string, Set<number>>()
  readonly #byDigest = new Map<string, Set<number>>()
  #asksForRank = 0
  #asksForChanges = 0

  put(slot: number, filter: SubscriptionFilter): void {
    this.remove(slot)
    this.#filters[slot] = filter
    for (const set of this.#setsOf(filter)) set.add(slot)
    for (const [lists, key] of this.#listsOf(filter)) {
      const list = lists.get(key)
      if (list === undefined) lists.set(key, new Set([slot]))
      else list.add(slot)
    }
    this.#count(filter, 1)
  }

  remove(slot: number): void {
    const filter = this.#filters[slot]
    if (filter === undefined) return
    for (const set of this.#setsOf(filter)) set.delete(slot)
    for (const [lists, key] of this.#listsOf(filter)) {
      lists.get(key)?.delete(slot)
      if (lists.get(key)?.size === 0) lists.delete(key)
    }
    this.#count(filter, -1)
    this.#filters[slot] = undefined
  }

  filter(slot: number): SubscriptionFilter | undefined {
    return this.#filters[slot]
  }

  /** Whether the rank of a signal's coin on its exchange matters to any filter. */
  get asksForRank(): boolean {
    return this.#asksForRank > 0
  }

  /** Whether any filter asks for changes only. */
  get asksForChanges(): boolean {
    return this.#asksForChanges > 0
  }

  /**
   * Slots of the filters that a signal passes, but for `onlyChanges`, in no order.
   *
   * @param rank of the signal's coin; undefined where it has none, or does not matter
   */
  matching(signal: Signal, rank: number | undefined): number[] {
    const ofType = this.#byType[signal.type]
    if (signal.type === 'scan_digest') {
      return [...(this.#byDigest.get(digestKey(signal.data)) ?? [])].filter((slot) => ofType.has(slot))
    }
    const found: number[] = []
    const ofTimeframe = this.#byTimeframe[signal.timeframe]
    const ofExchange = this.#byExchange[signal.exchange]
    const take = (slot: number): void => {
      const filter = this.#filters[slot]
      if (filter !== undefined && passesThresholds(filter, signal)) found.push(slot)
    }
    const ranked = rank === undefined || rank > TOP_MOST ? undefined : this.#byRank[rank]
    const [types, exchanges, timeframes] = [ofType.words, ofExchange.words, ofTimeframe.words]
    const [all, top] = [this.#anyCoin.words, ranked?.words]
    const words = Math.min(types.length, exchanges.length, timeframes.length)
    for (let index = 0; index < words; index++) {
      const coins = (all[index] ?? 0) | (top?.[index] ?? 0)
      const word = coins & (types[index] ?? 0) & (exchanges[index] ?? 0) & (timeframes[index] ?? 0)
      if (word !== 0) eachBit(word, index, take)
    }
    for (const slot of this.#byCoin.get(signal.data.coin) ?? []) {
      // These were taken above.
      if (this.#anyCoin.has(slot) || ranked?.has(slot) === true) continue
      if (ofType.has(slot) && ofExchange.has(slot) && ofTimeframe.has(slot)) take(slot)
    }
    return found
  }

  #setsOf(filter: SubscriptionFilter): SlotSet[] {
    return [
      ...filter.events.map((type) => this.#byType[type]),
      ...(filter.exchanges ?? EXCHANGES).map((exchange) => this.#byExchange[exchange]),
      ...(filter.timeframes ?? TIMEFRAMES).map((timeframe) => this.#byTimeframe[timeframe]),
      ...(filter.assets === null ? [this.#anyCoin] : this.#byRank.slice(1, topOf(filter) + 1)),
    ]
  }

  #listsOf(filter: SubscriptionFilter): (readonly [Map<string, Set<number>>, string])[] {
    const coins = (filter.assets ?? []).filter((asset) => !asset.startsWith('top:'))
    return [
      ...coins.map((coin) => [this.#byCoin, coin] as const),
      ...(filter.digest === null ? [] : [[this.#byDigest, digestKey(filter.digest)] as const]),
    ]
  }

  #count(filter: SubscriptionFilter, by: 1 | -1): void {
    if (topOf(filter) > 0) this.#asksForRank += by
    if (filter.onlyChanges) this.#asksForChanges += by
  }
}

const setsFor = <const Name extends string>(names: readonly Name[]): Readonly<Record<Name, SlotSet>> =>
  Object.fromEntries(names.map((name) => [name, createSlotSet()])) as Record<Name, SlotSet>

const digestKey = (digest: { exchange: string; timeframe: string; cadence: string }): string =>
  `${digest.exchange} ${digest.timeframe} ${digest.cadence}`
