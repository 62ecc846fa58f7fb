import { createHmac, timingSafeEqual } from 'node:crypto'

const DIGITS = 6
const CODES = 10 ** DIGITS
/** 32-bit numbers from here on would make some codes likelier than others. */
const FAIR = 2 ** 32 - (2 ** 32 % CODES)

/** @param random unpredictable bytes */
export function createSignInCode(random: (bytes: number) => Uint8Array): string {
  for (;;) {
    const number = Buffer.from(random(4)).readUInt32BE()
    if (number < FAIR) return String(number % CODES).padStart(DIGITS, '0')
  }
}

/**
 * What is kept of a code, in hex: keyed, because a million codes are tried in no time, and bound to its request.
 */
export const hashSignInCode = (secret: Uint8Array, requestId: string, code: string): string =>
  createHmac('sha256', secret).update(`${requestId}\n${code}`).digest('hex')

/** Whether a code is the one of a hash, in a time that does not depend on where they differ. */
export const isSignInCode = (secret: Uint8Array, requestId: string, code: string, hash: string): boolean =>
  timingSafeEqual(Buffer.from(hashSignInCode(secret, requestId, code), 'hex'), Buffer.from(hash, 'hex'))
