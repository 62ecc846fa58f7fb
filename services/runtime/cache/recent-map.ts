import { LRUCache } from 'lru-cache'

export interface RecentMapOptions<Key, Value> {
  /** How long an entry lives where `set` names no time of its own; for ever where this is left out too. */
  readonly ttlMs?: number
  /** The clock of the times to live, in milliseconds; needed where an entry has one. */
  readonly now?: () => number
  readonly bytes?: { readonly most: number; readonly of: (key: Key, value: Value) => number }
}

/**
 * A bounded map over `lru-cache`. Past a bound, the entry that was used longest ago is evicted; one that has expired is
 * removed when it is read.
 *
 * @param most entries, at least one
 */
export class RecentMap<Key extends {}, Value extends {}> {
  readonly #entries: LRUCache<Key, Value>
  readonly #ttlMs: number | undefined

  constructor(most: number, { ttlMs, now, bytes }: RecentMapOptions<Key, Value> = {}) {
    this.#ttlMs = ttlMs
    // An entry of few bytes counts as the share that as many entries as there may be have. By sizes alone, nothing is
    // allocated before there are entries.
    const mostBytes = bytes?.most ?? most
    const least = Math.ceil(mostBytes / most) || 1
    this.#entries = new LRUCache({
      maxSize: mostBytes,
      sizeCalculation: (value, key) => Math.max(bytes?.of(key, value) ?? 1, least),
      ttlResolution: 0,
      // The library takes a beginning at 0 for none.
      ...(now && { perf: { now: () => now() + 1 } }),
    })
  }

  /** Entries that have expired count until they are read. */
  get size(): number {
    return this.#entries.size
  }

  get(key: Key): Value | undefined {
    return this.#entries.get(key)
  }

  has(key: Key): boolean {
    return this.#entries.has(key)
  }

  set(key: Key, value: Value, ttlMs = this.#ttlMs): this {
    // It keeps an entry through its last millisecond, and here an entry ends with it.
    this.#entries.set(key, value, ttlMs === undefined ? {} : { ttl: ttlMs - 0.5 })
    return this
  }

  delete(key: Key): boolean {
    return this.#entries.delete(key)
  }

  clear(): void {
    this.#entries.clear()
  }

  /** The entry that was used last comes first. */
  [Symbol.iterator](): Iterator<[Key, Value]> {
    return this.#entries.entries()
  }
}
