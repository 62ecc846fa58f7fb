import { timingSafeEqual } from 'node:crypto'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { hmacKey, hmacSha256 } from '../../runtime/ids/hmac.ts'

/** The secret of the first answer, as the header `Payment-Secret` brings it. @param rawHeaders names and values in turn */
export function readSecret(rawHeaders: readonly string[]): string | undefined {
  const at = rawHeaders.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === 'payment-secret')
  return at === -1 ? undefined : rawHeaders[at + 1]
}

/**
 * Secrets that tell payers from everybody who reads the chain, where a transaction shows authorization and signature.
 *
 * @param key secret bytes that are for nothing else; every process of a log has the same
 */
export function createReplaySecrets(key: Uint8Array) {
  const prepared = hmacKey(key)
  const secretOf = (id: string): string => hmacSha256(prepared, `payment ${id}`, undefined, 'base64url')
  return {
    /** Opens the answer of one payment; derived, so that the log does not hold it. */
    secretOf,
    /** @throws ServiceError `payment_unproven` */
    require(secret: string | undefined, paymentId: string): void {
      const [given, expected] = [Buffer.from(secret ?? ''), Buffer.from(secretOf(paymentId))]
      if (given.length === expected.length && timingSafeEqual(given, expected)) return
      const fault = secret === undefined ? 'is missing' : 'is not that of this payment'
      throw new ServiceError('payment_unproven', {
        message: `The transaction of this payment is on the chain, where everybody can read its signature, and the request does not prove that it is its payer's: Payment-Secret ${fault}. Nothing was charged.`,
      })
    },
  }
}
