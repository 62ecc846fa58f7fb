import { hkdfSync } from 'node:crypto'
import { existsSync, linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { reasonOf, ServiceError } from '../../../contracts/errors/errors.ts'
import { makePrivateFolder } from '../sqlite/private-files.ts'
import { syncPath } from '../sqlite/sync-path.ts'

const KEY_BYTES = 32
const NAME_BYTES = 8

/**
 * The master key: the one given, or the one in the data folder, made there on the first start. @throws ServiceError
 * `config_invalid` for a kept key that cannot be used
 */
export function loadSealingKey(options: {
  readonly given: string | undefined
  readonly directory: string
  readonly random: (bytes: number) => Uint8Array
}): Uint8Array {
  if (options.given !== undefined) return Buffer.from(options.given, 'base64')
  const file = join(options.directory, 'sealing.key')
  if (!existsSync(file)) writeKey(file, options.random)
  return readKey(file)
}

function writeKey(file: string, random: (bytes: number) => Uint8Array): void {
  try {
    writeSecretOnce(file, `${Buffer.from(random(KEY_BYTES)).toString('base64')}\n`, random)
  } catch (error) {
    throw unreadableError(file, error)
  }
}

/** Appears whole or not at all, and is on the disk before anything is bound to it; one that is there stays. */
export function writeSecretOnce(file: string, text: string, random: (bytes: number) => Uint8Array): void {
  // Two containers may begin in one folder at once, each as process 1: the name has to be of chance.
  const unfinished = `${file}.${Buffer.from(random(NAME_BYTES)).toString('hex')}`
  try {
    makePrivateFolder(dirname(file))
    writeFileSync(unfinished, text, { mode: 0o600, flag: 'wx', flush: true })
    // A link, unlike a rename, leaves the key of another first start alone.
    linkSync(unfinished, file)
    syncPath(dirname(file))
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  } finally {
    rmSync(unfinished, { force: true })
  }
}

function readKey(file: string): Uint8Array {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw unreadableError(file, error)
  }
  const key = Buffer.from(text.trim(), 'base64')
  if (key.length !== KEY_BYTES) throw unreadableError(file, new Error('it does not hold 32 bytes in base64'))
  return key
}

const unreadableError = (file: string, cause: unknown): ServiceError =>
  new ServiceError('config_invalid', {
    message: `the sealing key ${file} cannot be used: ${reasonOf(cause)}. Restore it, or set SEALING_KEY`,
    cause,
  })

/** A key for one purpose, from the master key (HKDF-SHA256, RFC 5869): knowing one tells nothing of another. */
export const deriveKey = (sealingKey: Uint8Array, purpose: string): Uint8Array =>
  new Uint8Array(hkdfSync('sha256', sealingKey, new Uint8Array(0), `signal-service ${purpose}`, KEY_BYTES))
