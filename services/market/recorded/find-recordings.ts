import { readdir } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { ServiceError } from '../../../contracts/errors.ts'
import type { Exchange } from '../../../contracts/exchanges.ts'
import {
  type IgnoredRecording,
  isIgnored,
  joinPeriods,
  type Recording,
  readRecordingName,
} from './recording.ts'

/** Sub-folders that hold something else than market data in this format. */
const OTHER_FOLDERS: Readonly<Record<string, string>> = {
  reference: 'indicator values, not market data',
  'venue-responses': 'raw venue messages, not market data',
}

/**
 * The candle and funding files of a folder and of the folders directly in it, ordered by name.
 *
 * @throws ServiceError `market_data_missing` where the folder does not exist or cannot be read.
 */
export async function findRecordings(
  folder: string,
  exchange?: Exchange,
): Promise<{ recordings: Recording[]; ignored: IgnoredRecording[] }> {
  const root = resolve(folder)
  const recordings: Recording[] = []
  const ignored: IgnoredRecording[] = []

  const take = (path: string, parent: string, name: string): void => {
    if (!/\.csv(\.gz)?$/.test(path)) return
    const file = readRecordingName(path, parent, name, exchange)
    if (isIgnored(file)) ignored.push(file)
    else recordings.push(file)
  }

  for (const entry of await entriesOf(root, folder)) {
    const path = join(root, entry.name)
    if (!entry.isDirectory()) {
      take(path, basename(root), entry.name)
      continue
    }
    const other = OTHER_FOLDERS[entry.name]
    if (other !== undefined) {
      ignored.push({ name: `${entry.name}/`, reason: other })
      continue
    }
    for (const inner of await entriesOf(path, `${folder}/${entry.name}`)) {
      take(join(path, inner.name), entry.name, `${entry.name}/${inner.name}`)
    }
  }
  return { recordings: joinPeriods(recordings), ignored }
}

async function entriesOf(path: string, name: string) {
  try {
    const entries = await readdir(path, { withFileTypes: true })
    return entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))
  } catch (error) {
    const isAbsent = (error as NodeJS.ErrnoException).code === 'ENOENT'
    throw new ServiceError('market_data_missing', {
      message: `the market data folder ${name} ${isAbsent ? 'does not exist' : `cannot be read: ${(error as Error).message}`}`,
      details: { folder: name },
      cause: error,
    })
  }
}
