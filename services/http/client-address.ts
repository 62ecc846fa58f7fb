import { isIP, isIPv6 } from 'node:net'
import type { FastifyRequest } from 'fastify'
import ipaddr from 'ipaddr.js'

/** The proxies whose `X-Forwarded-For` is trusted: by their number before the service, or by their networks. */
export type TrustProxy = { readonly hops: number } | { readonly networks: readonly string[] }

/** The same as Fastify has it. */
export function trustedProxies(trust: TrustProxy | undefined) {
  if (trust === undefined) return false
  return 'hops' in trust ? (_address: string, hop: number) => hop < trust.hops : [...trust.networks]
}

/** The address of a caller in one spelling; that of the connection if the proxies name none, else `unknown`. */
export const addressOf = ({ ip, socket }: Pick<FastifyRequest, 'ip' | 'socket'>): string =>
  normaliseAddress(ip) ?? normaliseAddress(socket.remoteAddress) ?? 'unknown'

export const siteOf = (request: FastifyRequest): string => addressSite(addressOf(request))

/**
 * One spelling for every address: IPv4 also if it comes mapped into IPv6, IPv6 as eight groups without leading
 * zeros; without brackets, port and zone. Undefined for what is no address.
 *
 * @example normaliseAddress('[::FFFF:127.0.0.1]:8402') === '127.0.0.1'
 */
export function normaliseAddress(text: string | undefined): string | undefined {
  const trimmed = text?.trim() ?? ''
  const bracketed = /^\[([^\]]{2,64})\](?::\d{1,5})?$/.exec(trimmed)?.[1]
  const withPort = /^([\d.]{7,15}):\d{1,5}$/.exec(trimmed)?.[1]
  const [bare = ''] = (bracketed ?? withPort ?? trimmed).split('%')
  if (isIP(bare) !== 6) return isIP(bare) === 4 ? bare : undefined
  return ipaddr.process(bare).toNormalizedString()
}

/**
 * The unit that limits count as one caller: an IPv4 address, or the /64 network of an IPv6 address, since a caller
 * with one address of that network has them all.
 *
 * @example addressBlock('2001:db8:1:2:3:4:5:6') === '2001:db8:1:2::/64'
 */
export const addressBlock = (address: string): string =>
  isIPv6(address) ? `${address.split(':').slice(0, 4).join(':')}::/64` : address

/**
 * The largest block that one customer of a network usually has: an IPv4 address, or a /48 of IPv6 (RFC 6177), which
 * holds 65,536 of the networks that {@link addressBlock} tells apart.
 *
 * @example addressSite('2001:db8:1:2:3:4:5:6') === '2001:db8:1::/48'
 */
export const addressSite = (address: string): string =>
  isIPv6(address) ? `${address.split(':').slice(0, 3).join(':')}::/48` : address
