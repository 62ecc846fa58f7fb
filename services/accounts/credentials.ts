import { hash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { crc32 } from 'node:zlib'

export const KEY_PREFIX = 'sk_live_'
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const SECRET_CHARACTERS = 26
const CHECK_CHARACTERS = 6
/** Characters of a key that lists show. */
const HINT_CHARACTERS = KEY_PREFIX.length + 4
/** Bytes from here on would make some characters likelier than others. */
const FAIR_BYTES = 256 - (256 % ALPHABET.length)

/** The sealed claims of a session begin so, that nobody takes them for a key. */
const SESSION_PREFIX = 'ses_'

const SHAPE = new RegExp(`^[0-9A-Za-z]{${SECRET_CHARACTERS + CHECK_CHARACTERS}}$`)

/**
 * Makes an API key: `sk_live_`, 26 random characters of 0-9A-Za-z (154 bits), and 6 of a checksum, which tells a
 * mistyped key from one that does not exist, without asking anybody.
 *
 * @param random unpredictable bytes
 */
export function createApiKey(random: (bytes: number) => Uint8Array): string {
  let secret = ''
  while (secret.length < SECRET_CHARACTERS) {
    for (const byte of random(SECRET_CHARACTERS)) {
      if (byte < FAIR_BYTES && secret.length < SECRET_CHARACTERS) secret += ALPHABET[byte % ALPHABET.length]
    }
  }
  return KEY_PREFIX + secret + checksum(secret)
}

/** CRC-32 of the random characters (the one of zlib and PNG), in base 62 with leading zeros. */
function checksum(secret: string): string {
  let rest = crc32(secret)
  let text = ''
  for (let digit = 0; digit < CHECK_CHARACTERS; digit++) {
    text = (ALPHABET[rest % ALPHABET.length] ?? '') + text
    rest = Math.floor(rest / ALPHABET.length)
  }
  return text
}

/** Whether a text has the shape and the checksum of a key. It says nothing about whether the key exists. */
export function isApiKey(text: string): boolean {
  const body = text.slice(KEY_PREFIX.length)
  return (
    text.startsWith(KEY_PREFIX) &&
    SHAPE.test(body) &&
    checksum(body.slice(0, -CHECK_CHARACTERS)) === body.slice(-CHECK_CHARACTERS)
  )
}

/**
 * The stored hash of a key, a code or a token. A plain SHA-256 is enough, because they are random; and because only hashes
 * are compared, the time of a look-up reveals nothing about them.
 */
export const hashOf = (secret: string): string => hash('sha256', secret)

/** The part of a key that lists show: enough to recognise it by, and 4 of its 26 random characters. */
export const hintOf = (key: string): string => `${key.slice(0, HINT_CHARACTERS)}…`

const MEANT = new RegExp(`^(?:Bearer +(?:${KEY_PREFIX}|${SESSION_PREFIX})|Session )`, 'i')

/** The content of an `Authorization` header. */
export type Credential =
  | { readonly kind: 'absent' }
  | { readonly kind: 'malformed' }
  /** Meant as a key of this service, by how it begins, and none; a session's secret is no key. */
  | { readonly kind: 'damaged' }
  | { readonly kind: 'key'; readonly hash: string }
  /** The session of a browser, for which the pages ask; whether it is one is not looked at here. */
  | { readonly kind: 'session'; readonly text: string }
  /** Meant as an access token; whether it is one is not looked at here. */
  | { readonly kind: 'token'; readonly text: string }

/**
 * Reads a key from an `Authorization` header: `Bearer` in any case (RFC 9110 §11.1), blanks, the key. Everything else
 * is malformed: another scheme, a scheme without a key, a placeholder that nobody filled. A text with the prefix of a key
 * and a wrong checksum is a damaged key.
 *
 * @example readCredential('Bearer ${env:KEY}') // { kind: 'malformed' }
 */
export function readCredential(authorization: string | undefined): Credential {
  if (authorization === undefined) return { kind: 'absent' }
  const [, token] = /^Bearer +(sat_\S{1,508}) *$/i.exec(authorization) ?? []
  if (token !== undefined) return { kind: 'token', text: token }
  const [, session] = /^Session (ses_\S{1,508})$/.exec(authorization) ?? []
  if (session !== undefined) return { kind: 'session', text: session }
  const [, key = ''] = /^Bearer +(\S{1,64}) *$/i.exec(authorization) ?? []
  if (isApiKey(key)) return { kind: 'key', hash: hashOf(key) }
  return MEANT.test(authorization) ? { kind: 'damaged' } : { kind: 'malformed' }
}

/**
 * The credential of a request, for {@link readCredential}. One in the header of other services applies nowhere here, and
 * the answer says so to its sender.
 */
export const sentCredential = ({
  authorization,
  'x-api-key': elsewhere,
}: IncomingHttpHeaders): string | undefined =>
  authorization ?? (elsewhere === undefined ? undefined : 'X-API-Key')

/** Whether a header names a session, which only the pages themselves may do. */
export const bringsSession = (authorization: string | undefined): boolean =>
  authorization !== undefined && /^Session\b/i.test(authorization)

/** Whether a header brings an access token, be it one that holds or not. */
export const bringsAccessToken = (authorization: string | undefined): boolean =>
  authorization !== undefined && /^Bearer +sat_/i.test(authorization)
