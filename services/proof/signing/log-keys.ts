import { existsSync, readFileSync } from 'node:fs'
import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import { writeSecretOnce } from '../../runtime/secrets/sealing-key.ts'
import { SEED_BYTES, type Signer, signerOf } from '../notes/note-keys.ts'

/** A new key, as a line of a key file. */
export const newKeyLine = (random: (bytes: number) => Uint8Array): string =>
  `ed25519 ${Buffer.from(random(SEED_BYTES)).toString('base64')}\n`

/**
 * The keys that sign the log: those given, or those kept in a file, made on the first start and readable by its owner
 * only. Every key of the file signs: to replace keys, new lines join the old ones, and old ones leave later.
 *
 * @throws ServiceError `config_invalid` for a file that cannot be read or holds no keys
 */
export function loadLogKeys(options: {
  /** In the words of the file. */
  readonly given: string | undefined
  readonly file: string
  readonly random: (bytes: number) => Uint8Array
}): readonly Uint8Array[] {
  const { given, file, random } = options
  try {
    if (given === undefined && !existsSync(file)) writeSecretOnce(file, newKeyLine(random), random)
    return parseKeys(given ?? readFileSync(file, 'utf8'))
  } catch (error) {
    const place = given === undefined ? `the key file ${file}` : 'LOG_KEYS'
    throw new ServiceError('config_invalid', {
      message: `${place} cannot be used: ${reasonOf(error)}. Restore it from its backup`,
      cause: error,
    })
  }
}

/** Lines of a file, or parts between commas. */
function parseKeys(text: string): readonly Uint8Array[] {
  const lines = text.split(/[\n,]/).map((line) => line.trim())
  const keys = lines.filter((line) => line !== '' && !line.startsWith('#')).map(parseKey)
  if (keys.length === 0) throw new TypeError('it has no key')
  return keys
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
