import { LIMITS } from '../../../contracts/limits.ts'

/** A port after the name of this machine, which programs choose anew each time (RFC 8252 §7.3). */
const LOOPBACK = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost))(?::\d{1,5})?((?:[/?].*)?)$/

/** A name of the domain name system, or an address. */
const HOST = /^(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])$/

export const isLoopback = (uri: string): boolean => LOOPBACK.test(uri)

/**
 * The fault of a redirect address; undefined for a valid one. Only addresses that every browser and library reads alike
 * are valid: `https` with a plain host, or `http` on the loopback interface.
 */
export function redirectFault(uri: string): string | undefined {
  if (uri.length > LIMITS.oauthUrlCharacters) return `has more than ${LIMITS.oauthUrlCharacters} characters`
  if (!/^[!-~]+$/.test(uri) || /[\\<>"^`{|}]/.test(uri)) return 'holds characters that no address holds'
  if (!URL.canParse(uri)) return 'is no address'
  if (uri.includes('#')) return 'has a fragment'
  const [, authority = ''] = /^https?:\/\/([^/?#]*)/.exec(uri) ?? []
  if (authority === '') return 'must begin with https:// and a host, in lower case'
  if (authority.includes('@')) return 'names a user'
  if (authority.includes('%') || /[A-Z]/.test(authority)) return 'has a host that is not in its plain form'
  const { protocol, host, hostname } = new URL(uri)
  if (protocol === 'http:' && !isLoopback(uri)) return 'is not https, and not on this machine'
  // Other characters would be read as a part of a header that names the host.
  if (!HOST.test(hostname)) return 'has a host that is neither a name nor an address'
  // What the parser reads is what stands there: no other form of an address, no dots that were folded.
  if (host !== authority && `${host}:443` !== authority && `${host}:80` !== authority) {
    return 'has a host that is not in its plain form'
  }
  return undefined
}

/**
 * Whether a client registered an address, character by character. On the loopback interface any port matches.
 *
 * @example isRegistered('http://localhost:5123/callback', ['http://localhost/callback']) === true
 */
export const isRegistered = (uri: string, registered: readonly string[]): boolean =>
  registered.some((known) => known === uri || isSameButPort(known, uri))

function isSameButPort(known: string, uri: string): boolean {
  const [a, b] = [LOOPBACK.exec(known), LOOPBACK.exec(uri)]
  return a !== null && b !== null && a[1] === b[1] && a[2] === b[2]
}

/** An address with what is answered added to its query. */
export function withAnswer(uri: string, answer: Readonly<Record<string, string | undefined>>): string {
  const added = new URLSearchParams()
  for (const [name, value] of Object.entries(answer)) if (value !== undefined) added.append(name, value)
  const mark = !uri.includes('?') ? '?' : /[?&]$/.test(uri) ? '' : '&'
  return `${uri}${mark}${added.toString()}`
}
