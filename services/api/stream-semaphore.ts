import { ServiceError } from '../../contracts/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { addressSite } from './client-address.ts'

/**
 * Room for long answers, so many at a time in this process and for each address, or IPv6 site. The last ones are for
 * addresses that hold none, so that a few that hold all they may do not keep everybody else out.
 */
export interface StreamSemaphore {
  /**
   * Takes a place until the answer is `given`, which may be called more than once.
   *
   * @param address of the caller; undefined for one that is not limited.
   * @throws ServiceError `rate_limited` when the address has all it may have, `too_many_streams` when all are taken.
   */
  take(address: string | undefined): { readonly given: () => void }
}

export interface StreamSemaphoreOptions {
  /** In the plural, for refusals: `live streams`. */
  readonly what: string
  readonly total: number
  readonly perAddress: number
}

/** @example const place = createStreamSemaphore({ what: 'replays', total: 50, perAddress: 4 }).take(address) */
export function createStreamSemaphore({ what, total, perAddress }: StreamSemaphoreOptions): StreamSemaphore {
  const byAddress = new Map<string, number>()
  const forAll = total - Math.floor(total / LIMITS.placesKeptShare)
  let taken = 0
  return {
    take(address) {
      if (address === undefined) return { given: () => undefined }
      const block = addressSite(address)
      const held = byAddress.get(block) ?? 0
      if (held >= perAddress) {
        throw new ServiceError('rate_limited', {
          message: `${held} ${what} of this address are open, which is as many as it may have at a time`,
          details: { limit: perAddress, per: 'address' },
        })
      }
      if (taken >= (held === 0 ? total : forAll)) {
        throw new ServiceError('too_many_streams', {
          message:
            taken >= total
              ? `${taken} ${what} are open, which is as many as this process serves`
              : `${taken} ${what} are open; the places that are left are for addresses that hold none`,
        })
      }
      taken += 1
      byAddress.set(block, held + 1)
      let isOpen = true
      return {
        given() {
          if (!isOpen) return
          isOpen = false
          taken -= 1
          const left = (byAddress.get(block) ?? 1) - 1
          if (left === 0) byAddress.delete(block)
          else byAddress.set(block, left)
        },
      }
    },
  }
}
