import { DatabaseSync } from 'node:sqlite'
import { ServiceError } from '../../../../contracts/errors.ts'

export interface StoreLock {
  release(): void
}

/**
 * Keeps a second process off the store: two connections could both write the same file. The lock is held
 * in a small database beside it, by the operating system, so it ends with the process however that ends.
 *
 * @throws ServiceError `store_locked`
 */
export function takeStoreLock(file: string): StoreLock {
  const db = new DatabaseSync(file, { timeout: 0 })
  try {
    db.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE;')
  } catch (error) {
    db.close()
    if (isBusy(error)) {
      throw new ServiceError('store_locked', {
        message: `the event store beside ${file} is open in another process`,
        cause: error,
      })
    }
    throw new ServiceError('store_unavailable', {
      message: `the lock ${file} cannot be taken: ${error instanceof Error ? error.message : String(error)}`,
      cause: error,
    })
  }
  return { release: () => db.close() }
}

const SQLITE_BUSY = 5

const isBusy = (error: unknown): boolean =>
  error instanceof Error && 'errcode' in error && (Number(error.errcode) & 0xff) === SQLITE_BUSY
