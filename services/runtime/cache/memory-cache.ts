import { ServiceError } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Clock } from '../async/clock.ts'
import type { Cache } from './cache.ts'
import { checkIncrement, checkKey, checkTtl, checkValue } from './cache-arguments.ts'
import { createExpiringEntries } from './expiring-entries.ts'

/** Memory that all entries may take together. */
const MEMORY_CACHE_BYTES = 134_217_728

/** Keep values, counters and locks of the same key apart. */
const VALUE = 'v:'
const COUNTER = 'c:'
const LOCK = 'l:'

export interface MemoryCacheOptions extends Pick<Clock, 'now'> {
  readonly maxEntries?: number
  readonly maxBytes?: number
}

/**
 * The cache of a single process: the default. Past its bounds it forgets what was not used for longest.
 *
 * @example const cache = createMemoryCache({ now: Date.now })
 */
export function createMemoryCache(options: MemoryCacheOptions): Cache {
  const { now, maxEntries = LIMITS.cacheEntries, maxBytes = MEMORY_CACHE_BYTES } = options
  const entries = createExpiringEntries({ now, maxEntries, maxBytes })
  let closed = false

  function checkOpen(): void {
    if (closed) throw new ServiceError('cache_unavailable', { message: 'the cache is closed' })
  }

  return {
    async get(key) {
      checkOpen()
      checkKey('key', key)
      return entries.get(VALUE + key)?.value
    },

    async set(key, value, ttlMs) {
      checkOpen()
      checkKey('key', key)
      checkValue(key, value)
      checkTtl(ttlMs)
      entries.set(VALUE + key, value, now() + ttlMs)
    },

    async delete(key) {
      checkOpen()
      checkKey('key', key)
      entries.delete(VALUE + key)
      entries.delete(COUNTER + key)
    },

    async increment(key, { ttlMs, by = 1 }) {
      checkOpen()
      checkKey('key', key)
      checkTtl(ttlMs)
      checkIncrement(by)
      const known = entries.get(COUNTER + key)
      const count = Number(known?.value ?? 0) + by
      const expiresAtMs = known?.expiresAtMs ?? now() + ttlMs
      entries.set(COUNTER + key, `${count}`, expiresAtMs)
      return { count, expiresInMs: expiresAtMs - now() }
    },

    async acquireLock(name, { ttlMs, token }) {
      checkOpen()
      checkKey('lock name', name)
      checkKey('token', token)
      checkTtl(ttlMs)
      const holder = entries.get(LOCK + name)?.value
      if (holder !== undefined && holder !== token) return false
      entries.set(LOCK + name, token, now() + ttlMs)
      return true
    },

    async releaseLock(name, token) {
      checkOpen()
      checkKey('lock name', name)
      checkKey('token', token)
      if (entries.get(LOCK + name)?.value !== token) return false
      entries.delete(LOCK + name)
      return true
    },

    async health() {
      const detail = closed ? 'closed' : `${entries.count()} entries`
      return { ok: !closed, adapter: 'memory', detail }
    },

    async close() {
      closed = true
      entries.clear()
    },
  }
}
