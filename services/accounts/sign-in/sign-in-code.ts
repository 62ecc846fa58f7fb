import { createHmac, timingSafeEqual } from 'node:crypto'
import { LIMITS } from '../../../contracts/limits.ts'

/** Crockford's base 32: no letter that is taken for a digit, none that makes words. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const LOOKALIKES: Readonly<Record<string, string>> = { O: '0', I: '1', L: '1' }
const GROUP = 5
const SHAPE = new RegExp(`^[${ALPHABET}]{${LIMITS.signInCodeCharacters}}$`)

/**
 * A code of 50 bits, which nobody guesses. So wrong codes need no limit, and an attacker who sends many of them ends
 * nobody's sign-in.
 *
 * @param random unpredictable bytes
 */
export const createSignInCode = (random: (bytes: number) => Uint8Array): string =>
  [...random(LIMITS.signInCodeCharacters)].map((byte) => ALPHABET[byte % ALPHABET.length] ?? '').join('')

/** As it is mailed. @example shownCode('7K2M9QX4RT') === '7K2M9-QX4RT' */
export const shownCode = (code: string): string => `${code.slice(0, GROUP)}-${code.slice(GROUP)}`

/**
 * A code as somebody typed it: in either case, with or without what stands between its groups. Undefined for what
 * cannot be one.
 */
export function readCode(text: string): string | undefined {
  const code = text
    .toUpperCase()
    .replaceAll(/[\s-]/g, '')
    .replaceAll(/[OIL]/g, (sign) => LOOKALIKES[sign] ?? sign)
  return SHAPE.test(code) ? code : undefined
}

/** The stored hash of a code, in hex: keyed, and bound to its request. */
export const hashSignInCode = (secret: Uint8Array, requestId: string, code: string): string =>
  createHmac('sha256', secret).update(`${requestId}\n${code}`).digest('hex')

/** Whether a code is the one of a hash, in a time that does not depend on where they differ. */
export const isSignInCode = (secret: Uint8Array, requestId: string, code: string, hash: string): boolean =>
  timingSafeEqual(Buffer.from(hashSignInCode(secret, requestId, code), 'hex'), Buffer.from(hash, 'hex'))
