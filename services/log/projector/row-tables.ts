import { rmSync } from 'node:fs'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { reasonOf, ServiceError } from '../../../contracts/errors/errors.ts'
import type { JsonObject } from '../../../contracts/infra/json.ts'
import { comparePositions, type Position, START } from '../../../contracts/infra/position.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { takeFileLock } from '../../runtime/sqlite/file-lock.ts'
import { LIMIT_PARAMETER } from '../../runtime/sqlite/limit-parameter.ts'
import { makePrivate } from '../../runtime/sqlite/private-files.ts'
import { transaction } from '../../runtime/sqlite/transaction.ts'
import { isDamage } from '../embedded/sqlite-errors.ts'

/** An event, and where it stood. */
export interface EventMark {
  readonly id: string
  readonly position: Position
}

export interface RangeOptions {
  readonly prefix?: string
  /** Exclusive; where the page before ended. */
  readonly after?: string
  readonly direction?: 'forwards' | 'backwards'
  readonly limit: number
}

export interface Entry<Row extends JsonObject = JsonObject> {
  readonly key: string
  readonly row: Row
}

/** How far a read model has come. */
export interface ModelState {
  /** Everything up to here is folded into its rows. */
  readonly position: Position
  /** Whether it has caught up with the log once, since it was begun. */
  readonly isWhole: boolean
}

/** Rows by key that change; undefined where a row is deleted. */
export type ChangedRows = ReadonlyMap<string, JsonObject | undefined>

export interface ModelChange extends ModelState {
  readonly name: string
  readonly rows: ChangedRows
}

/** The rows of the read models of one log. */
export type RowTables = ReturnType<typeof openRowTables>

const IN_MEMORY = ':memory:'

/**
 * The read models of one log in a file, held by one process. @throws ServiceError `store_locked`, `store_unavailable`;
 * each method `store_unavailable` where the file was damaged
 */
// oxlint-disable-next-line max-lines-per-function -- the methods of one file
export function openRowTables(file: string, logId: string) {
  const lock = file === IN_MEMORY ? undefined : takeFileLock(`${file}.lock`, 'the file of read models')
  let db: DatabaseSync
  try {
    db = openFile(file, logId)
  } catch (error) {
    lock?.release()
    throw error
  }
  let onEmptied: (error: ServiceError) => void = () => undefined
  const statements = new Map<string, ModelStatements>()
  const of = (name: string): ModelStatements => {
    const known = statements.get(name) ?? prepareModel(db, name)
    statements.set(name, known)
    return known
  }
  function empty(): void {
    statements.clear()
    db.close()
    db = emptyFile(file, logId)
  }
  function guarded<Result>(work: () => Result): Result {
    try {
      return work()
    } catch (error) {
      if (!isDamage(error)) throw error
      empty()
      const message = `the read models ${file} were damaged and are built anew: ${reasonOf(error)}`
      const refusal = new ServiceError('store_unavailable', { message, cause: error })
      onEmptied(refusal)
      throw refusal
    }
  }
  return {
    /** Opens a read model, where its rows begin anew if they are those of another version. */
    open: (name: string, version: number) => guarded(() => openModel(db, name, version)),
    get: (name: string, key: string) => guarded(() => parsed(of(name).select.get(key)?.['row'])),
    range: (name: string, options: RangeOptions) => guarded(() => rangeOf(of(name), options)),
    entries: (name: string) => of(name).all.iterate() as Iterable<unknown> as Iterable<StoredEntry>,
    /** Changes rows and checkpoints, all or none. `newest` is the last event that they follow from. */
    commit: (changes: readonly ModelChange[], newest?: EventMark): void =>
      guarded(() =>
        transaction(db, () => {
          for (const change of changes) of(change.name).write(change)
          const known = newestOf(db)?.position ?? START
          if (newest === undefined || comparePositions(newest.position, known) <= 0) return
          const note = 'INSERT OR REPLACE INTO newest (one, id, position) VALUES (1, ?, ?)'
          db.prepare(note).run(newest.id, newest.position)
        }),
      ),
    /** The newest event that any of the rows follow from: a log that has it at its place is the one they were folded from. */
    newest: () => guarded(() => newestOf(db)),
    empty,
    /** Called when a damaged file was emptied: every read model is to be opened again. */
    onEmptied(listener: typeof onEmptied): void {
      onEmptied = listener
    },
    close(): void {
      db.close()
      lock?.release()
    },
  }
}

interface StoredEntry {
  readonly key: string
  readonly row: string
}

const newestOf = (db: DatabaseSync): EventMark | undefined =>
  db.prepare('SELECT id, position FROM newest').get() as EventMark | undefined

type ModelStatements = ReturnType<typeof prepareModel>

