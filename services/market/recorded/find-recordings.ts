import { readdir, realpath, stat } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { ServiceError } from '../../../contracts/errors.ts'
import type { Exchange } from '../../../contracts/exchanges.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import {
  type IgnoredRecording,
  isIgnored,
  joinPeriods,
  type Recording,
  readRecordingName,
} from './recording.ts'

/** Folders that hold something else than market data in this format. */
const OTHER_FOLDERS: Readonly<Record<string, string>> = {
  reference: 'indicator values, not market data',
  'venue-responses': 'raw venue messages, not market data',
}

/** A folder that is read, and those that it lies in, as far as they were opened. */
interface OpenFolder {
  readonly path: string
  /** Names from that of the folder that was opened. */
  readonly names: readonly string[]
  /** Where they are in truth: a link may lead back to one of them. */
  readonly real: readonly string[]
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

  const take = (path: string, name: string, { names }: OpenFolder, others: ReadonlySet<string>): void => {
    // Of the process that keeps bars here.
    if (name.endsWith('.lock')) return
    if (name.endsWith('.CHECKSUM')) {
      // The reader of the file compares it.
      const checked = basename(name, '.CHECKSUM')
      if (!others.has(checked)) ignored.push({ name, reason: `${checked} is not beside it` })
      return
    }
    const file = readRecordingName(path, names.join('/'), name, exchange)
    if (isIgnored(file)) ignored.push(file)
    else found.push(file)
  }

  async function search(open: OpenFolder): Promise<void> {
    const entries = await entriesOf(open.path, [folder, ...open.names.slice(1)].join('/'))
    const others = new Set(entries)
    for (const entry of entries) {
      if (++seen > LIMITS.marketDataFiles) throw tooManyError(folder)
      const path = join(open.path, entry)
      const name = [...open.names.slice(1), entry].join('/')
      const kind = await stat(path).catch(() => undefined)
      const skipped = kind === undefined ? 'it cannot be read, or is a link to nothing' : reasonToSkip(entry)
      if (skipped !== undefined)
        ignored.push({ name: kind?.isDirectory() ? `${name}/` : name, reason: skipped })
      else if (kind?.isDirectory()) await enter(path, entry, open)
      else take(path, name, open, others)
    }
  }

  async function enter(path: string, entry: string, { names, real }: OpenFolder): Promise<void> {
    const target = await realpath(path)
    const isDeep = names.length > LIMITS.marketDataFolders
    if (!isDeep && !real.includes(target))
      return search({ path, names: [...names, entry], real: [...real, target] })
    const reason = isDeep
      ? `it lies more than ${LIMITS.marketDataFolders} folders deep`
      : 'it leads back to a folder that it lies in'
    ignored.push({ name: `${[...names.slice(1), entry].join('/')}/`, reason })
  }

  const root = resolve(folder)
  await search({ path: root, names: [basename(root)], real: [await realpath(root).catch(() => root)] })
  const { recordings, ignored: doubled } = joinPeriods(found)
  return { recordings, ignored: [...ignored, ...doubled] }
}

const reasonToSkip = (entry: string): string | undefined =>
  entry.startsWith('.') ? 'hidden' : OTHER_FOLDERS[entry]

async function entriesOf(path: string, name: string): Promise<string[]> {
  try {
    return (await readdir(path)).toSorted()
  } catch (error) {
    const isAbsent = (error as NodeJS.ErrnoException).code === 'ENOENT'
    throw missingError(
      name,
      `the market data folder ${name} ${isAbsent ? 'does not exist' : `cannot be read: ${(error as Error).message}`}`,
      error,
    )
  }
}

const tooManyError = (folder: string): ServiceError =>
  missingError(
    folder,
    `${folder} holds more than ${LIMITS.marketDataFiles} files and folders; name a folder in it that has fewer`,
  )

const missingError = (folder: string, message: string, cause?: unknown): ServiceError =>
  new ServiceError('market_data_missing', { message, details: { folder }, cause })
