import { isIP, isIPv4 } from 'node:net'
import ipaddr from 'ipaddr.js'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'

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

/** Limits on the addresses that webhooks may be sent to. */
export interface EgressPolicy {
  /** For local trials: this machine, private networks and names, plain HTTP, and any port. */
  readonly allowPrivate: boolean
  /** Host names of this service, which would only talk to itself there. */
  readonly ownHosts: readonly string[]
}

/** An address of a subscriber that may be sent to, in its parts. */
export interface CheckedUrl {
  /** @example 'https://bot.example.com:8443' */
  readonly origin: string
  /** Name or address, without the brackets of IPv6. */
  readonly hostname: string
  /** Path and query, as they are sent. */
  readonly path: string
}

const PORTS: readonly string[] = ['', '443', '8443']

/** Ends of names that are no public ones: reserved (RFC 6761, 6762, 8375, 9476), or used in private networks. */
const PRIVATE_SUFFIXES =
  'localhost local localdomain internal svc lan corp home intranet home.arpa arpa test invalid example onion alt'.split(
    ' ',
  )

/** Letters, digits, hyphens, and underscores, which some providers use. */
const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/
const NAME_CHARACTERS = 253

/**
 * Checks the address of a webhook before anything is resolved or sent. Only what every parser reads in the same way
 * passes: the text is looked at first, then taken apart once, by the rules of WHATWG.
 *
 * @throws ServiceError `url_refused`, with what is wrong. The address is not repeated: its path may hold secrets.
 * @example checkUrl('https://bot.example.com/hook', { allowPrivate: false, ownHosts: [] }).origin
 */
export function checkUrl(url: string, policy: EgressPolicy): CheckedUrl {
  const authority = checkText(url, policy)
  const parsed = parseUrl(url, policy)
  if (!policy.allowPrivate && !PORTS.includes(parsed.port)) {
    throw urlRefusedError(`Port ${parsed.port} is not sent to; 443 and 8443 are.`, policy)
  }
  if (parsed.port === '0') throw urlRefusedError('There is no port 0.', policy)
  const hostname = checkHost(parsed.hostname, authority, policy)
  // Without the dot at the end of a full name, which no certificate is made out to.
  if (isIP(hostname) === 0) parsed.hostname = hostname
  return {
    origin: parsed.origin,
    hostname,
    path: `${parsed.pathname}${parsed.search}`,
  }
}

const TRIAL_STEP =
  'Give an address with http:// or https:// that leads to this machine, a private network or the internet; the message says what is wrong with this one.'

/** Refuses an address of a webhook; in a trial without naming the setting, which is set. */
export const urlRefusedError = (message: string, policy?: EgressPolicy): ServiceError =>
  new ServiceError('url_refused', {
    message,
    details: { field: 'url' },
    ...(policy?.allowPrivate === true && { nextStep: TRIAL_STEP }),
  })

const BEGINNING = 'The address must begin with https:// and a host, as https://bot.example.com/hook does.'

/** @returns the authority as it was written: host and port */
function checkText(url: string, policy: EgressPolicy): string {
  if (url === '') throw urlRefusedError('The address is empty.', policy)
  if (url.length > LIMITS.webhookUrlCharacters) {
    throw urlRefusedError(
      `The address has ${url.length} characters; at most ${LIMITS.webhookUrlCharacters} are taken.`,
      policy,
    )
  }
  if (!/^[a-z][a-z0-9+.-]*:/i.test(url.trimStart())) throw urlRefusedError(BEGINNING, policy)
  // Parsers drop some of these and read others as something else.
  if (/[\p{Cc}\p{Z}\\]/u.test(url) || !url.isWellFormed()) {
    throw urlRefusedError(
      'The address holds a space, a control character or a backslash; write it percent-encoded.',
      policy,
    )
  }
  const match = /^(https?):\/\/(?!\/)([^/?#]*)/i.exec(url)
  const scheme = match?.[1]?.toLowerCase()
  if (scheme === undefined || (scheme === 'http' && !policy.allowPrivate)) {
    throw urlRefusedError(BEGINNING, policy)
  }
  const authority = match?.[2] ?? ''
  if (authority.includes('@'))
    throw urlRefusedError('The address names a user; leave out what stands before the @.', policy)
  if (authority.includes('%'))
    throw urlRefusedError('The host is percent-encoded; write it as it is.', policy)
  if (/[^\u0021-\u007e]/.test(authority)) {
    throw urlRefusedError('The host is not written in ASCII; give the form that begins with xn--.', policy)
  }
  return authority
}

function parseUrl(url: string, policy: EgressPolicy): URL {
  if (!URL.canParse(url)) throw urlRefusedError('The address cannot be read as a URL.', policy)
  return new URL(url)
}

/** @returns the host without brackets and without the dot at the end of a full name */
function checkHost(parsedHost: string, authority: string, policy: EgressPolicy): string {
  const isAdmitted = policy.allowPrivate ? isTrialAddress : isPublicAddress
  if (parsedHost.startsWith('[')) {
    const address = parsedHost.slice(1, -1)
    if (!isAdmitted(address)) throw urlRefusedError(`The address ${address} is not a public one.`, policy)
    return address
  }
  if (isIPv4(parsedHost)) {
    // 0x7f.1, 2130706433 and 127.1 are the same machine to some parsers and names to others.
    if (authority.replace(/:\d*$/, '') !== parsedHost) {
      throw urlRefusedError(
        `The host is another form of ${parsedHost}; give addresses as four decimal numbers.`,
        policy,
      )
    }
    if (!isAdmitted(parsedHost))
      throw urlRefusedError(`The address ${parsedHost} is not a public one.`, policy)
    return parsedHost
  }
  return checkName(parsedHost.replace(/\.$/, ''), policy)
}

function checkName(name: string, policy: EgressPolicy): string {
  const labels = name.split('.')
  if (name.length > NAME_CHARACTERS || !labels.every((label) => LABEL.test(label))) {
    throw urlRefusedError('The host is not a name of the domain name system.', policy)
  }
  if (policy.allowPrivate) return name
  if (labels.length === 1)
    throw urlRefusedError(`The host ${name} is not a public name: it has no domain.`, policy)
  const suffix = PRIVATE_SUFFIXES.find((end) => name === end || name.endsWith(`.${end}`))
  if (suffix !== undefined) throw urlRefusedError(`Names that end in .${suffix} are not public.`, policy)
  if (policy.ownHosts.some((host) => host.toLowerCase().replace(/\.$/, '') === name)) {
    throw urlRefusedError(`The host ${name} is this service; give the address of your own.`, policy)
  }
  return name
}
