import type { DatabaseSync } from 'node:sqlite'
import { assert } from '../../../contracts/assert.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { START } from '../../../contracts/position.ts'
import { type FileLock, takeFileLock } from '../../runtime/sqlite/file-lock.ts'
import { transaction } from '../../runtime/sqlite/transaction.ts'
import {
  checkpointSum,
  dropAll,
  filesBeside,
  openRowsFile,
  type RowsFile,
  removeRows,
  type SummedState,
  soundState,
  tableName,
  type VersionState,
} from './rows-file.ts'

/** Told of damaged rows when they are thrown away: those of one version, or all. */
export type DamageListener = (
  what: string,
  only?: { readonly name: string; readonly version: number },
) => void

/**
 * The files of the read models of one log, held by one process. The first version of a read model lies in the common
 * file. One that is built beside the version that answers has a file of its own, and keeps it. The common file says which
 * versions there are and which of them answers. All are emptied where they belong to another log.
 */
export class VersionFiles {
  readonly #file: string
  readonly #logId: string
  readonly #lock: FileLock | undefined
  readonly #main: RowsFile
  readonly #listener: DamageListener
  /** By the names of the tables. */
  readonly #files = new Map<string, RowsFile>()

  /** @throws ServiceError `store_locked`, `store_unavailable` */
  constructor(file: string, logId: string, onDamaged: DamageListener) {
    this.#file = file
    this.#logId = logId
    this.#listener = onDamaged
    this.#lock = file === IN_MEMORY ? undefined : takeFileLock(`${file}.lock`, 'the file of read models')
    try {
      this.#main = openRowsFile({
        file,
        logId,
        prepare: (db) => removeLeft(db, file),
        onDamaged: (what) => {
          this.#forget()
          onDamaged(what)
        },
      })
    } catch (error) {
      this.#lock?.release()
      throw error
    }
  }

  /** The file that holds the rows of a version. */
  of(name: string, version: number): RowsFile {
    const table = tableName(name, version)
    const known = this.#files.get(table) ?? (hasTable(this.#main.db, table) ? this.#main : undefined)
    const rows = known ?? this.#openBeside(name, version)
    this.#files.set(table, rows)
    return rows
  }

  all(): Set<RowsFile> {
    return new Set([this.#main, ...this.#versions().map(({ name, version }) => this.of(name, version))])
  }

  states(name: string): VersionState[] {
    return this.#versions(name).map((state) => {
      const rows = this.of(name, state.version)
      if (rows === this.#main) return state
      const [own] = rows.guarded(() => statesIn(rows.db, name))
      return { ...state, position: own?.position ?? START }
    })
  }

  create(name: string, version: number, role: VersionState['role']): void {
    const table = tableName(name, version)
    const main = this.#main
    this.#files.delete(table)
    removeRows(fileBeside(this.#file, table))
    main.change(() => {
      main.db.prepare('DELETE FROM version WHERE name = ? AND version = ?').run(name, version)
      main.db.exec(`DROP TABLE IF EXISTS ${table}`)
      if (role === 'active') createTable(main.db, name, version, role)
      else addVersion(main.db, name, version, role)
    })
  }

  /**
   * Makes a version the one that answers, the only one of its name, in one transaction. The rows of others go at the next
   * start: to throw many away takes long, and callers wait meanwhile.
   */
  activate(name: string, version: number): void {
    const main = this.#main
    main.change(() => {
      main.db.prepare('DELETE FROM version WHERE name = ? AND version != ?').run(name, version)
      const activate = "UPDATE version SET role = 'active' WHERE name = ? AND version = ?"
      main.db.prepare(activate).run(name, version)
      assert(statesIn(main.db, name).length === 1, 'a version in service is the only one')
    })
  }

  empty(): void {
    this.#forget()
    this.#main.change(() => dropAll(this.#main.db))
    removeLeft(this.#main.db, this.#file)
  }

  close(): void {
    this.#forget()
    this.#main.close()
    this.#lock?.release()
  }

  #versions(name?: string): NamedState[] {
    return this.#main.guarded(() => statesIn(this.#main.db, name))
  }

  #openBeside(name: string, version: number): RowsFile {
    const table = tableName(name, version)
    if (!this.#versions(name).some((state) => state.version === version))
      throw new ServiceError('store_unavailable', {
        message: `There is no version ${version} of the read model ${name}.`,
      })
    return openRowsFile({
      file: fileBeside(this.#file, table),
      logId: this.#logId,
      prepare(db) {
        if (!hasTable(db, table)) transaction(db, () => createTable(db, name, version, 'building'))
      },
      onDamaged: (what) => this.#listener(what, { name, version }),
    })
  }

  #forget(): void {
    for (const rows of this.#files.values()) if (rows !== this.#main) rows.close()
    this.#files.clear()
  }
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

export const statesIn = (db: DatabaseSync, name?: string): NamedState[] =>
  db
    .prepare(
      'SELECT name, version, position, role, sum FROM version WHERE name = ifnull(?, name) ORDER BY version',
    )
    .all(name ?? null)
    .map((row) => ({ name: String(row['name']), ...soundState(row as unknown as SummedState) }))

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
