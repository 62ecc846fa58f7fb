import { isServiceError, reasonOf } from '../../../contracts/errors.ts'
import { type CheckedUrl, checkUrl, type EgressPolicy, refusal } from './check-url.ts'
import { isPublicAddress, isTrialAddress } from './public-address.ts'
import { createDnsResolver, type NameAddress, type ResolveName, resolveAsSystem } from './resolve-name.ts'

export interface EgressGuardOptions extends EgressPolicy {
  /** By default the servers of this machine are asked; local trials resolve as its other programs do. */
  readonly resolve?: ResolveName
  /** Whether the operator has nothing sent to a name or an address; by default to all. It may change at any time. */
  readonly isBlocked?: (host: string) => boolean
  /** Which addresses may be connected to; by default public ones, and in local trials private ones too. */
  readonly admits?: (address: string) => boolean
}

/**
 * Keeps webhooks out of where only this service can reach: its own machine, its networks, and what its cloud serves
 * to it. An address is checked when it is given and at every connection, since names may mean another place later.
 */
export interface EgressGuard {
  /** @throws ServiceError `url_refused` */
  check(url: string): CheckedUrl
  /**
   * What {@link check} does, and that the name exists and all it stands for may be sent to: for the moment an
   * address is given.
   *
   * @throws ServiceError `url_refused`
   */
  checkReachable(url: string): Promise<CheckedUrl>
  /**
   * The addresses of a name, of which every one may be connected to; one is at least.
   *
   * @throws ServiceError `url_refused` where any of them may not; an `Error` where the name cannot be resolved.
   */
  addressesOf(hostname: string): Promise<readonly NameAddress[]>
  /** Whether an address may be connected to. */
  admits(address: string): boolean
  /**
   * Whether the operator has nothing sent to a name or an address now; what was checked before may be blocked since.
   *
   * @throws ServiceError `url_refused`
   */
  requireAllowed(host: string): void
}

/**
 * @example
 * const guard = createEgressGuard({ allowPrivate: false, ownHosts: ['signals.example.com'] })
 * await guard.checkReachable('https://bot.example.org/hook')
 */
export function createEgressGuard(options: EgressGuardOptions): EgressGuard {
  const { allowPrivate, resolve = allowPrivate ? resolveAsSystem : createDnsResolver() } = options
  const { admits: isReachable = allowPrivate ? isTrialAddress : isPublicAddress } = options
  const { isBlocked = () => false } = options
  const admits = (address: string): boolean => isReachable(address) && !isBlocked(address)

  function requireAllowed(host: string): void {
    if (isBlocked(host)) throw refusal(`The operator of this service has nothing sent to ${host}.`)
  }

  function check(url: string): CheckedUrl {
    const checked = checkUrl(url, options)
    requireAllowed(checked.hostname)
    return checked
  }

  async function addressesOf(hostname: string): Promise<readonly NameAddress[]> {
    const found = await resolve(hostname)
    if (found.length === 0) throw new Error(`${hostname} has no address`)
    // One that is public does not excuse another: which of them is taken is not ours to choose. They are not named,
    // because who asks could read our view of the network from the refusals.
    if (!found.every(({ address }) => isReachable(address))) {
      throw refusal(`The name ${hostname} stands for an address that is not a public one.`)
    }
    if (found.some(({ address }) => isBlocked(address))) {
      throw refusal(`The operator of this service has nothing sent to where ${hostname} points.`)
    }
    return found
  }

  return {
    check,
    admits,
    requireAllowed,
    addressesOf,
    async checkReachable(url) {
      const checked = check(url)
      if (checked.isLiteral) return checked
      await addressesOf(checked.hostname).catch((error: unknown) => {
        throw isServiceError(error)
          ? error
          : refusal(`The name ${checked.hostname} cannot be resolved: ${reasonOf(error)}`)
      })
      return checked
    },
  }
}
