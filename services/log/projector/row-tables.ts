import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { assert } from '../../../contracts/assert.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { comparePositions, type Position, START } from '../../../contracts/position.ts'
import { takeFileLock } from '../../runtime/sqlite/file-lock.ts'
import { LIMIT_PARAMETER } from '../../runtime/sqlite/limit-parameter.ts'
import { transaction } from '../../runtime/sqlite/transaction.ts'
import {
  checkpointSum,
  DamagedRow,
  dropAll,
  filesBeside,
  openRowsFile,
  type RowsFile,
  removeRows,
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
 * The read models of one log, held by one process. The first version of a read model lies in the common file. One that is
 * built beside the version that answers has a file of its own, and keeps it. The common file says which versions there are
 * and which of them answers. All are emptied where they belong to another log. @throws ServiceError `store_locked`,
 * `store_unavailable`
 */
export function openRowTables(file: string, logId: string) {
  const lock = file === IN_MEMORY ? undefined : takeFileLock(`${file}.lock`, 'the file of read models')
  let listener = (_what: string, _only?: OneVersion): void => undefined
  /** By the names of the tables. */
  const files = new Map<string, RowsFile>()
  const tables = new Map<string, RowTable>()
  const main = openMain()

  function openMain(): RowsFile {
    try {
      return openRowsFile({
        file,
        logId,
        prepare: (db) => removeLeft(db, file),
        onDamaged(what) {
          forgetAll()
          listener(what)
        },
      })
    } catch (error) {
      lock?.release()
      throw error
    }
  }

  const versions = (name?: string): NamedState[] => main.guarded(() => statesIn(main.db, name))

  function rowsOf(name: string, version: number): RowsFile {
    const table = tableName(name, version)
    const rows = files.get(table) ?? (hasTable(main.db, table) ? main : openBeside(name, version))
    files.set(table, rows)
    return rows
  }

  function openBeside(name: string, version: number): RowsFile {
    const table = tableName(name, version)
    if (!versions(name).some((state) => state.version === version))
      throw new ServiceError('store_unavailable', {
        message: `There is no version ${version} of the read model ${name}.`,
      })
    return openRowsFile({
      file: fileBeside(file, table),
      logId,
      prepare(db) {
        if (!hasTable(db, table)) transaction(db, () => createTable(db, name, version, 'building'))
      },
      onDamaged(what) {
        tables.delete(table)
        listener(what, { name, version })
      },
    })
  }

  function opened(name: string, version: number): RowTable {
    const table = tableName(name, version)
    const known = tables.get(table) ?? openTable(rowsOf(name, version).db, name, version)
    tables.set(table, known)
    return known
  }

  const guarded = <Result>(name: string, version: number, work: () => Result): Result =>
    rowsOf(name, version).guarded(work)

  function placed(state: NamedState): VersionState {
    const rows = rowsOf(state.name, state.version)
    if (rows === main) return state
    const [own] = rows.guarded(() => statesIn(rows.db, state.name))
    return { ...state, position: own?.position ?? START }
  }

  function forgetAll(): void {
    tables.clear()
    for (const rows of files.values()) if (rows !== main) rows.close()
    files.clear()
  }

  const all = (): Set<RowsFile> =>
    new Set([main, ...versions().map(({ name, version }) => rowsOf(name, version))])

  function newest(): EventMark | undefined {
    const marks = [...all()].flatMap((rows) => rows.guarded(() => newestOf(rows.db)) ?? [])
    return marks.toSorted((one, other) => comparePositions(one.position, other.position)).at(-1)
  }

  return {
    remake: (what: string) => main.remake(what),
    /** Called when damaged rows are thrown away: those of one version, or all. */
    onRemade: (told: (what: string, only?: OneVersion) => void): void => {
      listener = told
    },
    states: (name: string): VersionState[] => versions(name).map(placed),
    /** Begins a version with no rows; one that is built beside another has a file of its own. */
    create(name: string, version: number, role: VersionState['role']): void {
      const table = tableName(name, version)
      tables.delete(table)
      files.delete(table)
      removeRows(fileBeside(file, table))
      main.change(() => {
        main.db.prepare('DELETE FROM version WHERE name = ? AND version = ?').run(name, version)
        main.db.exec(`DROP TABLE IF EXISTS ${table}`)
        if (role === 'active') createTable(main.db, name, version, role)
        else addVersion(main.db, name, version, role)
      })
    },
    table(name: string, version: number): RowTable {
      guarded(name, version, () => opened(name, version))
      return {
        get: (key) => guarded(name, version, () => opened(name, version).get(key)),
        range: (options) => guarded(name, version, () => opened(name, version).range(options)),
        *entries() {
          const rows = opened(name, version).entries()
          for (;;) {
            const next = guarded(name, version, () => rows.next())
            if (next.done === true) return
            yield next.value
          }
        },
        commit: (...commit) => guarded(name, version, () => opened(name, version).commit(...commit)),
      }
    },
    /**
     * Makes a version the one that answers, the only one of its name. The rows of others go at the next start: to throw many
     * away takes long, and callers wait meanwhile.
     */
    activate: (name: string, version: number): void =>
      main.change(() => {
        main.db.prepare('DELETE FROM version WHERE name = ? AND version != ?').run(name, version)
        const activate = "UPDATE version SET role = 'active' WHERE name = ? AND version = ?"
        main.db.prepare(activate).run(name, version)
        assert(statesIn(main.db, name).length === 1, 'a version in service is the only one')
      }),
    /** The newest event that any of the rows follow from: a log that has it at its place is the one they were folded from. */
    newest,
    /**
     * Takes all checkpoints back to the newest event, where they are behind it: nothing was folded since, and only up to
     * there is the log known to be the same.
     */
    standOnNewest(): void {
      const position = newest()?.position ?? START
      for (const rows of all()) rows.guarded(() => standOn(rows.db, position))
    },
    /** Drops everything. */
    empty(): void {
      forgetAll()
      main.change(() => dropAll(main.db))
      removeLeft(main.db, file)
    },
    close(): void {
      for (const rows of new Set([main, ...files.values()])) rows.close()
      lock?.release()
    },
  }
}

interface OneVersion {
  readonly name: string
  readonly version: number
}

const IN_MEMORY = ':memory:'

/** A version that does not lie in the common file. */
const fileBeside = (file: string, table: string): string => (file === IN_MEMORY ? file : `${file}.${table}`)

/** Removes what a process left that ended before it had removed it: rows of versions that there are no more. */
function removeLeft(db: DatabaseSync, file: string): void {
  const kept = new Set(statesIn(db).map(({ name, version }) => tableName(name, version)))
  const there = db.prepare("SELECT name FROM sqlite_schema WHERE name GLOB 'row_*' AND type = 'table'").all()
  for (const { name } of there) if (!kept.has(String(name))) db.exec(`DROP TABLE ${String(name)}`)
  for (const beside of filesBeside(file)) if (!kept.has(beside.slice(file.length + 1))) removeRows(beside)
}

const hasTable = (db: DatabaseSync, table: string): boolean =>
  db.prepare('SELECT 1 FROM sqlite_schema WHERE name = ?').get(table) !== undefined

type NamedState = VersionState & { readonly name: string }

const statesIn = (db: DatabaseSync, name?: string): NamedState[] =>
  db
    .prepare(
      'SELECT name, version, position, role, sum FROM version WHERE name = ifnull(?, name) ORDER BY version',
    )
    .all(name ?? null)
    .map((row) => ({ name: String(row['name']), ...soundState(row as unknown as SummedState) }))

const newestOf = (db: DatabaseSync): EventMark | undefined =>
  db.prepare('SELECT id, position FROM newest').get() as EventMark | undefined

/** Within a commit: what it follows from is written down with it. */
function sawEvent(db: DatabaseSync, { id, position }: EventMark): void {
  const before = newestOf(db)?.position ?? START
  if (comparePositions(position, before) > 0)
    db.prepare('INSERT OR REPLACE INTO newest (one, id, position) VALUES (1, ?, ?)').run(id, position)
}

function standOn(db: DatabaseSync, position: Position): void {
  const setBack = db.prepare('UPDATE version SET position = ?, sum = ? WHERE name = ? AND version = ?')
  for (const { name, version, position: reached } of statesIn(db))
    if (comparePositions(reached, position) > 0)
      setBack.run(position, checkpointSum(name, version, position), name, version)
}

function addVersion(db: DatabaseSync, name: string, version: number, role: VersionState['role']): void {
  const insert = db.prepare('INSERT INTO version (name, version, position, role, sum) VALUES (?, ?, ?, ?, ?)')
  insert.run(name, version, START, role, checkpointSum(name, version, START))
}

function createTable(db: DatabaseSync, name: string, version: number, role: VersionState['role']): void {
  db.exec(
    `CREATE TABLE ${tableName(name, version)} (key TEXT PRIMARY KEY, row TEXT NOT NULL, sum INTEGER) STRICT, WITHOUT ROWID`,
  )
  addVersion(db, name, version, role)
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
