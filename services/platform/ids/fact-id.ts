import { createHmac, createSecretKey } from 'node:crypto'
import { uuidV8 } from './uuid.ts'

/** The id of a fact, from the parts of what it is about. */
export type FactId = (...about: readonly string[]) => string

/**
 * Ids of facts that may be computed twice (a verdict, a shift): repeatable for whoever holds the store's
 * secret, unguessable for everybody else. Parts must not hold line breaks, so that none runs into another.
 *
 * @example createFactIds(secret)('verdict', 'SIM.BTC.1h', '1735689600000')
 */
export function createFactIds(secret: Uint8Array): FactId {
  // Prepared once: making a key of raw bytes costs five times the HMAC itself.
  const key = createSecretKey(secret)
  return (...about) => uuidV8(createHmac('sha256', key).update(about.join('\n')).digest())
}
