import { isoTime } from '../../../contracts/domain/iso-time.ts'
import { DAY_MS } from '../../../contracts/domain/timeframes.ts'
import { isServiceError, ServiceError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import type { Cache } from '../../runtime/cache/cache.ts'
import type { FactId } from '../../runtime/ids/fact-id.ts'

export interface SiteAllowanceOptions extends Pick<Clock, 'now'> {
  readonly cache: Pick<Cache, 'increment'>
  readonly idOf: FactId
  /** The site of an address; undefined for one that has no larger network to be counted with. */
  readonly siteOf: (address: string) => string | undefined
}

/**
 * Bounds what the callers without a key of one IPv6 site have together in a UTC day. Each of its networks has the free
 * allowance, and a site has 65,536 of them. Counted in the cache: while that is away nobody is refused for it.
 *
 * @throws ServiceError `quota_exhausted`
 */
export function createSiteAllowance(options: SiteAllowanceOptions): (address: string) => Promise<void> {
  const { cache, idOf, siteOf, now } = options
  return async (address) => {
    const site = siteOf(address)
    if (site === undefined) return
    const at = now()
    const day = Math.floor(at / DAY_MS)
    let count: number
    try {
      const key = `anonymous-site:${idOf('address', site)}:${day}`
      count = (await cache.increment(key, { ttlMs: DAY_MS })).count
    } catch (error) {
      if (isServiceError(error, 'dependency_unavailable')) return
      throw error
    }
    if (count <= LIMITS.anonymousCallsPerSite) return
    const resetsAt = (day + 1) * DAY_MS
    throw new ServiceError('quota_exhausted', {
      message: `All ${LIMITS.anonymousCallsPerSite} calls without a key of this UTC day were used from your site (${site})`,
      nextStep:
        'Sign in for a key, which is free and has an allowance of its own, or wait until `details.resets_at`.',
      details: {
        tier: 'free',
        exhausted: 'day',
        limit: LIMITS.anonymousCallsPerSite,
        per: 'site',
        resets_at: isoTime(resetsAt),
        retry_after_s: Math.ceil((resetsAt - at) / 1_000),
      },
    })
  }
}
