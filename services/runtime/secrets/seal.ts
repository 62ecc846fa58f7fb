import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto'
import { reasonOf, ServiceError } from '../../../contracts/errors/errors.ts'

const CIPHER = 'aes-256-gcm'
const VERSION = 'v1.'
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** The context of a sealed text. It is bound to the text, so that the text opens in its own place only. */
export interface SealContext {
  /** 32 bytes. */
  readonly key: Uint8Array
  /** Kind and owner of the text, `e-mail of 5f0c…`; not part of the sealed text, and not secret. */
  readonly context: string
}

/** Seals bytes: AES-256-GCM (NIST SP 800-38D) under a random nonce. @returns `v1.` and base64url of nonce, ciphertext and tag */
export function seal(
  bytes: Uint8Array,
  { key, context }: SealContext,
  random: (bytes: number) => Uint8Array,
): string {
  const nonce = random(NONCE_BYTES)
  const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(context))
  const sealed = Buffer.concat([nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()])
  return VERSION + sealed.toString('base64url')
}

/** Inverse of {@link seal}. @throws ServiceError `internal_error` for another key, another context, or text that was changed */
export function unseal(sealed: string, { key, context }: SealContext): Uint8Array {
  try {
    if (!sealed.startsWith(VERSION)) throw new TypeError('it is of another version')
    const bytes = Buffer.from(sealed.slice(VERSION.length), 'base64url')
    if (bytes.length < NONCE_BYTES + TAG_BYTES) throw new TypeError('it is too short')
    const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES), {
      authTagLength: TAG_BYTES,
    })
    decipher.setAAD(Buffer.from(context)).setAuthTag(bytes.subarray(-TAG_BYTES))
    return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()])
  } catch (cause) {
    throw new ServiceError('internal_error', {
      message: `the sealed ${context} cannot be opened: ${reasonOf(cause)}`,
      cause,
    })
  }
}

/** Tells whether two keys are the same one, without telling the key: an HMAC of a fixed text, in hex. */
export const keyFingerprint = (key: Uint8Array): string =>
  createHmac('sha256', key).update('fingerprint').digest('hex')
