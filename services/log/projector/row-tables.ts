import { rmSync } from 'node:fs'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { crc32 } from 'node:zlib'
import { assert } from '../../../contracts/assert.ts'
import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { comparePositions, type Position, START } from '../../../contracts/position.ts'
import { takeFileLock } from '../../runtime/sqlite/file-lock.ts'
import { LIMIT_PARAMETER } from '../../runtime/sqlite/limit-parameter.ts'
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

/** The rows of one version of one projection. */
export interface RowTable {
  get(key: string): JsonObject | undefined
  range(options: RangeOptions): Entry[]
  /** Keys and rows as text, in order of keys. */
  entries(): IterableIterator<{ key: string; row: string }>
  /**
   * Changes rows and checkpoint in one transaction. `newest` is the last event they follow from. @throws ServiceError
   * `store_locked` where the checkpoint is not at `from` any more
   */
  commit(
    changes: ReadonlyMap<string, JsonObject | undefined>,
    from: Position,
    to: Position,
    newest?: EventMark,
  ): void
}

export type RowTables = ReturnType<typeof openRowTables>

/**
 * Pages are copied into the file so many at a time: a table with keys in no order changes the same ones again and
 * again, and each is copied once.
 */
const PAGES_PER_CHECKPOINT = 4_000

/** Read models are rebuilt from the log, so losing their last commits with the power costs only time. */
const SETTINGS = `PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = ${PAGES_PER_CHECKPOINT};`

/**
 * The read models of one log in one SQLite file, which is emptied where it belongs to another log. @throws ServiceError
 * `store_locked`, `store_unavailable`
 */
export function openRowTables(file: string, logId: string) {
  const lock = file === ':memory:' ? undefined : takeFileLock(`${file}.lock`, 'the file of read models')
  let db: DatabaseSync
  try {
    db = openDatabase(file, logId)
  } catch (error) {
    lock?.release()
    throw error
  }
  const tables = new Map<string, RowTable>()
  let onRemade = (_what: string): void => undefined

  /** Everything in the file follows from the log, so a damaged one is made anew. */
  function remake(what: string): void {
    db.close()
    db = remadeDatabase(file, logId)
    tables.clear()
    onRemade(what)
  }

  function guarded<Result>(work: () => Result): Result {
    try {
      return work()
    } catch (error) {
      if (!(error instanceof DamagedRow) && !DAMAGED.includes(sqliteCode(error))) throw error
      remake(reasonOf(error))
      throw new ServiceError('store_unavailable', {
        message: `the read models ${file} are damaged and are built anew: ${reasonOf(error)}`,
        cause: error,
      })
    }
  }

  function dropTable(name: string, version: number): void {
    tables.delete(tableName(name, version))
    db.exec(`DROP TABLE IF EXISTS ${tableName(name, version)}`)
    db.prepare('DELETE FROM version WHERE name = ? AND version = ?').run(name, version)
  }

  const newest = (): EventMark | undefined =>
    db.prepare('SELECT id, position FROM newest').get() as EventMark | undefined

  /** Within a commit: what it follows from is written down with it. */
  function sawEvent({ id, position }: EventMark): void {
    const before = newest()?.position ?? START
    if (comparePositions(position, before) > 0)
      db.prepare('INSERT OR REPLACE INTO newest (one, id, position) VALUES (1, ?, ?)').run(id, position)
  }

  const states = (name: string): VersionState[] =>
    db
      .prepare('SELECT version, position, role, sum FROM version WHERE name = ? ORDER BY version')
      .all(name)
      .map((row) => soundState(name, row as unknown as VersionState & { readonly sum: number | null }))

  const opened = (name: string, version: number): RowTable => {
    const key = tableName(name, version)
    const known = tables.get(key) ?? openTable(db, name, version, sawEvent)
    tables.set(key, known)
    return known
  }

  return {
    remake,
    /** Called after a damaged file was made anew: it is empty. */
    onRemade(listener: (what: string) => void): void {
      onRemade = listener
    },
    states: (name: string) => guarded(() => states(name)),
    create: (name: string, version: number, role: VersionState['role']) =>
      guarded(() =>
        transaction(db, () => {
          dropTable(name, version)
          createTable(db, name, version, role)
        }),
      ),
    table(name: string, version: number): RowTable {
      guarded(() => opened(name, version))
      return {
        get: (key) => guarded(() => opened(name, version).get(key)),
        range: (options) => guarded(() => opened(name, version).range(options)),
        entries: () => opened(name, version).entries(),
        commit: (...commit) => guarded(() => opened(name, version).commit(...commit)),
      }
    },
    /** Makes a version the active one and drops all others, in one transaction. */
    activate: (name: string, version: number) =>
      guarded(() =>
        transaction(db, () => {
          for (const state of states(name)) if (state.version !== version) dropTable(name, state.version)
          db.prepare("UPDATE version SET role = 'active' WHERE name = ? AND version = ?").run(name, version)
          assert(states(name).length === 1, 'a version in service is the only one')
        }),
      ),
    /** The newest event that any of the rows follow from: a log that has it at its place is the one they were folded from. */
    newest: () => guarded(newest),
    /**
     * Takes all checkpoints back to the newest event, where they are behind it: nothing was folded since, and only up to
     * there is the log known to be the same.
     */
    standOnNewest() {
      const position = newest()?.position ?? START
      const all = db.prepare('SELECT name, version, position FROM version').all() as unknown as {
        name: string
        version: number
        position: Position
      }[]
      const setBack = db.prepare('UPDATE version SET position = ?, sum = ? WHERE name = ? AND version = ?')
      for (const state of all) {
        const { name, version } = state
        if (comparePositions(state.position, position) > 0)
          setBack.run(position, checkpointSum(name, version, position), name, version)
      }
    },
    /** Drops everything. */
    empty() {
      guarded(() => transaction(db, () => dropAll(db)))
      tables.clear()
    },
    close() {
      db.close()
      lock?.release()
    },
  }
}

