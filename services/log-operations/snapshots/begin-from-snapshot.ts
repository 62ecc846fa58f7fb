import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import type { Position } from '../../../contracts/position.ts'
import type { EventStore } from '../../log/event-store.ts'
import { isStillThere } from '../../log/projector/rows-of-this-log.ts'
import { withTimeout } from '../../runtime/async/with-timeout.ts'
import { takeFileLock } from '../../runtime/sqlite/file-lock.ts'
import { makePrivateFolder } from '../../runtime/sqlite/private-files.ts'
import { syncPath } from '../../runtime/sqlite/sync-path.ts'
import { parseSigned } from '../backup/manifest.ts'
import { damaged, unpackBytes } from '../backup/segment.ts'
import { fitOf, listSnapshots, type RowsAtPlace, scratchFolder, snapshotSchema } from './snapshot.ts'

export interface BeginOptions extends RowsAtPlace {
  readonly store: Pick<EventStore, 'readAll'>
  /** Told of each snapshot that is not begun with, or of the place, and why. */
  readonly refused: (what: string, reason: string) => void
}

const MOST_TRIED = 4
/** How long a start waits for the list of a place, and for all that it reads there. */
const [LOOK_MS, READ_MS] = [15_000, 300_000]

/**
 * Puts the newest snapshot that fits in the place of read models that are not there: of this log and these versions, signed
 * with the key that signs now, whole, and with no event that the log lacks. Where none is, the read models are built from
 * the log. @returns when it was taken, Unix milliseconds, and up to where it goes @throws ServiceError `store_locked`
 * beside another process
 */
export async function beginFromSnapshot(options: BeginOptions) {
  const { file, place, refused } = options
  if (existsSync(file)) return undefined
  const lock = takeFileLock(`${file}.lock`, 'the file of read models')
  const late = new AbortController()
  try {
    return await inTime(beginWithNewest(options, late.signal), READ_MS)
  } catch (error) {
    refused(place.description, reasonOf(error))
    return undefined
  } finally {
    late.abort()
    rmSync(scratchFolder(file), { recursive: true, force: true })
    lock.release()
  }
}

const inTime = <Result>(work: Promise<Result>, timeMs: number): Promise<Result> =>
  withTimeout(work, timeMs, () => new Error(`the place did not answer within ${timeMs / 1_000} s`))

async function beginWithNewest(options: BeginOptions, signal: AbortSignal) {
  const { place, refused } = options
  const lists = (await inTime(listSnapshots(place), LOOK_MS)).filter(({ isList }) => isList)
  const fitting = lists.filter(({ fit }) => fit === fitOf(options))
  if (fitting.length === 0)
    refused(place.description, `none of its ${lists.length} snapshots is of this log and of these versions`)
  for (const { name, takenAt } of fitting.slice(0, MOST_TRIED)) {
    if (signal.aborted) break
    try {
      return { takenAt, position: await beginWith(options, name, signal) }
    } catch (error) {
      refused(name, reasonOf(error))
    }
  }
  return undefined
}

async function beginWith(options: BeginOptions, name: string, signal: AbortSignal): Promise<Position> {
  const { place, keys, store, file } = options
  const list = { name: `${name}.json`, schema: snapshotSchema, keys }
  const { manifest, authenticity } = parseSigned((await place.get(list.name))?.toString() ?? '', list)
  const { newest, files } = manifest
  if (authenticity !== 'authentic' || manifest.name !== name)
    throw damaged(list, 'it is not signed with the key that signs now, or not under this name')
  if (!(await isStillThere(store, newest)))
    throw new ServiceError('store_mismatch', {
      message: `it follows from event ${newest.id} at position ${newest.position}, which is not in the log: the log was restored from an older copy`,
    })
  const scratch = scratchFolder(file)
  makePrivateFolder(scratch)
  for (const { suffix, parts } of files) {
    const to = openSync(join(scratch, `rows${suffix}`), 'w', 0o600)
    try {
      for (const part of parts) {
        const body = await place.get(part.name)
        signal.throwIfAborted()
        if (body === undefined) throw damaged(part, 'it is missing')
        writeSync(to, unpackBytes(body, part))
      }
      fsyncSync(to)
    } finally {
      closeSync(to)
    }
  }
  // Before the common file is there, the others are taken for rows of versions that there are not.
  for (const { suffix } of files) renameSync(join(scratch, `rows${suffix}`), `${file}${suffix}`)
  syncPath(dirname(file))
  return newest.position
}
