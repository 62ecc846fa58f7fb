import { ServiceError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'

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
 * Counters that may be lost at any time: rate limits. Money and quota never live here. Two adapters (memory, Redis) pass
 * one contract suite (`cache.contract.ts`). Full, or restarted, a cache forgets; while it is away, operations reject at
 * once with `dependency_unavailable`. A key or time that is none is a fault of the calling code: `internal_error`.
 */
export interface Cache {
  /** Counts in a window that begins with the first increment and that later ones do not prolong. Atomic, also between processes. */
  increment(key: string, options: { readonly ttlMs: number }): Promise<Count>
  /** The connection, for limiters that count in it by themselves, and the beginning of their keys; none in memory. */
  readonly redis?: { readonly client: unknown; readonly prefix: string } | undefined
  health(): Promise<CacheHealth>
  /** Refuses everything from then on. Safe to call twice. */
  close(): Promise<void>
}

/** Text without control characters. */
const PLAIN_TEXT = /^[^\p{Cc}\p{Cs}]+$/u

/** @throws ServiceError `internal_error` unless a counter can have this key and this time to live */
export function checkCounter(key: string, ttlMs: number): void {
  if (key.length > LIMITS.cacheKeyCharacters || !PLAIN_TEXT.test(key)) {
    throw argumentError(
      `the cache key ${JSON.stringify(key.slice(0, 80))} is not 1 to ${LIMITS.cacheKeyCharacters} characters of plain text`,
    )
  }
  if (!(Number.isInteger(ttlMs) && ttlMs >= 1 && ttlMs <= CACHE_TTL_MS)) {
    throw argumentError(
      `the time to live ${ttlMs} is not a whole number of milliseconds from 1 to ${CACHE_TTL_MS}`,
    )
  }
}

const argumentError = (message: string): ServiceError => new ServiceError('internal_error', { message })
