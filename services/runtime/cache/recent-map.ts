/** Entries checked for having expired with every entry that is set. */
const SWEPT_PER_SET = 4

export interface RecentMapOptions<Key, Value> {
  /** How long an entry lives where `set` names no time of its own; for ever where this is left out too. */
  readonly ttlMs?: number
  /** The clock of the times to live, in milliseconds; needed where an entry has one. */
  readonly now?: () => number
  readonly bytes?: { readonly most: number; readonly of: (key: Key, value: Value) => number }
}

interface Entry<Value> {
  readonly value: Value
  readonly expiresAt: number
}

/**
 * A bounded map. Setting an entry again renews it; past a bound the entry that was set longest ago is evicted. Entries that
 * expired are removed when they are read, and by a sweep that goes a few entries further with every `set`.
 */
export class RecentMap<Key, Value> {
  readonly #entries = new Map<Key, Entry<Value>>()
  readonly #most: number
  readonly #options: RecentMapOptions<Key, Value>
  #bytes = 0
  // Both go on where they stopped: a new iterator passes over every slot that a deleted entry left at the front. One that
  // stands still holds each table that the map has had since: it is given up after as many sets as there are entries.
  #oldest: MapIterator<Key> | undefined
  #swept: MapIterator<[Key, Entry<Value>]> | undefined
  #setsSinceEviction = 0

  constructor(most: number, options: RecentMapOptions<Key, Value> = {}) {
    this.#most = most
    this.#options = options
  }

  /** Expired entries count until they are removed. */
  get size(): number {
    return this.#entries.size
  }

  get(key: Key): Value | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    if (!this.#hasExpired(entry)) return entry.value
    this.delete(key)
    return undefined
  }

  has(key: Key): boolean {
    return this.get(key) !== undefined
  }

  set(key: Key, value: Value, ttlMs = this.#options.ttlMs): this {
    const { now, bytes } = this.#options
    this.delete(key)
    const expiresAt = ttlMs === undefined || now === undefined ? Number.POSITIVE_INFINITY : now() + ttlMs
    this.#entries.set(key, { value, expiresAt })
    if (bytes !== undefined) this.#bytes += bytes.of(key, value)
    if (now !== undefined) this.#sweep()
    this.#evict()
    return this
  }

  delete(key: Key): boolean {
    const { bytes } = this.#options
    const entry = bytes && this.#entries.get(key)
    if (entry !== undefined) this.#bytes -= bytes?.of(key, entry.value) ?? 0
    return this.#entries.delete(key)
  }

  clear(): void {
    this.#entries.clear()
    this.#bytes = 0
  }

  *[Symbol.iterator](): Generator<readonly [Key, Value], void, void> {
    for (const [key, entry] of this.#entries) if (!this.#hasExpired(entry)) yield [key, entry.value]
  }

  #hasExpired({ expiresAt }: Entry<Value>): boolean {
    return expiresAt !== Number.POSITIVE_INFINITY && expiresAt <= (this.#options.now?.() ?? 0)
  }

  #sweep(): void {
    for (let swept = 0; swept < SWEPT_PER_SET; swept++) {
      this.#swept ??= this.#entries.entries()
      const next = this.#swept.next()
      if (next.done === true) this.#swept = undefined
      else if (this.#hasExpired(next.value[1])) this.delete(next.value[0])
    }
  }

  #evict(): void {
    const mostBytes = this.#options.bytes?.most ?? Number.POSITIVE_INFINITY
    while (this.#entries.size > this.#most || this.#bytes > mostBytes) {
      this.#setsSinceEviction = 0
      this.#oldest ??= this.#entries.keys()
      const next = this.#oldest.next()
      if (next.done === true) {
        // Only sizes that changed since they were counted lead here: it ends instead of searching for ever.
        this.#oldest = undefined
        return
      }
      this.delete(next.value)
    }
    if (this.#setsSinceEviction++ > this.#entries.size) this.#oldest = undefined
  }
}