function createTable(db: DatabaseSync, name: string, version: number, role: VersionState['role']): void {
  db.exec(
    `CREATE TABLE ${tableName(name, version)} (key TEXT PRIMARY KEY, row TEXT NOT NULL, sum INTEGER) STRICT, WITHOUT ROWID`,
  )
  const insert = db.prepare('INSERT INTO version (name, version, position, role, sum) VALUES (?, ?, ?, ?, ?)')
  insert.run(name, version, START, role, checkpointSum(name, version, START))
}

/** A row that is not what was written; a former release writes rows without a checksum, which are not believed either. */
class DamagedRow extends Error {}

const rowSum = (key: string, row: string): number => crc32(`${key}\t${row}`)
const checkpointSum = (name: string, version: number, position: Position): number =>
  crc32(`${name}\t${version}\t${position}`)

function soundRow({ key, row, sum }: { key: string; row: string; sum: number | null }): JsonObject {
  if (sum !== rowSum(key, row)) throw new DamagedRow(`the row ${key} is not what was written`)
  return JSON.parse(row) as JsonObject
}

function soundState(
  name: string,
  { version, position, role, sum }: VersionState & { readonly sum: number | null },
): VersionState {
  if (sum === checkpointSum(name, version, position) && (role === 'active' || role === 'building'))
    return { version, position, role }
  throw new DamagedRow(`the checkpoint of ${name} is not what was written`)
}

/** Result codes of SQLite for a damaged file, and for one that is no database. */
const DAMAGED: readonly number[] = [SQLITE.corrupt, SQLITE.notADatabase]

/** The layout of a file whose rows have checksums. One of a former release is made anew. */
const SUMMED_LAYOUT = 1

function remadeDatabase(file: string, logId: string): DatabaseSync {
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true })
  return openDatabase(file, logId)
}

