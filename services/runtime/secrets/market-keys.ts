import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import type { Settings } from '../config/settings.ts'
import { keyFingerprint } from './seal.ts'
import { deriveKey, loadSealingKey } from './sealing-key.ts'
import { loadWrappingKeys, WRAPPING_KEYS_FILE } from './wrapping-keys.ts'

type KeySettings = Pick<Settings, 'SEALING_KEY' | 'MARKET'> & Partial<Pick<Settings, 'WRAPPING_KEYS'>>

const keyFile = (directory: string): string => join(directory, 'sealing.key')
const hasSealingKey = ({ SEALING_KEY }: KeySettings, directory: string): boolean =>
  SEALING_KEY !== undefined || existsSync(keyFile(directory))

/** Keys of different purposes and markets tell nothing of one another. */
const keyFor = (key: Uint8Array, { MARKET }: KeySettings, purpose: string): Uint8Array =>
  deriveKey(key, `${purpose} of a ${MARKET} market`)

/** A key of 32 bytes for a purpose. The sealing key is made in the folder if there is none yet. */
export const secretFor = (settings: KeySettings, directory: string, purpose: string): Uint8Array =>
  keyFor(loadSealingKey({ given: settings.SEALING_KEY, directory, random: randomBytes }), settings, purpose)

/** Keys for a purpose, oldest first: from the sealing key, and from the keys that replaced it. */
export function secretsFor(settings: KeySettings, directory: string, purpose: string) {
  const file = join(directory, WRAPPING_KEYS_FILE)
  const { keys, used } = loadWrappingKeys({ given: settings.WRAPPING_KEYS, file })
  const later = keys.map((key) => keyFor(key, settings, purpose))
  return { known: [secretFor(settings, directory, purpose), ...later], used }
}

/** The secret behind the ids of facts. */
export const factSecretOf = (settings: KeySettings, directory: string): Uint8Array =>
  secretFor(settings, directory, 'fact-ids')

/** The fingerprint that a log says it was begun under; undefined if the sealing key is not at hand. */
export const keyFingerprintOf = (settings: KeySettings, directory: string): string | undefined =>
  hasSealingKey(settings, directory) ? keyFingerprint(factSecretOf(settings, directory)) : undefined

/**
 * A log without its key is one that was restored in part: a new key could not open it.
 *
 * @throws ServiceError `store_mismatch`, before anything is written
 */
export function requireKeyOfLog(settings: KeySettings, directory: string): void {
  if (hasSealingKey(settings, directory) || !existsSync(join(directory, 'events.db'))) return
  throw new ServiceError('store_mismatch', {
    message: `${directory} holds a log, and the key file that it was begun under is missing: copy it to ${keyFile(directory)} from where you keep it, or set SEALING_KEY to what it holds`,
  })
}

/**
 * The key that signs backups, from the newest sealing key. It makes none.
 *
 * @throws ServiceError `config_invalid` if the sealing key is not here
 */
export function backupKeyOf(settings: KeySettings, directory: string): Uint8Array {
  requireKeyOfLog(settings, directory)
  if (!hasSealingKey(settings, directory))
    throw new ServiceError('config_invalid', {
      message: `the sealing key is not here, and without it nobody can tell who wrote a backup: put it at ${keyFile(directory)}, or set SEALING_KEY`,
    })
  const { known, used } = secretsFor(settings, directory, 'backups')
  return known[used] as Uint8Array
}
