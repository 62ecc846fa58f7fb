import { readdirSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { crc32 } from 'node:zlib'
import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import type { Position } from '../../../contracts/position.ts'
import { makePrivate } from '../../runtime/sqlite/private-files.ts'
import { SQLITE, sqliteCode } from '../../runtime/sqlite/result-code.ts'
import { transaction } from '../../runtime/sqlite/transaction.ts'

/** The progress of one version of a projection. */
export interface VersionState {
  readonly version: number
  /** Everything up to here is folded into its rows. */
  readonly position: Position
  /** `active` answers queries; `building` is made beside it. */
  readonly role: 'active' | 'building'
}

/**
 * Pages are copied into the file so many at a time: a table with keys in no order changes the same ones again and
 * again, and each is copied once.
 */
const PAGES_PER_CHECKPOINT = 4_000

/** Read models are rebuilt from the log, so losing their last commits with the power costs only time. */
const SETTINGS = `PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = ${PAGES_PER_CHECKPOINT};`

export type RowsFile = ReturnType<typeof openRowsFile>

export interface RowsFileOptions {
  readonly file: string
  readonly logId: string
  /** Brings a file that was opened, or made anew, into the state that it is used in. */
  readonly prepare: (db: DatabaseSync) => void
  /** Called before a damaged file that is in use is made anew. */
  readonly onDamaged: (what: string) => void
}

/** A file of read models. Everything in it follows from the log, so a damaged one is made anew. */
export function openRowsFile(options: RowsFileOptions) {
  const { file, onDamaged } = options
  let db = openDatabase(options)

  function remake(what: string): void {
    onDamaged(what)
    db.close()
    db = remadeDatabase(options)
  }

  function guarded<Result>(work: () => Result): Result {
    try {
      return work()
    } catch (error) {
      if (!(error instanceof DamagedRow) && !DAMAGED.includes(sqliteCode(error))) throw error
      remake(reasonOf(error))
      throw new ServiceError('store_unavailable', {
        message: `the read models ${file} were damaged and are built anew: ${reasonOf(error)}`,
        cause: error,
      })
    }
  }

  return {
    get db() {
      return db
    },
    remake,
    /** Runs a reading; one that meets damage has the file made anew. @throws ServiceError `store_unavailable` */
    guarded,
    /** The same, in one transaction. */
    change: (work: () => void): void => guarded(() => transaction(db, work)),
    close: (): void => db.close(),
  }
}

/** A row that is not what was written; a former release writes rows without a checksum, which are not believed either. */
export class DamagedRow extends Error {}

export const rowSum = (key: string, row: string): number => crc32(`${key}\t${row}`)
export const checkpointSum = (name: string, version: number, position: Position): number =>
  crc32(`${name}\t${version}\t${position}`)

export function soundRow({ key, row, sum }: { key: string; row: string; sum: number | null }): JsonObject {
  if (sum !== rowSum(key, row)) throw new DamagedRow(`the row ${key} is not what was written`)
  return JSON.parse(row) as JsonObject
}

export type SummedState = VersionState & { readonly name: string; readonly sum: number | null }

export function soundState({ name, version, position, role, sum }: SummedState): VersionState {
  if (sum === checkpointSum(name, version, position) && (role === 'active' || role === 'building'))
    return { version, position, role }
  throw new DamagedRow(`the checkpoint of ${name} is not what was written`)
}

/** Result codes of SQLite for a damaged file, and for one that is no database. */
const DAMAGED: readonly number[] = [SQLITE.corrupt, SQLITE.notADatabase]

/** The layout of a file whose rows have checksums. One of a former release is made anew. */
const SUMMED_LAYOUT = 1

function remadeDatabase(options: RowsFileOptions): DatabaseSync {
  removeRows(options.file)
  return openDatabase(options)
}

function openDatabase(options: RowsFileOptions): DatabaseSync {
  const { file, logId, prepare } = options
  makePrivate(file)
  const db = new DatabaseSync(file)
  try {
    db.exec(SETTINGS)
    const { user_version: layout } = db.prepare('PRAGMA user_version').get() as { user_version: number }
    const isNew = db.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined
    if (!isNew && layout !== SUMMED_LAYOUT) throw new DamagedRow(`its layout is ${layout}`)
    db.exec(`PRAGMA user_version = ${SUMMED_LAYOUT};
      CREATE TABLE IF NOT EXISTS log (id TEXT NOT NULL) STRICT;
      CREATE TABLE IF NOT EXISTS newest (one INTEGER PRIMARY KEY, id TEXT NOT NULL, position TEXT NOT NULL) STRICT;
      CREATE TABLE IF NOT EXISTS version (
        name TEXT NOT NULL, version INTEGER NOT NULL, position TEXT NOT NULL, role TEXT NOT NULL, sum INTEGER,
        PRIMARY KEY (name, version)
      ) STRICT;`)
    claimFor(db, logId)
    prepare(db)
    return db
  } catch (error) {
    db.close()
    if (error instanceof DamagedRow || DAMAGED.includes(sqliteCode(error))) return remadeDatabase(options)
    throw new ServiceError('store_unavailable', {
      message: `the read models ${file} cannot be opened: ${reasonOf(error)}`,
      cause: error,
    })
  }
}

/** Files of read models beside the common one, each with one version. */
export const filesBeside = (file: string): string[] =>
  file === ':memory:'
    ? []
    : readdirSync(dirname(file))
        .filter((name) => name.startsWith(`${basename(file)}.row_`) && /_\d+$/.test(name))
        .map((name) => join(dirname(file), name))

export function removeRows(file: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true })
}

export function tableName(name: string, version: number): string {
  if (!/^[a-z][a-z_]{0,40}$/.test(name) || !Number.isSafeInteger(version)) {
    throw new TypeError(`projection ${name} version ${version} cannot name a table`)
  }
  return `row_${name}_${version}`
}

function claimFor(db: DatabaseSync, logId: string): void {
  const owner = db.prepare('SELECT id FROM log').get() as { id: string } | undefined
  if (owner?.id === logId) return
  transaction(db, () => {
    dropAll(db)
    db.exec('DELETE FROM log')
    db.prepare('INSERT INTO log (id) VALUES (?)').run(logId)
  })
}

export function dropAll(db: DatabaseSync): void {
  const versions = db.prepare('SELECT name, version FROM version').all() as {
    name: string
    version: number
  }[]
  for (const { name, version } of versions) db.exec(`DROP TABLE IF EXISTS ${tableName(name, version)}`)
  db.exec('DELETE FROM version; DELETE FROM newest;')
}
