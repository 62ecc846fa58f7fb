import { existsSync, readFileSync } from 'node:fs'
import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import { writeSecretOnce } from '../../runtime/secrets/sealing-key.ts'
import { SEED_BYTES, SIGNATURE_TYPES, type Signer, signerOf } from '../notes/note-keys.ts'

/** A key before it has the name of an origin. */
export interface LogKey {
  readonly type: typeof SIGNATURE_TYPES.ed25519 | typeof SIGNATURE_TYPES.mlDsa44
  readonly seed: Uint8Array
}

const NAMES = { ed25519: SIGNATURE_TYPES.ed25519, 'ml-dsa-44': SIGNATURE_TYPES.mlDsa44 } as const

/** A pair of new keys, as lines of a key file. */
export const newKeyLines = (random: (bytes: number) => Uint8Array): string =>
  Object.keys(NAMES)
    .map((name) => `${name} ${Buffer.from(random(SEED_BYTES)).toString('base64')}\n`)
    .join('')

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
}): readonly LogKey[] {
  const { given, file, random } = options
  try {
    if (given === undefined && !existsSync(file)) writeSecretOnce(file, newKeyLines(random), random)
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
function parseKeys(text: string): readonly LogKey[] {
  const lines = text.split(/[\n,]/).map((line) => line.trim())
  const keys = lines.filter((line) => line !== '' && !line.startsWith('#')).map(parseKey)
  if (!keys.some(({ type }) => type === SIGNATURE_TYPES.ed25519))
    throw new TypeError('it has no key of ed25519')
  return keys
}

function parseKey(line: string, index: number): LogKey {
  const [name = '', base64 = '', ...rest] = line.split(/\s+/)
  const seed = Buffer.from(base64, 'base64')
  const type = Object.hasOwn(NAMES, name) ? NAMES[name as keyof typeof NAMES] : undefined
  if (type !== undefined && seed.length === SEED_BYTES && rest.length === 0) return { type, seed }
  throw new TypeError(`line ${index + 1} is not "ed25519" or "ml-dsa-44" and ${SEED_BYTES} bytes in base64`)
}

/** @param origin the name that the keys sign under */
export const signersOf = (keys: readonly LogKey[], origin: string): readonly Signer[] =>
  keys.map(({ type, seed }) => signerOf(origin, type, seed))