function prepareModel(db: DatabaseSync, name: string) {
  const table = tableName(name)
  const checkpoint = db.prepare('UPDATE model SET position = ?, is_whole = ? WHERE name = ?')
  const upsert = db.prepare(`INSERT OR REPLACE INTO ${table} (key, row) VALUES (?, ?)`)
  const remove = db.prepare(`DELETE FROM ${table} WHERE key = ?`)
  const range = (isBeyond: string, order: string): StatementSync =>
    db.prepare(
      `SELECT key, row FROM ${table} WHERE key ${isBeyond} ? AND key >= ? AND key < ? ORDER BY key ${order} ${LIMIT_PARAMETER}`,
    )
  return {
    select: db.prepare(`SELECT row FROM ${table} WHERE key = ?`),
    all: db.prepare(`SELECT key, row FROM ${table} ORDER BY key`),
    forwards: range('>', 'ASC'),
    backwards: range('<', 'DESC'),
    write({ rows, position, isWhole }: ModelChange): void {
      checkpoint.run(position, Number(isWhole), name)
      // In the order of their keys, neighbours share a page while it is at hand.
      for (const key of [...rows.keys()].toSorted()) {
        const row = rows.get(key)
        if (row === undefined) remove.run(key)
        else upsert.run(key, JSON.stringify(row))
      }
    },
  }
}

function openModel(db: DatabaseSync, name: string, version: number): ModelState {
  const found = db.prepare('SELECT version, position, is_whole FROM model WHERE name = ?').get(name)
  if (found?.['version'] === version)
    return { position: String(found['position']), isWhole: found['is_whole'] === 1 }
  transaction(db, () => {
    db.exec(`DROP TABLE IF EXISTS ${tableName(name)};
      CREATE TABLE ${tableName(name)} (key TEXT PRIMARY KEY, row TEXT NOT NULL) STRICT, WITHOUT ROWID;`)
    const begin = 'INSERT OR REPLACE INTO model (name, version, position, is_whole) VALUES (?, ?, ?, 0)'
    db.prepare(begin).run(name, version, START)
  })
  return { position: START, isWhole: false }
}

function rangeOf(
  model: ModelStatements,
  { prefix = '', after, direction = 'forwards', limit }: RangeOptions,
): Entry[] {
  const beyond = `${prefix}\u{10FFFF}`
  const from = after ?? (direction === 'forwards' ? '' : beyond)
  const rows = model[direction].all(from, prefix, beyond, Math.min(limit, LIMITS.rowsPerPage))
  return rows.map(({ key, row }) => ({ key: String(key), row: parsed(row) as JsonObject }))
}

const parsed = (row: unknown): JsonObject | undefined =>
  row === undefined ? undefined : (JSON.parse(row as string) as JsonObject)

function tableName(name: string): string {
  if (!/^[a-z][a-z_]{0,40}$/.test(name)) throw new TypeError(`projection ${name} cannot name a table`)
  return `row_${name}`
}

/**
 * Read models are rebuilt from the log, so losing their last commits with the power costs only time. Pages are copied into
 * the file 32 MiB at a time: a table with keys in no order changes the same ones again and again.
 */
const SETTINGS = 'PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 4000;'

/** A file of another layout, or of another log, is made anew. */
const LAYOUT = 2
const SCHEMA = `PRAGMA user_version = ${LAYOUT};
  CREATE TABLE log (id TEXT NOT NULL) STRICT;
  CREATE TABLE newest (one INTEGER PRIMARY KEY, id TEXT NOT NULL, position TEXT NOT NULL) STRICT;
  CREATE TABLE model (
    name TEXT PRIMARY KEY, version INTEGER NOT NULL, position TEXT NOT NULL, is_whole INTEGER NOT NULL
  ) STRICT;`

/**
 * Opens the file of read models. All in it follows from the log: one that is damaged, or of another log, is emptied.
 * @throws ServiceError `store_unavailable` where it cannot be opened
 */
function openFile(file: string, logId: string): DatabaseSync {
  makePrivate(file)
  let db = new DatabaseSync(file)
  try {
    if (isOfLog(db, logId)) return db
    db.close()
    db = emptyFile(file, logId)
    return db
  } catch (error) {
    if (db.isOpen) db.close()
    if (isDamage(error)) return emptyFile(file, logId)
    throw new ServiceError('store_unavailable', {
      message: `the read models ${file} cannot be opened: ${reasonOf(error)}`,
      cause: error,
    })
  }
}

/** Makes the file anew; nothing may have it open. */
function emptyFile(file: string, logId: string): DatabaseSync {
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true })
  makePrivate(file)
  const db = new DatabaseSync(file)
  db.exec(SETTINGS)
  db.exec(SCHEMA)
  db.prepare('INSERT INTO log (id) VALUES (?)').run(logId)
  return db
}

function isOfLog(db: DatabaseSync, logId: string): boolean {
  db.exec(SETTINGS)
  const { user_version: layout } = db.prepare('PRAGMA user_version').get() as { user_version: number }
  return layout === LAYOUT && db.prepare('SELECT id FROM log').get()?.['id'] === logId
}
