import { rmSync } from 'node:fs'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { type Position, START } from '../../../contracts/position.ts'
import { LIMIT_PARAMETER } from '../sqlite/limit-parameter.ts'
import { SQLITE, sqliteCode } from '../sqlite/result-code.ts'

/** Where one version of a projection stands. */
export interface VersionState {
  readonly version: number
  /** Everything up to here is folded into its rows. */
  readonly position: Position
  /** `active` answers queries; `building` is made beside it. */
  readonly role: 'active' | 'building'
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

/** The rows of one version of one projection. */
export interface RowTable {
  get(key: string): JsonObject | undefined
  range(options: RangeOptions): Entry[]
  /** Keys and rows as text, in order of keys. */
  entries(): IterableIterator<{ key: string; row: string }>
  /** Rows and checkpoint change in one transaction: after a crash they fit one another. */
  commit(changes: ReadonlyMap<string, JsonObject | undefined>, position: Position): void
}

export interface RowTables {
  states(name: string): VersionState[]
  create(name: string, version: number, role: VersionState['role']): void
  table(name: string, version: number): RowTable
  /** Makes a version the active one and drops all others, in one transaction. */
  activate(name: string, version: number): void
  drop(name: string, version: number): void
  close(): void
}

/** Read models are rebuilt from the log, so losing their last commits with the power costs only time. */
const SETTINGS = 'PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;'

/**
 * The read models of one log in one SQLite file. A file that belongs to another log is emptied.
 *
 * @param logId what tells the log apart from every other: the id of its first event.
 */
export function openRowTables(file: string, logId: string): RowTables {
  const db = openDatabase(file, logId)
  const tables = new Map<string, RowTable>()

  function dropTable(name: string, version: number): void {
    tables.delete(tableName(name, version))
    db.exec(`DROP TABLE IF EXISTS ${tableName(name, version)}`)
    db.prepare('DELETE FROM version WHERE name = ? AND version = ?').run(name, version)
  }

  const states = (name: string): VersionState[] =>
    db
      .prepare('SELECT version, position, role FROM version WHERE name = ? ORDER BY version')
      .all(name) as unknown as VersionState[]

  return {
    states,
    create(name, version, role) {
      transaction(db, () => {
        dropTable(name, version)
        db.exec(
          `CREATE TABLE ${tableName(name, version)} (key TEXT PRIMARY KEY, row TEXT NOT NULL) STRICT, WITHOUT ROWID`,
        )
        db.prepare('INSERT INTO version (name, version, position, role) VALUES (?, ?, ?, ?)').run(
          name,
          version,
          START,
          role,
        )
      })
    },
    table(name, version) {
      const key = tableName(name, version)
      const known = tables.get(key) ?? openTable(db, name, version)
      tables.set(key, known)
      return known
    },
    activate(name, version) {
      transaction(db, () => {
        for (const state of states(name)) if (state.version !== version) dropTable(name, state.version)
        db.prepare("UPDATE version SET role = 'active' WHERE name = ? AND version = ?").run(name, version)
      })
    },
    drop: (name, version) => transaction(db, () => dropTable(name, version)),
    close: () => db.close(),
  }
}

/** What SQLite says of a file that is damaged, and of one that is no database. */
const DAMAGED: readonly number[] = [SQLITE.corrupt, SQLITE.notADatabase]

function openDatabase(file: string, logId: string): DatabaseSync {
  const db = new DatabaseSync(file)
  try {
    db.exec(SETTINGS)
    db.exec(`
      CREATE TABLE IF NOT EXISTS log (id TEXT NOT NULL) STRICT;
      CREATE TABLE IF NOT EXISTS version (
        name TEXT NOT NULL, version INTEGER NOT NULL, position TEXT NOT NULL, role TEXT NOT NULL,
        PRIMARY KEY (name, version)
      ) STRICT;`)
    claimFor(db, logId)
    return db
  } catch (error) {
    db.close()
    if (DAMAGED.includes(sqliteCode(error))) {
      // Everything in it follows from the log, so a damaged file is made anew.
      for (const suffix of ['', '-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true })
      return openDatabase(file, logId)
    }
    throw new ServiceError('store_unavailable', {
      message: `the read models ${file} cannot be opened: ${reasonOf(error)}`,
      cause: error,
    })
  }
}

function tableName(name: string, version: number): string {
  if (!/^[a-z][a-z_]{0,40}$/.test(name) || !Number.isSafeInteger(version)) {
    throw new TypeError(`projection ${name} version ${version} cannot name a table`)
  }
  return `row_${name}_${version}`
}

function claimFor(db: DatabaseSync, logId: string): void {
  const owner = db.prepare('SELECT id FROM log').get() as { id: string } | undefined
  if (owner?.id === logId) return
  transaction(db, () => {
    const versions = db.prepare('SELECT name, version FROM version').all() as {
      name: string
      version: number
    }[]
    for (const { name, version } of versions) db.exec(`DROP TABLE IF EXISTS ${tableName(name, version)}`)
    db.exec('DELETE FROM version; DELETE FROM log;')
    db.prepare('INSERT INTO log (id) VALUES (?)').run(logId)
  })
}

function transaction(db: DatabaseSync, work: () => void): void {
  db.exec('BEGIN IMMEDIATE')
  try {
    work()
    db.exec('COMMIT')
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK')
    throw error
  }
}

function openTable(db: DatabaseSync, name: string, version: number): RowTable {
  const table = tableName(name, version)
  const select = db.prepare(`SELECT row FROM ${table} WHERE key = ?`)
  const upsert = db.prepare(
    `INSERT INTO ${table} (key, row) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET row = excluded.row`,
  )
  const remove = db.prepare(`DELETE FROM ${table} WHERE key = ?`)
  const checkpoint = db.prepare('UPDATE version SET position = ? WHERE name = ? AND version = ?')
  const ranges: Record<'forwards' | 'backwards', StatementSync> = {
    forwards: db.prepare(
      `SELECT key, row FROM ${table} WHERE key > ? AND key >= ? AND key < ? ORDER BY key ${LIMIT_PARAMETER}`,
    ),
    backwards: db.prepare(
      `SELECT key, row FROM ${table} WHERE key < ? AND key >= ? AND key < ? ORDER BY key DESC ${LIMIT_PARAMETER}`,
    ),
  }
  const parse = (text: string): JsonObject => JSON.parse(text) as JsonObject

  return {
    get(key) {
      const found = select.get(key) as { row: string } | undefined
      return found === undefined ? undefined : parse(found.row)
    },
    range({ prefix = '', after, direction = 'forwards', limit }) {
      const beyond = `${prefix}\u{10FFFF}`
      const from = after ?? (direction === 'forwards' ? '' : beyond)
      const rows = ranges[direction].all(from, prefix, beyond, Math.min(limit, LIMITS.rowsPerPage))
      return (rows as { key: string; row: string }[]).map(({ key, row }) => ({ key, row: parse(row) }))
    },
    entries: () =>
      db.prepare(`SELECT key, row FROM ${table} ORDER BY key`).iterate() as IterableIterator<{
        key: string
        row: string
      }>,
    commit(changes, position) {
      transaction(db, () => {
        for (const [key, row] of changes) {
          if (row === undefined) remove.run(key)
          else upsert.run(key, JSON.stringify(row))
        }
        checkpoint.run(position, name, version)
      })
    },
  }
}
