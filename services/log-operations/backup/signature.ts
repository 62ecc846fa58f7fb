import { createHmac, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import { ServiceError } from '../../../contracts/errors.ts'
import { keyFingerprint } from '../../runtime/secrets/seal.ts'
import { damaged } from './segment.ts'

/** Keys for the signatures of backups, derived from the sealing key and from those that replaced it, oldest first. */
export interface BackupKeys {
  readonly known: readonly Uint8Array[]
  /** Index of the one that signs. */
  readonly used: number
}

const FINGERPRINT_CHARACTERS = 16

export const signatureSchema = z.object({
  /** 0 for `sealing.key`, else the line of `wrapping.keys`. */
  key: z.int().nonnegative(),
  /** Fingerprint of the derived key. */
  fingerprint: z.string().regex(/^[0-9a-f]{16}$/),
  /** HMAC-SHA-256 of the manifest. */
  mac: z.string().regex(/^[0-9a-f]{64}$/),
})
export type Signature = z.infer<typeof signatureSchema>

/**
 * The writer of a manifest has the key that signs now (`authentic`), or one that was replaced. Without a signature, or without the
 * keys to check it, the writer is not known.
 */
export type Authenticity = 'authentic' | 'former_key' | 'unsigned' | 'unchecked'

const macOf = (key: Uint8Array, body: string): Buffer => createHmac('sha256', key).update(body).digest()

const shortFingerprint = (key: Uint8Array): string => keyFingerprint(key).slice(0, FINGERPRINT_CHARACTERS)

export function signatureOf(body: string, { known, used }: BackupKeys): Signature {
  const key = known[used]
  if (key === undefined) throw new TypeError(`there is no key ${used} among ${known.length}`)
  return { key: used, fingerprint: shortFingerprint(key), mac: macOf(key, body).toString('hex') }
}

/**
 * @throws ServiceError `backup_damaged` for a signature that is wrong; `store_mismatch` where it was made with another key
 *   than those at hand
 */
export function checkSignature(
  name: string,
  body: string,
  signature: Signature | undefined,
  keys: BackupKeys | undefined,
): Authenticity {
  if (signature === undefined) return 'unsigned'
  if (keys === undefined) return 'unchecked'
  const { known, used } = keys
  const index = known.findIndex((key) => shortFingerprint(key) === signature.fingerprint)
  const key = known[index]
  if (key === undefined) throw otherKeyError(signature)
  if (!timingSafeEqual(macOf(key, body), Buffer.from(signature.mac, 'hex')))
    throw damaged({ name }, 'its signature is wrong: it was changed by somebody who has not the sealing key')
  return index < used ? 'former_key' : 'authentic'
}

function otherKeyError({ key, fingerprint }: Signature): ServiceError {
  const name = key === 0 ? 'sealing.key' : `line ${key} of wrapping.keys`
  return new ServiceError('store_mismatch', {
    message: `the backup was signed with ${name} (the key derived from it has the fingerprint ${fingerprint}), which is not among the keys here`,
    nextStep: `Put the ${key === 0 ? 'sealing.key' : 'wrapping.keys'} of that log into the folder of the market, or set ${key === 0 ? 'SEALING_KEY' : 'WRAPPING_KEYS'}, and run the command again.`,
  })
}
