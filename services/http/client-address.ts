import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net'
import type { FastifyRequest } from 'fastify'
import { LIMITS } from '../../contracts/limits.ts'

/** The proxies whose `X-Forwarded-For` is trusted: by their number before the service, or by their networks. */
export type TrustProxy = { readonly hops: number } | { readonly networks: readonly string[] }

/** The options of routes that tell callers apart. */
export interface CallerOptions {
  /** The address of the caller, in one spelling. */
  readonly addressOf: (request: FastifyRequest) => string
}

/** The origin of a request, as its connection and its headers give it. */
export interface AddressEvidence {
  /** The other end of the connection; undefined for one that is gone, or that has no address. */
  readonly remoteAddress: string | undefined
  /** The header as it came, several joined by commas. */
  readonly forwardedFor: string | undefined
}

/** Answers the address of the caller, in one spelling; `unknown` where there is none. */
export type ClientAddress = (evidence: AddressEvidence) => string

/** One key for all callers without an address. */
export const UNKNOWN_ADDRESS = 'unknown'

/**
 * The address of the caller. Every proxy appends the address it was called from, so the header is read from its
 * end, and only as far as the proxies that wrote there are trusted: what stands further left is what a caller
 * claims.
 *
 * @param trust undefined believes nobody: the address is that of the connection.
 * @example
 * const addressOf = createClientAddress({ hops: 1 })
 * addressOf({ remoteAddress: '10.0.0.7', forwardedFor: '6.6.6.6, 203.0.113.9' }) // '203.0.113.9'
 */
export function createClientAddress(trust: TrustProxy | undefined): ClientAddress {
  const isTrusted = trust === undefined ? () => false : trusts(trust)
  return ({ remoteAddress = '', forwardedFor }) => {
    let address = normaliseAddress(remoteAddress) ?? UNKNOWN_ADDRESS
    if (trust === undefined || forwardedFor === undefined) return address
    const claims = forwardedFor.split(',').slice(-LIMITS.proxyHops).toReversed()
    for (const [passed, claim] of claims.entries()) {
      if (!isTrusted(address, passed)) return address
      const before = normaliseAddress(claim)
      // A proxy that says nothing readable is as far as it can be told.
      if (before === undefined) return address
      address = before
    }
    return address
  }
}

/** Whether connections from an address come from a proxy that is trusted, and so for many callers. */
export function isProxyOf(trust: TrustProxy | undefined): (address: string) => boolean {
  if (trust === undefined) return () => false
  const isTrusted = trusts(trust)
  return (address) => isTrusted(address, 0)
}

/** Whether the proxy at an address, so many proxies away from us, is believed about who called it. */
function trusts(trust: TrustProxy): (address: string, passed: number) => boolean {
  if ('hops' in trust) return (_address, passed) => passed < trust.hops
  const list = new BlockList()
  for (const network of trust.networks) {
    const [address = '', prefix] = network.split('/')
    const family = isIPv6(address) ? 'ipv6' : 'ipv4'
    if (prefix === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(prefix), family)
  }
  return (address) => isIP(address) !== 0 && list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')
}

/**
 * One spelling for every address: IPv4 also where it comes mapped into IPv6, IPv6 as eight groups without leading
 * zeros; without brackets, port and zone. Undefined for what is no address.
 *
 * @example normaliseAddress('[::FFFF:127.0.0.1]:8402') === '127.0.0.1'
 */
export function normaliseAddress(text: string): string | undefined {
  const trimmed = text.trim()
  const bracketed = /^\[([^\]]{2,64})\](?::\d{1,5})?$/.exec(trimmed)?.[1]
  const withPort = /^([\d.]{7,15}):\d{1,5}$/.exec(trimmed)?.[1]
  const [bare = ''] = (bracketed ?? withPort ?? trimmed).split('%')
  if (isIPv4(bare)) return bare
  if (!isIPv6(bare)) return undefined
  const groups = groupsOf(bare)
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xff_ff
  if (!isMapped) return groups.map((group) => group.toString(16)).join(':')
  const [high = 0, low = 0] = groups.slice(6)
  return [high >> 8, high & 255, low >> 8, low & 255].join('.')
}

/** The eight groups of an IPv6 address that is one (RFC 4291 §2.2). */
function groupsOf(address: string): number[] {
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address)
  const [, before = '', a = 0, b = 0, c = 0, d = 0] = dotted ?? []
  const pair = (first: unknown, second: unknown) => ((Number(first) << 8) | Number(second)).toString(16)
  const plain = dotted === null ? address : `${before}${pair(a, b)}:${pair(c, d)}`
  const [left = '', right] = plain.split('::')
  const numbers = (part: string): number[] =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16))
  const [head, tail] = [numbers(left), numbers(right ?? '')]
  return right === undefined
    ? head
    : [...head, ...Array<number>(8 - head.length - tail.length).fill(0), ...tail]
}

/**
 * The unit that limits count as one caller: an IPv4 address, or the /64 network of an IPv6 address, since a caller
 * with one address of that network has them all.
 *
 * @param address as {@link createClientAddress} answers it.
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
