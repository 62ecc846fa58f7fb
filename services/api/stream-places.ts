import { ServiceError } from '../../contracts/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { createPlaces, type PlacesOptions, type Taken } from '../platform/admission/places.ts'
import { addressSite } from './client-address.ts'

/** Room for long answers in this process, for each address, or IPv6 site, and in what other ways are counted. */
export interface StreamPlaces<By extends string> {
  /**
   * Takes a place until the answer is given.
   *
   * @throws ServiceError `rate_limited` when who asks has all it may have, `too_many_streams` when all are taken
   */
  take(by: Readonly<Record<By, string | undefined>>, lose?: () => void): StreamPlace
}

export type StreamPlace = Extract<Taken<string>, { give: () => void }>

/**
 * The last places are for callers that hold none, so that a few that hold all they may do not keep everybody else out.
 *
 * @param what in the plural, for refusals: `live streams`
 * @example const { give } = createStreamPlaces('replays', { total: 50, each: { address: 4 } }).take({ address })
 */
export function createStreamPlaces<By extends string>(
  what: string,
  options: Omit<PlacesOptions<By | 'address'>, 'keptShare'>,
): StreamPlaces<By | 'address'> {
  const { total, each } = options
  const places = createPlaces({ ...options, keptShare: LIMITS.placesKeptShare })
  return {
    take(by, lose) {
      const site = by.address === undefined ? undefined : addressSite(by.address)
      const taken = places.take({ ...by, address: site }, lose)
      if (taken.give !== undefined) return taken
      const { full, held } = taken
      if (full === 'all') {
        throw new ServiceError('too_many_streams', {
          message:
            held >= total
              ? `${held} ${what} are open, which is as many as this process serves`
              : `${held} ${what} are open; the places that are left are for callers that hold none`,
        })
      }
      throw new ServiceError('rate_limited', {
        message: `${held} ${what} of this ${full} are open, which is as many as it may have at a time`,
        details: { limit: each[full], per: full },
      })
    },
  }
}
