import { renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { assert } from '../../../contracts/assert.ts'
import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import { makePrivate } from '../../runtime/sqlite/private-files.ts'
import { SQLITE, sqliteCode } from '../../runtime/sqlite/result-code.ts'
import { syncPath } from '../../runtime/sqlite/sync-path.ts'
import { isErasedData } from './erase-stream.ts'
import { sumOf } from './row-sum.ts'
import { INSERT_EVENT, prepareBuild, prepareIndexes } from './schema.ts'
import type { StoredRow } from './stored-row.ts'

/** A log file that is made anew from rows, beside the place where it is to stand. */
export type LogBuild = ReturnType<typeof buildLog>

/**
 * Makes a log file quickly: nothing is durable before it is finished, and an unfinished file is taken for no log.
 * @throws ServiceError `store_full`, `store_unavailable`
 */
export function buildLog(target: string) {
  const file = `${target}.unfinished`
  removeAll(file)
  makePrivate(file)
  const db = new DatabaseSync(file)
  let newest = 0
  const insert = attempt(file, () => {
    prepareBuild(db)
    db.exec('BEGIN')
    return db.prepare(INSERT_EVENT)
  })
  return {
    /** The unfinished file. */
    file,
    /** Rows in the order of their positions. */
    insert: (rows: readonly StoredRow[]): void =>
      attempt(file, () => {
        for (const row of rows) {
          assert(row[0] > newest, 'a log is built in the order of its positions', row[0])
          newest = row[0]
          insert.run(...row, isErasedData(row[7]) ? null : sumOf(row))
        }
      }),
    /** Puts the indexes in, which also tells whether a place or an id is there twice. Afterwards it can be read. */
    index: () =>
      attempt(file, () => {
        db.exec('COMMIT')
        prepareIndexes(db)
      }),
    /** Puts it in its place, durable. */
    finish() {
      attempt(file, () => db.close())
      syncPath(file)
      renameSync(file, target)
      syncPath(dirname(target))
    },
    /** Leaves nothing behind; after {@link LogBuild.finish} it does nothing. */
    discard() {
      if (!db.isOpen) return
      db.close()
      removeAll(file)
    },
  }
}

function attempt<Result>(file: string, work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    if (sqliteCode(error) === SQLITE.full) {
      throw new ServiceError('store_full', {
        message: `${file} cannot grow: ${reasonOf(error)}`,
        nextStep: 'Free space on that disk, or name a folder on another one, and begin again.',
        cause: error,
      })
    }
    throw new ServiceError('store_unavailable', {
      message: `${file} cannot be written: ${reasonOf(error)}`,
      cause: error,
    })
  }
}

function removeAll(file: string): void {
  for (const suffix of ['', '-journal', '-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true })
}
