import { ServiceError } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Clock } from '../async/clock.ts'
import type { Cache } from './cache.ts'
import { checkIncrement, checkKey, checkTtl, checkValue } from './cache-arguments.ts'
import { RecentMap } from './recent-map.ts'

/** Memory that all entries may take together. */
const MEMORY_CACHE_BYTES = 134_217_728

/** Keep values, counters and locks of the same key apart. */
const VALUE = 'v:'
const COUNTER = 'c:'
const LOCK = 'l:'

/** Costs of an entry beyond its text: the entry, and its slots in the map. */
const ENTRY_OVERHEAD_BYTES = 160

interface Entry {
  readonly text: string
  readonly expiresAtMs: number
}

/** Two bytes a character, which is the most that text takes. */
const bytesOf = (key: string, { text }: Entry): number =>
  2 * (key.length + text.length) + ENTRY_OVERHEAD_BYTES

export interface MemoryCacheOptions extends Pick<Clock, 'now'> {
  readonly maxEntries?: number
  readonly maxBytes?: number
}

/**
 * The cache of a single process: the default. Past its bounds it evicts the least recently used entry.
 *
 * @example const cache = createMemoryCache({ now: Date.now })
 */
export function createMemoryCache(options: MemoryCacheOptions): Cache {
  const { now, maxEntries = LIMITS.cacheEntries, maxBytes = MEMORY_CACHE_BYTES } = options
  const entries = new RecentMap<string, Entry>(maxEntries, { now, bytes: { most: maxBytes, of: bytesOf } })
  let closed = false

  const put = (key: string, entry: Entry): unknown => entries.set(key, entry, entry.expiresAtMs - now())

  function checkOpen(): void {
    if (closed) throw new ServiceError('cache_unavailable', { message: 'the cache is closed' })
  }

  return {
    async get(key) {
      checkOpen()
      checkKey('key', key)
      const entry = entries.get(VALUE + key)
      // Counts as a use.
      if (entry !== undefined) put(VALUE + key, entry)
      return entry?.text
    },

    async set(key, value, ttlMs) {
      checkOpen()
      checkKey('key', key)
      checkValue(key, value)
      checkTtl(ttlMs)
      put(VALUE + key, { text: value, expiresAtMs: now() + ttlMs })
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
      const before = entries.get(COUNTER + key)
      const count = Number(before?.text ?? 0) + by
      const expiresAtMs = before?.expiresAtMs ?? now() + ttlMs
      put(COUNTER + key, { text: `${count}`, expiresAtMs })
      return { count, expiresInMs: expiresAtMs - now() }
    },

    async acquireLock(name, { ttlMs, token }) {
      checkOpen()
      checkKey('lock name', name)
      checkKey('token', token)
      checkTtl(ttlMs)
      const holder = entries.get(LOCK + name)?.text
      if (holder !== undefined && holder !== token) return false
      put(LOCK + name, { text: token, expiresAtMs: now() + ttlMs })
      return true
    },

    async releaseLock(name, token) {
      checkOpen()
      checkKey('lock name', name)
      checkKey('token', token)
      if (entries.get(LOCK + name)?.text !== token) return false
      entries.delete(LOCK + name)
      return true
    },

    async health() {
      const detail = closed ? 'closed' : `${entries.size} entries`
      return { ok: !closed, adapter: 'memory', detail }
    },

    async close() {
      closed = true
      entries.clear()
    },
  }
}
