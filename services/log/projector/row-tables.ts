import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { assert } from '../../../contracts/assert.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { comparePositions, type Position, START } from '../../../contracts/position.ts'
import { LIMIT_PARAMETER } from '../../runtime/sqlite/limit-parameter.ts'
import { transaction } from '../../runtime/sqlite/transaction.ts'
import {
  checkpointSum,
  DamagedRow,
  dropAll,
  openRowsFile,
  rowSum,
  type SummedState,
  soundRow,
  soundState,
  tableName,
  type VersionState,
} from './rows-file.ts'

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
 * The read models of one log in one SQLite file, which is emptied where it belongs to another log. @throws ServiceError
 * `store_locked`, `store_unavailable`
 */
export function openRowTables(file: string, logId: string) {
  const rows = openRowsFile(file, logId, () => tables.clear())
  const { guarded, change } = rows
  const tables = new Map<string, RowTable>()
  const dropTable = (name: string, version: number): void => {
    tables.delete(tableName(name, version))
    rows.db.exec(`DROP TABLE IF EXISTS ${tableName(name, version)}`)
    rows.db.prepare('DELETE FROM version WHERE name = ? AND version = ?').run(name, version)
  }
  const states = (name: string): VersionState[] =>
    rows.db
      .prepare('SELECT name, version, position, role, sum FROM version WHERE name = ? ORDER BY version')
      .all(name)
      .map((row) => soundState(row as unknown as SummedState))
  const opened = (name: string, version: number): RowTable => {
    const key = tableName(name, version)
    const known = tables.get(key) ?? openTable(rows.db, name, version)
    tables.set(key, known)
    return known
  }

  return {
    remake: rows.remake,
    onRemade: rows.onRemade,
    states: (name: string) => guarded(() => states(name)),
    create: (name: string, version: number, role: VersionState['role']) =>
      change(() => {
        dropTable(name, version)
        createTable(rows.db, name, version, role)
      }),
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
      change(() => {
        for (const state of states(name)) if (state.version !== version) dropTable(name, state.version)
        const activate = "UPDATE version SET role = 'active' WHERE name = ? AND version = ?"
        rows.db.prepare(activate).run(name, version)
        assert(states(name).length === 1, 'a version in service is the only one')
      }),
    /** The newest event that any of the rows follow from: a log that has it at its place is the one they were folded from. */
    newest: () => guarded(() => newestOf(rows.db)),
    /**
     * Takes all checkpoints back to the newest event, where they are behind it: nothing was folded since, and only up to
     * there is the log known to be the same.
     */
    standOnNewest: () => guarded(() => standOnNewest(rows.db)),
    /** Drops everything. */
    empty() {
      change(() => dropAll(rows.db))
      tables.clear()
    },
    close: rows.close,
  }
}

const newestOf = (db: DatabaseSync): EventMark | undefined =>
  db.prepare('SELECT id, position FROM newest').get() as EventMark | undefined

/** Within a commit: what it follows from is written down with it. */
function sawEvent(db: DatabaseSync, { id, position }: EventMark): void {
  const before = newestOf(db)?.position ?? START
  if (comparePositions(position, before) > 0)
    db.prepare('INSERT OR REPLACE INTO newest (one, id, position) VALUES (1, ?, ?)').run(id, position)
}

function standOnNewest(db: DatabaseSync): void {
  const position = newestOf(db)?.position ?? START
  const setBack = db.prepare('UPDATE version SET position = ?, sum = ? WHERE name = ? AND version = ?')
  for (const row of db.prepare('SELECT name, version, position, role, sum FROM version').all()) {
    const { name } = row as unknown as SummedState
    const { version, position: reached } = soundState(row as unknown as SummedState)
    if (comparePositions(reached, position) > 0)
      setBack.run(position, checkpointSum(name, version, position), name, version)
  }
}

function createTable(db: DatabaseSync, name: string, version: number, role: VersionState['role']): void {
  db.exec(
    `CREATE TABLE ${tableName(name, version)} (key TEXT PRIMARY KEY, row TEXT NOT NULL, sum INTEGER) STRICT, WITHOUT ROWID`,
  )
  const insert = db.prepare('INSERT INTO version (name, version, position, role, sum) VALUES (?, ?, ?, ?, ?)')
  insert.run(name, version, START, role, checkpointSum(name, version, START))
}

function openTable(db: DatabaseSync, name: string, version: number): RowTable {
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
        if (newest !== undefined) sawEvent(db, newest)
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
