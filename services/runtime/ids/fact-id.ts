import { hmacKey, hmacSha256 } from './hmac.ts'
import { timedUuidV8, uuidV8 } from './uuid.ts'

/** Ids of facts, from the parts of what they are about. Parts must not hold line breaks. */
export interface FactId {
  (...about: readonly string[]): string
  /**
   * The id of a fact of an instant, which it begins with: facts of one time then stand together in every index. 74 bits
   * are left that nobody can guess.
   */
  at(timeMs: number, ...about: readonly string[]): string
}

/**
 * Ids of facts that may be computed twice (a verdict, a shift): repeatable for a holder of the store's
 * secret, unguessable for everybody else.
 */
export function createFactIds(secret: Uint8Array): FactId {
  const key = hmacKey(secret)
  const digestOf = (about: readonly string[]): string => hmacSha256(key, about.join('\n'), undefined, 'hex')
  return Object.assign((...about: readonly string[]) => uuidV8(Buffer.from(digestOf(about), 'hex')), {
    at: (timeMs: number, ...about: readonly string[]) => timedUuidV8(timeMs, digestOf(about)),
  })
}
