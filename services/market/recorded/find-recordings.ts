import { readdir, realpath, stat } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import type { Exchange } from '../../../contracts/domain/series.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import {
  type IgnoredRecording,
  isIgnored,
  joinPeriods,
  type Recording,
  readRecordingName,
} from './recording.ts'

/** Files and folders that one search looks at, and how many folders deep it goes. */
const MOST_FILES = 250_000
export const DEEPEST_FOLDER = 10

/** Folders that hold something else than market data in this format. */
const OTHER_FOLDERS: Readonly<Record<string, string>> = {
  reference: 'indicator values, not market data',
  'venue-responses': 'raw venue messages, not market data',
}

/**
 * The candle and funding files of a folder and of all folders in it, ordered by name, and every file and folder that is
 * not used. Links are followed.
 *
 * @throws ServiceError `market_data_missing` where the folder does not exist or cannot be read, or holds too much.
 */
export async function findRecordings(
  folder: string,
  exchange?: Exchange,
): Promise<{ recordings: Recording[]; ignored: IgnoredRecording[] }> {
  const found: Recording[] = []
  const ignored: IgnoredRecording[] = []
  let seen = 0

  async function search(path: string, names: readonly string[], above: readonly string[]): Promise<void> {
    const entries = await entriesOf(path, [folder, ...names.slice(1)].join('/'))
    const real = await realpath(path)
    const isDeep = names.length > DEEPEST_FOLDER + 1
    if (isDeep || above.includes(real)) {
      const depth = `it lies more than ${DEEPEST_FOLDER} folders deep`
      const reason = isDeep ? depth : 'it leads back to a folder that it lies in'
      ignored.push({ name: `${names.slice(1).join('/')}/`, reason })
      return
    }
    seen += entries.length
    if (seen > MOST_FILES) {
      const most = `more than ${MOST_FILES} files and folders`
      throw missingError(folder, `${folder} holds ${most}; name a folder in it that has fewer`)
    }
    for (const entry of entries) {
      const inner = join(path, entry)
      const kind = await stat(inner).catch(() => undefined)
      const isFolder = kind?.isDirectory() === true
      const name = `${[...names.slice(1), entry].join('/')}${isFolder ? '/' : ''}`
      const reason =
        kind === undefined ? 'it cannot be read, or is a link to nothing' : reasonToSkip(entry, entries)
      if (reason !== undefined) ignored.push({ name, reason })
      else if (isFolder) await search(inner, [...names, entry], [...above, real])
      else if (!/\.(?:CHECKSUM|lock)$/.test(entry)) {
        const file = readRecordingName(inner, names.join('/'), name, exchange)
        if (isIgnored(file)) ignored.push(file)
        else found.push(file)
      }
    }
  }

  const root = resolve(folder)
  await search(root, [basename(root)], [])
  const { recordings, ignored: doubled } = joinPeriods(found)
  return { recordings, ignored: [...ignored, ...doubled] }
}

/** The reader of a file reads its checksum; locks are those of the process that keeps bars in a folder. */
function reasonToSkip(entry: string, entries: readonly string[]): string | undefined {
  if (entry.startsWith('.')) return 'hidden'
  const checked = entry.endsWith('.CHECKSUM') ? basename(entry, '.CHECKSUM') : entry
  return entries.includes(checked) ? OTHER_FOLDERS[entry] : `${checked} is not beside it`
}

async function entriesOf(path: string, name: string): Promise<string[]> {
  try {
    return (await readdir(path)).toSorted()
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const fault = code === 'ENOENT' ? 'does not exist' : `cannot be read: ${message}`
    throw missingError(name, `the market data folder ${name} ${fault}`, error)
  }
}

const missingError = (folder: string, message: string, cause?: unknown): ServiceError =>
  new ServiceError('market_data_missing', { message, details: { folder }, cause })
