import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/** Public-looking, in no registry of special addresses, and yet answered by the machine below (Azure). */
const HOST_SERVICES_IPV4 = '168.63.129.16'
/** Credentials of the machine, in the range of private networks (AWS). */
const HOST_SERVICES_IPV6 = 'fd00:ec2::254'

/** All that has been given out for use on the internet (RFC 4291 §2.4, IANA's registry of IPv6 unicast). */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3')

/** Networks that local trials may reach. Link-local addresses are not among them: credentials are served there. */
const TRIAL_RANGES: readonly string[] = ['loopback', 'private', 'uniqueLocal']

/**
 * Whether an address is one of the public internet: of no special-purpose range, and no other form of an IPv4
 * address (mapped, compatible, 6to4, NAT64, Teredo), behind which a private one could hide.
 *
 * @param address as `net.isIP` takes it; anything else is not public
 * @example isPublicAddress('169.254.169.254') === false
 */
export function isPublicAddress(address: string): boolean {
  const parsed = parseAddress(address)
  if (parsed === undefined || parsed.range() !== 'unicast') return false
  if (parsed.kind() === 'ipv4') return parsed.toString() !== HOST_SERVICES_IPV4
  return (parsed as ipaddr.IPv6).match(GLOBAL_IPV6)
}

/** Whether a local trial may send to an address: public ones, this machine, and private networks. */
export function isTrialAddress(address: string): boolean {
  if (isPublicAddress(address)) return true
  const parsed = parseAddress(address)
  return (
    parsed !== undefined && TRIAL_RANGES.includes(parsed.range()) && parsed.toString() !== HOST_SERVICES_IPV6
  )
}

/** The library alone would take short, octal and hexadecimal forms too. */
const parseAddress = (address: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined =>
  isIP(address) === 0 || address.includes('%') ? undefined : ipaddr.parse(address)
