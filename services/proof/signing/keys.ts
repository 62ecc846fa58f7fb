import { existsSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { crc32 } from 'node:zlib'
import { assert } from '../../../contracts/errors/assert.ts'
import { reasonOf, ServiceError } from '../../../contracts/errors/errors.ts'
import { writeSecretOnce } from '../../runtime/secrets/sealing-key.ts'
import { makePrivateFolder } from '../../runtime/sqlite/private-files.ts'
import { writeWholeFile } from '../../runtime/sqlite/whole-file.ts'
import {
  type Checkpoint,
  checkpointText,
  parseCheckpoint,
  SEED_BYTES,
  type Signer,
  signerOf,
} from '../note.ts'

/**
 * The keys that sign the log: those of the setting, or those of a file that the first start makes, readable by its
 * owner only. Every key of the file signs: to replace keys, new lines join the old ones, and old ones leave later.
 * @throws ServiceError `config_invalid` for a file that cannot be read or holds no keys
 */
export function loadLogKeys(options: {
  /** As in the file, with line breaks or commas. */
  readonly given: string | undefined
  readonly file: string
  readonly random: (bytes: number) => Uint8Array
}): readonly Uint8Array[] {
  const { given, file, random } = options
  try {
    if (given === undefined && !existsSync(file))
      writeSecretOnce(file, `ed25519 ${Buffer.from(random(SEED_BYTES)).toString('base64')}\n`, random)
    const lines = (given ?? readFileSync(file, 'utf8')).split(/[\n,]/).map((line) => line.trim())
    const keys = lines.filter((line) => line !== '' && !line.startsWith('#')).map(parseKey)
    if (keys.length === 0) throw new TypeError('it has no key')
    return keys
  } catch (error) {
    const place = given === undefined ? `the key file ${file}` : 'LOG_KEYS'
    throw new ServiceError('config_invalid', {
      message: `${place} cannot be used: ${reasonOf(error)}. Restore it from its backup`,
      cause: error,
    })
  }
}

function parseKey(line: string, index: number): Uint8Array {
  const [name = '', base64 = '', ...rest] = line.split(/\s+/)
  const seed = Buffer.from(base64, 'base64')
  if (name === 'ed25519' && seed.length === SEED_BYTES && rest.length === 0) return seed
  throw new TypeError(`line ${index + 1} is not "ed25519" and ${SEED_BYTES} bytes in base64`)
}

/** @param seeds of the keys; @param origin the name that they sign under */
export const signersOf = (seeds: readonly Uint8Array[], origin: string): readonly Signer[] =>
  seeds.map((seed) => signerOf(origin, seed))

/** The file of the newest checkpoint that this process knows, in no backup of the log: a log that was set back does not extend it. */
export class NewestCheckpoint {
  readonly #file: string
  #kept: Checkpoint | undefined

  constructor(file: string) {
    this.#file = file
  }

  /** @throws ServiceError `config_invalid` for a file that cannot be read or holds none */
  read(): Checkpoint | undefined {
    if (this.#kept !== undefined || !existsSync(this.#file)) return this.#kept
    try {
      const text = readFileSync(this.#file, 'utf8')
      const checkpoint = parseCheckpoint(text)
      if (text !== summed(checkpoint)) throw new Error('its checksum does not fit')
      this.#kept = checkpoint
      return checkpoint
    } catch (error) {
      throw new ServiceError('config_invalid', {
        message: `the newest checkpoint ${this.#file} cannot be read: ${reasonOf(error)}. Restore it, or remove it and set LOG_ORIGIN to a new name`,
        cause: error,
      })
    }
  }

  /** Durable when it returns. */
  write(checkpoint: Checkpoint): void {
    makePrivateFolder(dirname(this.#file))
    assert(
      this.#kept?.origin !== checkpoint.origin || checkpoint.size >= this.#kept.size,
      'the newest checkpoint of an origin only grows',
      checkpoint.size,
    )
    writeWholeFile(this.#file, summed(checkpoint), { mode: 0o600, flush: true })
    this.#kept = checkpoint
  }
}

/** With a checksum in its last line: a byte that changed on the disk makes no other checkpoint. */
function summed(checkpoint: Checkpoint): string {
  const text = checkpointText(checkpoint)
  return `${text}crc32 ${crc32(text).toString(16).padStart(8, '0')}\n`
}
