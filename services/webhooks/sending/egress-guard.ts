import { isIP } from 'node:net'
import { isServiceError, reasonOf } from '../../../contracts/errors/errors.ts'
import { RecentMap } from '../../runtime/cache/recent-map.ts'
import {
  type CheckedUrl,
  checkUrl,
  type EgressPolicy,
  isPublicAddress,
  isTrialAddress,
  urlRefusedError,
} from './check-url.ts'
import { createNat64 } from './nat64.ts'
import { createDnsResolver, type NameAddress, type ResolveName, resolveAsSystem } from './resolve-name.ts'

const literal = (address: string): NameAddress => ({ address, family: isIP(address) === 6 ? 6 : 4 })

/** Addresses that stay taken apart; the longest fill some 40 MB. */
const CHECKED_KEPT = 10_000

export interface EgressGuardOptions extends EgressPolicy {
  /** By default the servers of this machine are asked; local trials resolve as its other programs do. */
  readonly resolve?: ResolveName
  /** Whether the operator has nothing sent to a name or an address; by default to all. It may change at any time. */
  readonly isBlocked?: (host: string) => boolean
  /** Which addresses may be connected to; by default public ones, and in local trials private ones too. */
  readonly admits?: (address: string) => boolean
}

export type EgressGuard = ReturnType<typeof createEgressGuard>

/**
 * Keeps webhooks out of where only this service can reach: its own machine, its networks, and what its cloud serves
 * to it. An address is checked when it is given and at every connection, since names may mean another place later.
 *
 * @example
 * const guard = createEgressGuard({ allowPrivate: false, ownHosts: ['signals.example.com'] })
 * await guard.checkReachable('https://bot.example.org/hook')
 */
export function createEgressGuard(options: EgressGuardOptions) {
  const { allowPrivate, resolve = allowPrivate ? resolveAsSystem : createDnsResolver() } = options
  const { admits: isReachable = allowPrivate ? isTrialAddress : isPublicAddress } = options
  const { isBlocked = () => false } = options
  /** Taking an address apart costs a tenth of a delivery; what is in it says the same each time. */
  const takenApart = new RecentMap<string, CheckedUrl>(CHECKED_KEPT)
  const nat64 = createNat64(resolve)
  /** Behind NAT64 an address stands for the one that is embedded in it, which is judged. */
  const isPublic = (address: string): boolean => isReachable(nat64.unwrap(address))
  const isRefused = (address: string): boolean => isBlocked(address) || isBlocked(nat64.unwrap(address))
  const admits = (address: string): boolean => isPublic(address) && !isRefused(address)

  function check(url: string): CheckedUrl {
    const known = takenApart.get(url) ?? checkUrl(url, options)
    takenApart.set(url, known)
    const { hostname } = known
    if (isBlocked(hostname)) {
      throw urlRefusedError(`The operator of this service has nothing sent to ${hostname}.`, options)
    }
    return known
  }

  async function addressesOf(hostname: string): Promise<readonly NameAddress[]> {
    const found = isIP(hostname) === 0 ? await resolve(hostname) : [literal(hostname)]
    if (!allowPrivate && found.some(({ family }) => family === 6)) await nat64.learn()
    if (found.length === 0) throw new Error(`${hostname} has no address`)
    // One that is public does not excuse another: which of them is taken is not ours to choose. They are not named,
    // because who asks could read our view of the network from the refusals.
    if (!found.every(({ address }) => isPublic(address))) {
      throw urlRefusedError(
        isIP(hostname) === 0
          ? `The name ${hostname} stands for an address that is not a public one.`
          : `The address ${hostname} is not a public one.`,
        options,
      )
    }
    if (found.some(({ address }) => isRefused(address))) {
      throw urlRefusedError(
        `The operator of this service has nothing sent to where ${hostname} points.`,
        options,
      )
    }
    return found
  }

  return {
    /** @throws ServiceError `url_refused` */
    check,
    /** Whether an address may be connected to. */
    admits,
    /**
     * The addresses of a name, of which every one may be connected to; one is at least.
     *
     * @throws ServiceError `url_refused` where any of them may not; an `Error` where the name cannot be resolved.
     */
    addressesOf,
    /**
     * Checks as {@link check} does, and that the name exists and all its addresses may be sent to: for the moment an
     * address is given.
     *
     * @throws ServiceError `url_refused`
     */
    async checkReachable(url: string) {
      const checked = check(url)
      await addressesOf(checked.hostname).catch((error: unknown) => {
        throw isServiceError(error)
          ? error
          : urlRefusedError(`The name ${checked.hostname} cannot be resolved: ${reasonOf(error)}`, options)
      })
      return checked
    },
  }
}
