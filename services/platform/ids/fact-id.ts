import { createHmac } from 'node:crypto'
import { uuidV8 } from './uuid.ts'

/**
 * The id of a fact that may be computed twice (a verdict, a shift): repeatable for whoever holds the
 * store's secret, unguessable for everybody else.
 *
 * @param about what the fact is about; parts must not be able to run into one another, hence a separator
 * that names cannot contain.
 * @example factId(secret, 'verdict', 'simulated', 'SIM.BTC.1h', '1735689600000')
 */
export const factId = (secret: Uint8Array, ...about: readonly string[]): string =>
  uuidV8(createHmac('sha256', secret).update(about.join('\n')).digest())
