import { ServiceError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Clock } from '../async/clock.ts'
import { type Cache, checkCounter } from './cache.ts'
import { RecentMap } from './recent-map.ts'

/** The cache of a single process: the default. Past its bound it evicts the counter that was incremented longest ago. */
export function createMemoryCache({ now }: Pick<Clock, 'now'>): Cache {
  const counters = new RecentMap<string, { readonly count: number; readonly endsAt: number }>(
    LIMITS.cacheEntries,
    { now },
  )
  let closed = false
  return {
    async increment(key, { ttlMs }) {
      if (closed) throw new ServiceError('dependency_unavailable', { message: 'the cache is closed' })
      checkCounter(key, ttlMs)
      const before = counters.get(key)
      const count = (before?.count ?? 0) + 1
      const endsAt = before?.endsAt ?? now() + ttlMs
      counters.set(key, { count, endsAt }, endsAt - now())
      return { count, expiresInMs: endsAt - now() }
    },
    async health() {
      return { ok: !closed, adapter: 'memory', detail: closed ? 'closed' : `${counters.size} entries` }
    },
    async close() {
      closed = true
      counters.clear()
    },
  }
}
