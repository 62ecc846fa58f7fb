import { randomBytes } from 'node:crypto'
import { createReadStream, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { comparePositions } from '../../../contracts/position.ts'
import { DAY_MS } from '../../../contracts/timeframes.ts'
import { type EventMark, newestOf } from '../../log/projector/row-tables.ts'
import { filesBeside } from '../../log/projector/rows-file.ts'
import { makePrivate, makePrivateFolder } from '../../runtime/sqlite/private-files.ts'
import { signedText } from '../backup/manifest.ts'
import { packSegment } from '../backup/segment.ts'
import {
  fitOf,
  listSnapshots,
  type RowsAtPlace,
  type SnapshotFiles,
  scratchFolder,
  snapshotName,
} from './snapshot.ts'

export interface SnapshotOptions extends RowsAtPlace {
  /** Nothing is done where a process took one within so many milliseconds. */
  readonly everyMs: number
  /** Wall clock, Unix milliseconds. */
  readonly now: () => number
  /** Bytes of a part, unpacked. */
  readonly partBytes?: number
}

const PART_BYTES = 8 * 1_024 * 1_024
/** How many of a log and release stay. */
const KEPT = 2
/** Clocks of processes may differ by so much. */
const AHEAD_MS = 600_000

/**
 * Copies the read models of a process to a place while they are used. The list of what was copied comes last: a process
 * that ends before leaves nothing that another begins with. @returns when the newest that fits was taken, Unix
 * milliseconds; undefined where nothing was folded yet @throws ServiceError `backup_unreachable`, `store_full`; what
 * SQLite reports
 */
export async function takeSnapshot(options: SnapshotOptions): Promise<number | undefined> {
  const { file, place, keys, everyMs, now } = options
  const [fit, takenAt, scratch] = [fitOf(options), now(), scratchFolder(file)]
  const newest = (await ownLists(options, fit, takenAt))[0]?.takenAt
  if (newest !== undefined && takenAt - newest < everyMs) return newest
  rmSync(scratch, { recursive: true, force: true })
  makePrivateFolder(scratch)
  try {
    const name = snapshotName(fit, takenAt, randomBytes(4).toString('hex'))
    const { files, mark } = await copyFiles(options, name, join(scratch, 'rows'))
    if (mark === undefined) return newest
    const list = signedText({ kind: 'read models', name, newest: mark, files }, keys)
    await place.put(`${name}.json`, Buffer.from(list))
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
  const own = (await ownLists(options, fit, takenAt)).map(({ name }) => name)
  // A day goes by over those of former releases, and those that nobody completed.
  for (const { file: old, name, takenAt: at } of await listSnapshots(place))
    if (own.indexOf(name) >= KEPT || (!own.includes(name) && Math.abs(takenAt - at) > DAY_MS))
      await place.remove(old)
  return takenAt
}

/** Lists of what a process of this log and release can begin with, the newest first. */
const ownLists = async ({ place }: RowsAtPlace, fit: string, now: number) =>
  (await listSnapshots(place)).filter((one) => one.isList && one.fit === fit && one.takenAt <= now + AHEAD_MS)

/** Each file is copied as of one moment and knows how far it goes; the common file comes last. */
async function copyFiles(
  { file, place, partBytes = PART_BYTES }: SnapshotOptions,
  name: string,
  copy: string,
) {
  const files: SnapshotFiles = []
  let [count, mark]: [number, EventMark | undefined] = [0, undefined]
  for (const rows of [...filesBeside(file), file]) {
    const newest = copyFile(rows, copy)
    if (newest !== undefined && (mark === undefined || comparePositions(newest.position, mark.position) > 0))
      mark = newest
    const parts: SnapshotFiles[number]['parts'] = []
    for await (const bytes of createReadStream(copy, { highWaterMark: partBytes })) {
      const { body, sha256 } = packSegment(bytes as Buffer)
      const part = { name: `${name}.${count++}`, sha256 }
      await place.put(part.name, body)
      parts.push(part)
    }
    files.push({ suffix: rows.slice(file.length), parts })
    rmSync(copy)
  }
  return { files, mark }
}

/** @returns the newest event that its rows follow from */
function copyFile(rows: string, copy: string): EventMark | undefined {
  // SQLite copies into an empty file with the rights that it has.
  makePrivate(copy)
  const db = new DatabaseSync(rows, { readOnly: true })
  try {
    db.prepare('VACUUM INTO ?').run(copy)
  } finally {
    db.close()
  }
  const copied = new DatabaseSync(copy, { readOnly: true })
  try {
    return newestOf(copied)
  } finally {
    copied.close()
  }
}
