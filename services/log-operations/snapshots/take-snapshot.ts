import { randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { comparePositions, START } from '../../../contracts/position.ts'
import { DAY_MS } from '../../../contracts/timeframes.ts'
import { type EventMark, newestOf, noteNewest, setPosition } from '../../log/projector/row-tables.ts'
import { removeRows, tableName } from '../../log/projector/rows-file.ts'
import { fileBeside, hasTable, statesIn } from '../../log/projector/version-files.ts'
import { makePrivate } from '../../runtime/sqlite/private-files.ts'
import { signedText } from '../backup/manifest.ts'
import type { BackupPlace } from '../backup/place.ts'
import { packSegment } from '../backup/segment.ts'
import { fitOf, listName, listSnapshots, type RowsAtPlace, snapshotName } from './snapshot.ts'

export interface SnapshotOptions extends RowsAtPlace {
  /** Nothing is done where a process took one within so many milliseconds. */
  readonly everyMs: number
  /** Wall clock, Unix milliseconds. */
  readonly now: () => number
  /** Bytes of a part, unpacked. */
  readonly partBytes?: number
}

const PART_BYTES = 8 * 1_024 * 1_024
/** How many complete ones of a log and release stay. */
const KEPT = 2
/** Clocks of processes may differ by so much. */
const AHEAD_MS = 600_000

/** What is copied, or begun with, until it is whole. */
export const scratchFile = (file: string): string => `${file}.snapshot`

/**
 * Copies the read models of a process to a place while they are used. The list of the parts comes last: a process that
 * ends before leaves nothing that another begins with. @returns when the newest that fits was taken, Unix milliseconds;
 * undefined for none @throws ServiceError `backup_unreachable`, `store_full`; what SQLite reports
 */
export async function takeSnapshot(options: SnapshotOptions): Promise<number | undefined> {
  const { file, place, keys, everyMs, now, partBytes = PART_BYTES } = options
  const [fit, takenAt] = [fitOf(options), now()]
  const { complete } = await listSnapshots(place)
  const newest = complete.find((one) => one.fit === fit && one.takenAt <= takenAt + AHEAD_MS)?.takenAt
  if (newest !== undefined && takenAt - newest < everyMs) return newest
  const scratch = scratchFile(file)
  try {
    const mark = copyRows(options, scratch)
    if (mark === undefined) return newest
    const name = snapshotName(fit, takenAt, randomBytes(4).toString('hex'))
    const parts: { readonly name: string; readonly sha256: string }[] = []
    for await (const bytes of createReadStream(scratch, { highWaterMark: partBytes })) {
      const { body, sha256 } = packSegment(bytes as Buffer)
      const part = { name: `${name}.${parts.length}`, sha256 }
      await place.put(part.name, body)
      parts.push(part)
    }
    const list = signedText({ kind: 'read models', name, newest: mark, parts }, keys)
    await place.put(listName({ name }), Buffer.from(list))
  } finally {
    removeRows(scratch)
  }
  await removeOld(place, fit, takenAt)
  return takenAt
}

/** All of this log and release but the newest, and what a day went by over: of former releases, or never completed. */
async function removeOld(place: BackupPlace, fit: string, now: number): Promise<void> {
  const { complete, files } = await listSnapshots(place)
  const own = complete
    .filter((one) => one.fit === fit && one.takenAt <= now + AHEAD_MS)
    .map(({ name }) => name)
  const [kept, gone] = [own.slice(0, KEPT), own.slice(KEPT)]
  for (const { file, name, takenAt } of files)
    if (gone.includes(name) || (!kept.includes(name) && Math.abs(now - takenAt) > DAY_MS))
      await place.remove(file)
}

/** A consistent copy with the rows of every version that answers. @returns the newest event that they follow from */
function copyRows({ file, tables }: SnapshotOptions, scratch: string): EventMark | undefined {
  copyFile(file, scratch)
  const db = new DatabaseSync(scratch)
  try {
    db.exec('PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF')
    const states = statesIn(db).map((state) => ({ ...state, table: tableName(state.name, state.version) }))
    const answering = states.filter(({ table, role }) => role === 'active' && tables.includes(table))
    if (answering.length < tables.length) return undefined
    for (const one of answering) if (!hasTable(db, one.table)) addBeside(db, fileBeside(file, one.table), one)
    for (const { name, version, table } of states) {
      if (tables.includes(table)) continue
      db.exec(`DROP TABLE IF EXISTS ${table}`)
      db.prepare('DELETE FROM version WHERE name = ? AND version = ?').run(name, version)
    }
    return newestOf(db)
  } finally {
    db.close()
  }
}

function copyFile(file: string, to: string): void {
  removeRows(to)
  makePrivate(to)
  const db = new DatabaseSync(file, { readOnly: true })
  try {
    db.prepare('VACUUM INTO ?').run(to)
  } finally {
    db.close()
  }
}

/** Adds the rows of a version that lies in a file of its own, from a copy of that: its writer is held up by nothing. */
function addBeside(
  db: DatabaseSync,
  file: string,
  { name, version, table }: { readonly name: string; readonly version: number; readonly table: string },
): void {
  const copy = `${String(db.location())}-beside`
  try {
    copyFile(file, copy)
    const beside = new DatabaseSync(copy)
    const mark = newestOf(beside)
    const position = statesIn(beside, name)[0]?.position ?? START
    const made = beside.prepare('SELECT sql FROM sqlite_schema WHERE name = ?').get(table)
    beside.close()
    db.prepare('ATTACH ? AS beside').run(copy)
    db.exec(
      `${String(made?.['sql'])}; INSERT INTO main.${table} SELECT * FROM beside.${table}; DETACH beside`,
    )
    setPosition(db, { name, version, position })
    // A start takes back what is beyond the newest event that was folded: it must be that of all.
    if (mark !== undefined && comparePositions(mark.position, newestOf(db)?.position ?? START) > 0)
      noteNewest(db).run(mark.id, mark.position)
  } finally {
    removeRows(copy)
  }
}
