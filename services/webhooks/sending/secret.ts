import { type HmacKey, hmacKey } from '../../platform/ids/hmac.ts'

export const SECRET_PREFIX = 'whsec_'
const SECRET_BYTES = 32

/**
 * A new signing secret: `whsec_` and base64, as Standard Webhooks writes them.
 *
 * @param random unpredictable bytes
 * @example createSecret(randomBytes).startsWith('whsec_')
 */
export const createSecret = (random: (bytes: number) => Uint8Array): string =>
  `${SECRET_PREFIX}${Buffer.from(random(SECRET_BYTES)).toString('base64')}`

/** The two keys of a secret, prepared. */
export interface SigningKeys {
  /** The whole text, for `X-Service-Signature`. */
  readonly whole: HmacKey
  /** The bytes behind the prefix, for `webhook-signature`. */
  readonly decoded: HmacKey
}

export const signingKeys = (secret: string): SigningKeys => ({
  whole: hmacKey(Buffer.from(secret)),
  decoded: hmacKey(
    Buffer.from(secret.slice(secret.startsWith(SECRET_PREFIX) ? SECRET_PREFIX.length : 0), 'base64'),
  ),
})