function openDatabase(file: string, logId: string): DatabaseSync {
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
    return db
  } catch (error) {
    db.close()
    if (error instanceof DamagedRow || DAMAGED.includes(sqliteCode(error))) return remadeDatabase(file, logId)
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
    dropAll(db)
    db.exec('DELETE FROM log')
    db.prepare('INSERT INTO log (id) VALUES (?)').run(logId)
  })
}

function dropAll(db: DatabaseSync): void {
  const versions = db.prepare('SELECT name, version FROM version').all() as {
    name: string
    version: number
  }[]
  for (const { name, version } of versions) db.exec(`DROP TABLE IF EXISTS ${tableName(name, version)}`)
  db.exec('DELETE FROM version; DELETE FROM newest;')
}

function openTable(
  db: DatabaseSync,
  name: string,
  version: number,
  sawEvent: (mark: EventMark) => void,
): RowTable {
  const table = tableName(name, version)
  const columns = db.prepare('SELECT 1 FROM pragma_table_info(?) WHERE name = ?')
  if (columns.get(table, 'sum') === undefined) throw new DamagedRow(`${table} is not what was made`)
  const select = db.prepare(`SELECT key, row, sum FROM ${table} WHERE key = ?`)
  const upsert = db.prepare(
    `INSERT INTO ${table} (key, row, sum) VALUES (?, ?, ?)
     ON CONFLICT (key) DO UPDATE SET row = excluded.row, sum = excluded.sum`,
  )
  const remove = db.prepare(`DELETE FROM ${table} WHERE key = ?`)
  const checkpoint = db.prepare(
    'UPDATE version SET position = ?, sum = ? WHERE name = ? AND version = ? AND position = ?',
  )
  const ranges: Record<'forwards' | 'backwards', StatementSync> = {
    forwards: db.prepare(
      `SELECT key, row, sum FROM ${table} WHERE key > ? AND key >= ? AND key < ? ORDER BY key ${LIMIT_PARAMETER}`,
    ),
    backwards: db.prepare(
      `SELECT key, row, sum FROM ${table} WHERE key < ? AND key >= ? AND key < ? ORDER BY key DESC ${LIMIT_PARAMETER}`,
    ),
  }
  return {
    get(key) {
      const found = select.get(key) as Parameters<typeof soundRow>[0] | undefined
      return found === undefined ? undefined : soundRow(found)
    },
    range({ prefix = '', after, direction = 'forwards', limit }) {
      const beyond = `${prefix}\u{10FFFF}`
      const from = after ?? (direction === 'forwards' ? '' : beyond)
      const rows = ranges[direction].all(from, prefix, beyond, Math.min(limit, LIMITS.rowsPerPage))
      return (rows as Parameters<typeof soundRow>[0][]).map((row) => ({ key: row.key, row: soundRow(row) }))
    },
    entries: () =>
      db.prepare(`SELECT key, row FROM ${table} ORDER BY key`).iterate() as IterableIterator<{
        key: string
        row: string
      }>,
    commit(changes, from, to, newest) {
      assert(comparePositions(to, from) >= 0, 'a checkpoint only rises', to)
      assert(
        newest === undefined || comparePositions(newest.position, to) <= 0,
        'a checkpoint covers what was folded',
        to,
      )
      transaction(db, () => {
        const sum = checkpointSum(name, version, to)
        if (checkpoint.run(to, sum, name, version, from).changes === 0) throw movedError(name, from)
        if (newest !== undefined) sawEvent(newest)
        // In the order of their keys, neighbours share a page while it is at hand.
        for (const key of [...changes.keys()].toSorted()) {
          const row = changes.get(key)
          if (row === undefined) remove.run(key)
          else {
            const text = JSON.stringify(row)
            upsert.run(key, text, rowSum(key, text))
          }
        }
      })
    },
  }
}

const movedError = (name: string, from: Position): ServiceError =>
  new ServiceError('store_locked', {
    message: `the checkpoint of projection ${name} is not at ${from} any more: something else folds into the same file`,
  })
