import { closeSync, existsSync, fsyncSync, openSync, renameSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Position } from '../../../contracts/position.ts'
import type { EventStore } from '../../log/event-store.ts'
import { removeRows } from '../../log/projector/rows-file.ts'
import { isStillThere } from '../../log/projector/rows-of-this-log.ts'
import { withTimeout } from '../../runtime/async/with-timeout.ts'
import { takeFileLock } from '../../runtime/sqlite/file-lock.ts'
import { syncPath } from '../../runtime/sqlite/sync-path.ts'
import { parseSigned } from '../backup/manifest.ts'
import { damaged, unpackBytes } from '../backup/segment.ts'
import {
  fitOf,
  listName,
  listSnapshots,
  type RowsAtPlace,
  type Snapshot,
  snapshotSchema,
} from './snapshot.ts'
import { scratchFile } from './take-snapshot.ts'

export interface BeginOptions extends RowsAtPlace {
  readonly store: Pick<EventStore, 'readAll'>
  /** Told of each snapshot that is not begun with, or of the place, and why. */
  readonly refused: (what: string, reason: string) => void
}

/** The snapshot that the rows of a process began with. */
export interface Begun {
  /** Unix milliseconds. */
  readonly takenAt: number
  readonly position: Position
}

const MOST_TRIED = 4

/**
 * Puts the newest snapshot that fits in the place of read models that are not there. It is of this log and of these
 * versions, signed with the key that signs now, whole, and no event that it follows from is missing in the log. Where none
 * is, the read models are built from the log. @throws ServiceError `store_locked` beside another process
 */
export async function beginFromSnapshot(options: BeginOptions): Promise<Begun | undefined> {
  const { file, place, refused } = options
  if (existsSync(file)) return undefined
  const lock = takeFileLock(`${file}.lock`, 'the file of read models')
  const late = new AbortController()
  try {
    return await inTime(beginWithNewest(options, late.signal), LIMITS.snapshotReadMs)
  } catch (error) {
    refused(place.description, reasonOf(error))
    return undefined
  } finally {
    late.abort()
    removeRows(scratchFile(file))
    lock.release()
  }
}

const inTime = <Result>(work: Promise<Result>, timeMs: number): Promise<Result> =>
  withTimeout(work, timeMs, () => new Error(`the place did not answer within ${timeMs / 1_000} s`))

async function beginWithNewest(options: BeginOptions, signal: AbortSignal): Promise<Begun | undefined> {
  const { place, refused } = options
  const { complete } = await inTime(listSnapshots(place), LIMITS.snapshotLookMs)
  const fitting = complete.filter(({ fit }) => fit === fitOf(options))
  if (fitting.length === 0)
    refused(
      place.description,
      `none of its ${complete.length} snapshots is of this log and of these versions`,
    )
  for (const one of fitting.slice(0, MOST_TRIED)) {
    if (signal.aborted) break
    try {
      return { takenAt: one.takenAt, position: await beginWith(options, one, signal) }
    } catch (error) {
      refused(one.name, reasonOf(error))
    }
  }
  return undefined
}

async function beginWith(options: BeginOptions, { name }: Snapshot, signal: AbortSignal): Promise<Position> {
  const { place, keys, store, file } = options
  const list = listName({ name })
  const text = await place.get(list)
  if (text === undefined) throw damaged({ name: list }, 'it is gone')
  const { manifest, authenticity } = parseSigned(text.toString(), {
    name: list,
    schema: snapshotSchema,
    keys,
  })
  if (authenticity !== 'authentic' || manifest.name !== name)
    throw damaged({ name: list }, 'it is not signed with the key that signs now, or not under this name')
  if (!(await isStillThere(store, manifest.newest)))
    throw new ServiceError('store_mismatch', {
      message: `it follows from event ${manifest.newest.id} at position ${manifest.newest.position}, which is not in the log: the log was restored from an older copy`,
    })
  const scratch = scratchFile(file)
  const to = openSync(scratch, 'w', 0o600)
  try {
    for (const part of manifest.parts) {
      const packed = await place.get(part.name)
      signal.throwIfAborted()
      if (packed === undefined) throw damaged(part, 'it is missing')
      writeSync(to, unpackBytes(packed, part))
    }
    fsyncSync(to)
  } finally {
    closeSync(to)
  }
  renameSync(scratch, file)
  syncPath(dirname(file))
  return manifest.newest.position
}
