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

/** Which of many filters let a signal through, without looking at each. Filters stand in numbered slots. */
export interface SignalIndex {
  put(slot: number, filter: SubscriptionFilter): void
  remove(slot: number): void
  filter(slot: number): SubscriptionFilter | undefined
  /** Whether the place of a signal's coin among those of its exchange matters to any filter. */
  readonly asksForRank: boolean
  /** Whether any filter asks for changes only. */
  readonly asksForChanges: boolean
  /**
   * Slots of the filters that a signal passes, but for `onlyChanges`, in no order.
   *
   * @param rank of the signal's coin; undefined where it has none, or does not matter
   */
  matching(signal: Signal, rank: number | undefined): number[]
}

/**
 * Types, exchanges and timeframes are sets of slots of one bit each, cut with one another word by word, so that
 * filters which list every one of them cost no more than others; coins, of which there are many, list their
 * slots. Thresholds are asked last, of what is left.
 */
export function createSignalIndex(): SignalIndex {
  const filters: (SubscriptionFilter | undefined)[] = []
  const byType = setsFor(SIGNAL_TYPES)
  const byExchange = setsFor(EXCHANGES)
  const byTimeframe = setsFor(TIMEFRAMES)
  const anyCoin = createSlotSet()
  /** At n: the filters that take the n largest coins, or more. */
  const byRank = Array.from({ length: TOP_MOST + 1 }, createSlotSet)
  const byCoin = new Map<string, Set<number>>()
  const byDigest = new Map<string, Set<number>>()
  let [asksForRank, asksForChanges] = [0, 0]

  const setsOf = (filter: SubscriptionFilter): SlotSet[] => [
    ...filter.events.map((type) => byType[type]),
    ...(filter.exchanges ?? EXCHANGES).map((exchange) => byExchange[exchange]),
    ...(filter.timeframes ?? TIMEFRAMES).map((timeframe) => byTimeframe[timeframe]),
    ...(filter.assets === null ? [anyCoin] : byRank.slice(1, topOf(filter) + 1)),
  ]

  function count(filter: SubscriptionFilter, by: 1 | -1): void {
    if (topOf(filter) > 0) asksForRank += by
    if (filter.onlyChanges) asksForChanges += by
  }

  function remove(slot: number): void {
    const filter = filters[slot]
    if (filter === undefined) return
    for (const set of setsOf(filter)) set.delete(slot)
    for (const [lists, key] of listsOf(filter)) {
      lists.get(key)?.delete(slot)
      if (lists.get(key)?.size === 0) lists.delete(key)
    }
    count(filter, -1)
    filters[slot] = undefined
  }

  const listsOf = (filter: SubscriptionFilter): (readonly [Map<string, Set<number>>, string])[] => [
    ...(filter.assets ?? [])
      .filter((asset) => !asset.startsWith('top:'))
      .map((coin) => [byCoin, coin] as const),
    ...(filter.digest === null ? [] : [[byDigest, digestKey(filter.digest)] as const]),
  ]

  return {
    put(slot, filter) {
      remove(slot)
      filters[slot] = filter
      for (const set of setsOf(filter)) set.add(slot)
      for (const [lists, key] of listsOf(filter)) {
        const list = lists.get(key)
        if (list === undefined) lists.set(key, new Set([slot]))
        else list.add(slot)
      }
      count(filter, 1)
    },
    remove,
    filter: (slot) => filters[slot],
    get asksForRank() {
      return asksForRank > 0
    },
    get asksForChanges() {
      return asksForChanges > 0
    },
    matching(signal, rank) {
      const found: number[] = []
      const ofType = byType[signal.type]
      if (signal.type === 'scan_digest') {
        for (const slot of byDigest.get(digestKey(signal.data)) ?? []) if (ofType.has(slot)) found.push(slot)
        return found
      }
      const ofTimeframe = byTimeframe[signal.timeframe]
      if (signal.type === 'model_notice') {
        for (const [index, word] of ofType.words.entries())
          eachBit(word & (ofTimeframe.words[index] ?? 0), index, (slot) => found.push(slot))
        return found
      }
      const ofExchange = byExchange[signal.exchange]
      const take = (slot: number): void => {
        const filter = filters[slot]
        if (filter !== undefined && passesThresholds(filter, signal)) found.push(slot)
      }
      const ranked = rank === undefined || rank > TOP_MOST ? undefined : byRank[rank]
      const [types, exchanges, timeframes] = [ofType.words, ofExchange.words, ofTimeframe.words]
      const [all, top] = [anyCoin.words, ranked?.words]
      const words = Math.min(types.length, exchanges.length, timeframes.length)
      for (let index = 0; index < words; index++) {
        const coins = (all[index] ?? 0) | (top?.[index] ?? 0)
        const word = coins & (types[index] ?? 0) & (exchanges[index] ?? 0) & (timeframes[index] ?? 0)
        if (word !== 0) eachBit(word, index, take)
      }
      for (const slot of byCoin.get(signal.data.coin) ?? []) {
        // Those were taken above.
        if (anyCoin.has(slot) || ranked?.has(slot) === true) continue
        if (ofType.has(slot) && ofExchange.has(slot) && ofTimeframe.has(slot)) take(slot)
      }
      return found
    },
  }
}

const setsFor = <const Name extends string>(names: readonly Name[]): Readonly<Record<Name, SlotSet>> =>
  Object.fromEntries(names.map((name) => [name, createSlotSet()])) as Record<Name, SlotSet>

const digestKey = (digest: { exchange: string; timeframe: string; cadence: string }): string =>
  `${digest.exchange} ${digest.timeframe} ${digest.cadence}`
