import { DatabaseSync } from 'node:sqlite'
import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import { makePrivate } from './private-files.ts'
import { SQLITE, sqliteCode } from './result-code.ts'

export interface FileLock {
  release(): void
}

/**
 * Keeps a second process off a database. The operating system holds the lock in a small database beside it, so it ends
 * with the process. @throws ServiceError `store_locked`
 */
export function takeFileLock(file: string, what: string): FileLock {
  makePrivate(file)
  const db = new DatabaseSync(file, { timeout: 0 })
  try {
    db.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE;')
  } catch (error) {
    db.close()
    if (sqliteCode(error) === SQLITE.busy) {
      throw new ServiceError('store_locked', {
        message: `${what} beside ${file} is open in another process`,
        cause: error,
      })
    }
    throw new ServiceError('store_unavailable', {
      message: `the lock ${file} cannot be taken: ${reasonOf(error)}`,
      cause: error,
    })
  }
  return { release: () => db.close() }
}
