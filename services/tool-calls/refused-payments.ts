import { ServiceError } from '../../contracts/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { RecentMap } from '../runtime/cache/recent-map.ts'

interface Refused {
  count: number
  /** When counting begins anew, in milliseconds of the clock. */
  readonly until: number
}

/**
 * Counts the payments of an address that were refused. A payment that is signed and worth nothing costs its sender
 * nothing, and here a recovery and questions to a node: an address has few of them.
 *
 * @param clock milliseconds that only grow
 */
export function createRefusedPayments(clock: () => number) {
  /** By address, those that began longest ago first. */
  const refused = new RecentMap<string, Refused>(LIMITS.paymentsRefusedAddresses, {
    ttlMs: LIMITS.paymentsRefusedMs,
    now: clock,
  })

  return {
    /** @throws ServiceError `rate_limited` for an address that has used up its refusals */
    require(address: string): void {
      const found = refused.get(address)
      if (found === undefined || found.count < LIMITS.paymentsRefusedPerAddress) return
      const seconds = Math.max(1, Math.ceil((found.until - clock()) / 1_000))
      throw new ServiceError('rate_limited', {
        message: `${found.count} payments from your address were refused; the next is looked at in ${seconds} s. Nothing was charged.`,
        details: { limit: LIMITS.paymentsRefusedPerAddress, retry_after_s: seconds },
      })
    },
    note(address: string): void {
      const found = refused.get(address)
      if (found !== undefined) {
        found.count += 1
        return
      }
      refused.set(address, { count: 1, until: clock() + LIMITS.paymentsRefusedMs })
    },
  }
}
