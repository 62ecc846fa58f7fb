import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { assert } from '../../../contracts/assert.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { comparePositions, type Position, START } from '../../../contracts/position.ts'
import { LIMIT_PARAMETER } from '../../runtime/sqlite/limit-parameter.ts'
import { transaction } from '../../runtime/sqlite/transaction.ts'
import { checkpointSum, DamagedRow, rowSum, soundRow, tableName, type VersionState } from './rows-file.ts'
import { type DamageListener, statesIn, VersionFiles } from './version-files.ts'

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
   * Changes rows and checkpoint in one transaction, or in that of `inTransaction`. `newest` is the last event they follow from. @throws ServiceError
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

/** The read models of one log, held by one process. @throws ServiceError `store_locked`, `store_unavailable` */
export function openRowTables(file: string, logId: string) {
  let listener: DamageListener = () => undefined
  const tables = new Map<string, RowTable>()
  const files = new VersionFiles(file, logId, (what, only) => {
    if (only === undefined) tables.clear()
    else tables.delete(tableName(only.name, only.version))
    listener(what, only)
  })

  function opened(name: string, version: number): RowTable {
    const table = tableName(name, version)
    const known = tables.get(table) ?? openTable(files.of(name, version).db, name, version)
    tables.set(table, known)
    return known
  }

  const guarded = <Result>(name: string, version: number, work: () => Result): Result =>
    files.of(name, version).guarded(work)

  function newest(): EventMark | undefined {
    const marks = [...files.all()].flatMap((rows) => rows.guarded(() => newestOf(rows.db)) ?? [])
    return marks.toSorted((one, other) => comparePositions(one.position, other.position)).at(-1)
  }

  return {
    /** Called when damaged rows are thrown away: those of one version, or all. */
    onRemade: (told: DamageListener): void => {
      listener = told
    },
    states: (name: string): VersionState[] => files.states(name),
    /** Begins a version with no rows; one that is built beside another has a file of its own. */
    create(name: string, version: number, role: VersionState['role']): void {
      tables.delete(tableName(name, version))
      files.create(name, version, role)
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
    /** The file of a version, the same for all that lie in it. */
    fileOf: (name: string, version: number): unknown => files.of(name, version),
    /** Commits changes of versions that lie in the file of this one, all or none. */
    inTransaction: (name: string, version: number, work: () => void): void =>
      files.of(name, version).change(work),
    activate: (name: string, version: number): void => files.activate(name, version),
    /** The newest event that any of the rows follow from: a log that has it at its place is the one they were folded from. */
    newest,
    /**
     * Takes all checkpoints back to the newest event, where they are behind it: nothing was folded since, and only up to
     * there is the log known to be the same.
     */
    standOnNewest(): void {
      const position = newest()?.position ?? START
      for (const rows of files.all()) rows.guarded(() => standOn(rows.db, position))
    },
    /** Drops everything. */
    empty(): void {
      tables.clear()
      files.empty()
    },
    close: (): void => files.close(),
  }
}

export const newestOf = (db: DatabaseSync): EventMark | undefined =>
  db.prepare('SELECT id, position FROM newest').get() as EventMark | undefined

function standOn(db: DatabaseSync, position: Position): void {
  const setBack = db.prepare('UPDATE version SET position = ?, sum = ? WHERE name = ? AND version = ?')
  for (const { name, version, position: reached } of statesIn(db))
    if (comparePositions(reached, position) > 0)
      setBack.run(position, checkpointSum(name, version, position), name, version)
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
  const newestSeen = db.prepare('SELECT id, position FROM newest')
  const saw = db.prepare('INSERT OR REPLACE INTO newest (one, id, position) VALUES (1, ?, ?)')
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
      const change = (): void => {
        const sum = checkpointSum(name, version, to)
        if (checkpoint.run(to, sum, name, version, from).changes === 0) throw movedError(name, from)
        // What it follows from is written down with it.
        const before = newestSeen.get() as EventMark | undefined
        if (newest !== undefined && comparePositions(newest.position, before?.position ?? START) > 0)
          saw.run(newest.id, newest.position)
        // In the order of their keys, neighbours share a page while it is at hand.
        for (const key of [...changes.keys()].toSorted()) {
          const row = changes.get(key)
          if (row === undefined) remove.run(key)
          else {
            const text = JSON.stringify(row)
            upsert.run(key, text, rowSum(key, text))
          }
        }
      }
      if (db.isTransaction) change()
      else transaction(db, change)
    },
  }
}

const movedError = (name: string, from: Position): ServiceError =>
  new ServiceError('store_locked', {
    message: `the checkpoint of projection ${name} is not at ${from} any more: something else folds into the same file`,
  })
