/** Longest time anything is kept. */
export const CACHE_TTL_MS = 2_678_400_000

export interface Count {
  /** The counter, with this increment. */
  readonly count: number
  /** Milliseconds until it starts again from nothing. */
  readonly expiresInMs: number
}

export interface CacheHealth {
  readonly ok: boolean
  /** `memory` or `redis`. */
  readonly adapter: string
  readonly detail: string
  /** Version of the server, as it says itself; undefined too where its user may not ask. */
  readonly version?: string | undefined
}

/**
 * For what may be lost at any time: rate limits, hot answers, short locks. Money and quota never live here.
 * Two adapters (memory, Redis) pass one contract suite (`cache.contract.ts`), which is the full statement of
 * what holds.
 *
 * - Values, counters and locks are apart: the same key may name one of each.
 * - Times to live are whole milliseconds from 1 to `CACHE_TTL_MS`; what is past its time is gone.
 * - Full, or restarted, a cache forgets. A reader that finds nothing has to know what to do.
 * - A lock saves double work between processes; it is no proof that nobody else does the same. It may be
 *   forgotten before its time, so what must happen once is decided by an append to the event log.
 * - Nothing waits for a cache that is away: operations reject quickly, and work again when it is back.
 *
 * Errors are {@link ServiceError}s: `cache_unavailable`, `payload_too_large` past `LIMITS.cacheValueBytes`,
 * and `internal_error` for a key, time or token that is not one, which is a fault of the calling code.
 *
 * @example
 * const { count, expiresInMs } = await cache.increment(`rate:${address}`, { ttlMs: 1_000 })
 * if (count > 20) refuse({ retryAfterMs: expiresInMs })
 *
 * @example
 * if (await cache.acquireLock('rank-universe', { ttlMs: 30_000, token })) {
 *   try { await rankUniverse() } finally { await cache.releaseLock('rank-universe', token) }
 * }
 */
export interface Cache {
  /** Undefined where there is none. */
  get(key: string): Promise<string | undefined>
  /** Replaces what was there, and its time. */
  set(key: string, value: string, ttlMs: number): Promise<void>
  /** Forgets the value and the counter of a key. */
  delete(key: string): Promise<void>
  /**
   * Counts in a fixed window: it begins with the first increment, lasts `ttlMs`, and later increments do not
   * prolong it. Atomic, also between processes. `by` is a whole number from 1, by default 1.
   */
  increment(key: string, options: { readonly ttlMs: number; readonly by?: number }): Promise<Count>
  /** Whether the token holds the lock now. Acquiring it again with the same token prolongs it. */
  acquireLock(name: string, options: { readonly ttlMs: number; readonly token: string }): Promise<boolean>
  /** Whether the token held the lock, which is free now; a lock of another token stays. */
  releaseLock(name: string, token: string): Promise<boolean>
  health(): Promise<CacheHealth>
  /** Refuses everything from then on. Safe to call twice. */
  close(): Promise<void>
}
