import { existsSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { reasonOf, ServiceError } from '../../../contracts/errors/errors.ts'
import { makePrivateFolder } from '../sqlite/private-files.ts'
import { writeWholeFile } from '../sqlite/whole-file.ts'

/** In the folder of the market, beside `sealing.key`. */
export const WRAPPING_KEYS_FILE = 'wrapping.keys'

/** Keys that follow on the sealing key, oldest first. */
export interface LaterKeys {
  readonly keys: readonly Uint8Array[]
  /** How many of them are used; the others are only known, so that all processes know one before any uses it. */
  readonly used: number
}

const KEY_BYTES = 32
const MOST_KEYS = 32
const LINE = /^(next )?([A-Za-z0-9+/]{43}=)$/

/**
 * Keys that replace the sealing key from now on, given or from a file, one a line; `next` marks those not used yet.
 * @throws ServiceError `config_invalid`; it never says what they are
 */
export function loadWrappingKeys(options: {
  /** With commas between them. */
  readonly given: string | undefined
  readonly file: string
}): LaterKeys {
  const { given, file } = options
  return parsed(
    given ?? (existsSync(file) ? readFileSync(file, 'utf8') : ''),
    given === undefined ? file : 'WRAPPING_KEYS',
  )
}

function parsed(text: string, place: string): LaterKeys {
  try {
    return parse(text)
  } catch (error) {
    throw new ServiceError('config_invalid', {
      message: `${place} cannot be used: ${reasonOf(error)}. Restore it: what is personal is sealed under these keys`,
      cause: error,
    })
  }
}

function parse(text: string): LaterKeys {
  const lines = text.split(/[\n,]/).map((line) => line.trim())
  const found = lines.flatMap((line, index) => {
    if (line === '' || line.startsWith('#')) return []
    const [, next, key] = LINE.exec(line) ?? []
    if (key === undefined) throw new TypeError(`line ${index + 1} is not 32 bytes in base64`)
    return [{ isNext: next !== undefined, key: Buffer.from(key, 'base64') }]
  })
  if (found.length > MOST_KEYS)
    throw new TypeError(`it holds ${found.length} keys, and may hold ${MOST_KEYS}`)
  const firstNext = found.findIndex(({ isNext }) => isNext)
  const used = firstNext === -1 ? found.length : firstNext
  if (found.slice(used).some(({ isNext }) => !isNext))
    throw new TypeError('a key that is used stands behind one that is not')
  return { keys: found.map(({ key }) => key), used }
}

/** Adds a new key to the file, which appears whole or not at all, and is on the disk before anything is sealed under it. */
export function addWrappingKey(file: string, random: (bytes: number) => Uint8Array): LaterKeys {
  const before = existsSync(file) ? readFileSync(file, 'utf8') : ''
  const line = `${Buffer.from(random(KEY_BYTES)).toString('base64')}\n`
  const text = `${before === '' || before.endsWith('\n') ? before : `${before}\n`}${line}`
  const { keys, used } = parsed(before, file)
  if (used < keys.length)
    throw new ServiceError('config_invalid', {
      message: `${file} ends with a key that is only known (next): take that word from its line, which replaces the key, or remove the line`,
    })
  // The next start would refuse what cannot be parsed, so it is not put in place.
  const added = parsed(text, file)
  makePrivateFolder(dirname(file))
  writeWholeFile(file, text, { mode: 0o600, flush: true })
  return added
}
