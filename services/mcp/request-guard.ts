import { isIP, isIPv6 } from 'node:net'

/** Which requests may come in by the names they use: what keeps web pages of others out. */
export interface RequestGuard {
  /** Names the service is reached by, in lower case and without a port; IPv6 addresses in brackets. */
  readonly hosts: readonly string[]
  /** Any address counts as a name: a page can bind its own name to this service, not an address. */
  readonly admitsAddresses: boolean
  /** Origins of the pages, besides the service's own, whose scripts may call. */
  readonly origins: readonly string[]
}

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]']
const WILDCARDS = ['0.0.0.0', '[::]']

/**
 * The guard of a server that listens on `host` and is known as `publicUrl`.
 *
 * @example requestGuard({ host: '127.0.0.1', publicUrl: 'https://signals.example', origins: [] }).hosts
 *   // ['127.0.0.1', 'localhost', '[::1]', 'signals.example']
 */
export function requestGuard(options: {
  readonly host: string
  readonly publicUrl?: string | undefined
  readonly origins: readonly string[]
}): RequestGuard {
  const host = isIPv6(options.host) ? `[${options.host}]` : options.host.toLowerCase()
  const isWildcard = WILDCARDS.includes(host)
  const names = [host]
  if (isWildcard || LOOPBACK.includes(host) || host.startsWith('127.')) names.push(...LOOPBACK)
  if (options.publicUrl !== undefined) names.push(new URL(options.publicUrl).hostname)
  return {
    hosts: [...new Set(names)].filter((name) => !WILDCARDS.includes(name)),
    admitsAddresses: isWildcard,
    origins: options.origins,
  }
}

/**
 * Why a request is not let in; undefined where it is. Without these two checks a page that a browser shows
 * could have its own name resolve to this service and read what it answers.
 *
 * @param host the `Host` header.
 * @param origin the `Origin` header; programs send none.
 */
export function refusalOf(
  guard: RequestGuard,
  host: string | undefined,
  origin: string | undefined,
): string | undefined {
  const name = host === undefined ? undefined : hostName(host.toLowerCase())
  if (name === undefined || !(guard.hosts.includes(name) || (guard.admitsAddresses && isAddress(name)))) {
    return `Forbidden: this service is not called ${shown(host)}; set PUBLIC_URL to the address it is reached by`
  }
  if (origin === undefined || isSameHost(origin, host) || guard.origins.includes(origin)) return undefined
  return `Forbidden: pages of the origin ${shown(origin)} may not call this service`
}

/** The name in a `Host` header, without the port (RFC 9110 §7.2); undefined where it is none. */
function hostName(host: string): string | undefined {
  return /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/.exec(host)?.[1]
}

const isAddress = (name: string): boolean => isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0

const isSameHost = (origin: string, host: string | undefined): boolean =>
  host !== undefined && /^https?:\/\/(.+)$/.exec(origin.toLowerCase())?.[1] === host.toLowerCase()

const shown = (text: string | undefined): string =>
  text === undefined ? '(none)' : JSON.stringify(text.slice(0, 100))
