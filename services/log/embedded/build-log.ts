import { renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { assert } from '../../../contracts/errors/assert.ts'
import { reasonOf, ServiceError } from '../../../contracts/errors/errors.ts'
import { makePrivate } from '../../runtime/sqlite/private-files.ts'
import { SQLITE, sqliteCode } from '../../runtime/sqlite/result-code.ts'
import { syncPath } from '../../runtime/sqlite/sync-path.ts'
import { INSERT_EVENT, prepareBuild, prepareIndexes } from './schema.ts'
import { isErasedData, type StoredRow, sumOf } from './stored-rows.ts'

/** A log file that is made anew from rows, beside its later name. */
export type LogBuild = ReturnType<typeof buildLog>

/**
 * Makes a log file quickly: nothing is durable before it is finished, and an unfinished file is taken for no log.
 * @throws ServiceError `store_full`, `store_unavailable`
 */
export function buildLog(target: string) {
  const file = `${target}.unfinished`
  const removeAll = (): void =>
    ['', '-journal', '-wal', '-shm'].forEach((suffix) => rmSync(`${file}${suffix}`, { force: true }))
  function attempt<Result>(work: () => Result): Result {
    try {
      return work()
    } catch (error) {
      const isFull = sqliteCode(error) === SQLITE.full
      throw new ServiceError(isFull ? 'store_full' : 'store_unavailable', {
        message: `${file} cannot ${isFull ? 'grow' : 'be written'}: ${reasonOf(error)}`,
        ...(isFull && {
          nextStep: 'Free space on that disk, or name a folder on another one, and begin again.',
        }),
        cause: error,
      })
    }
  }
  removeAll()
  makePrivate(file)
  const db = new DatabaseSync(file)
  let newest = 0
  const insert = attempt(() => {
    prepareBuild(db)
    db.exec('BEGIN')
    return db.prepare(INSERT_EVENT)
  })
  return {
    file,
    insert: (rows: readonly StoredRow[]): void =>
      attempt(() => {
        for (const row of rows) {
          assert(row[0] > newest, 'a log is built in the order of its positions', row[0])
          newest = row[0]
          insert.run(...row, isErasedData(row[7]) ? null : sumOf(row))
        }
      }),
    /** Adds the indexes, which also tells whether a revision or an id is there twice. Afterwards it can be read. */
    index: () =>
      attempt(() => {
        db.exec('COMMIT')
        prepareIndexes(db)
      }),
    /** Gives it its name, durable. */
    finish() {
      attempt(() => db.close())
      syncPath(file)
      renameSync(file, target)
      syncPath(dirname(target))
    },
    /** Leaves nothing behind; after {@link LogBuild.finish} it does nothing. */
    discard() {
      if (!db.isOpen) return
      db.close()
      removeAll()
    },
  }
}
