import { reasonOf, ServiceError } from '../../../contracts/errors/errors.ts'
import { SQLITE, sqliteCode } from '../../runtime/sqlite/result-code.ts'
import type { AppendRefusal } from '../decide-append.ts'

export const logDamaged = (what: string, cause?: unknown): ServiceError =>
  new ServiceError('log_damaged', { message: `the log is damaged: ${what}`, cause })

/** SQLite found a damaged file, or one that is no database. */
export const isDamage = (error: unknown): boolean =>
  [SQLITE.corrupt, SQLITE.notADatabase].some((code) => code === sqliteCode(error))

/** Runs a reading. @throws ServiceError `log_damaged` if SQLite finds that the file is damaged */
export function reading<Result>(read: () => Result): Result {
  try {
    return read()
  } catch (error) {
    throw isDamage(error) ? logDamaged(reasonOf(error), error) : error
  }
}

/** The refusal of a write that failed in SQLite. */
export function refusalOf(error: unknown, isOutcomeUnknown: boolean): AppendRefusal {
  const reason = reasonOf(error)
  if (error instanceof ServiceError) return { code: error.code, message: reason }
  // A full disk is found before the commit record is written, so it is never in doubt.
  if (sqliteCode(error) === SQLITE.full)
    return { code: 'store_full', message: `the event store cannot grow: ${reason}` }
  if (isOutcomeUnknown)
    return { code: 'append_unknown', message: `the event store did not confirm a commit: ${reason}` }
  if (isDamage(error)) return { code: 'log_damaged', message: `the log is damaged: ${reason}` }
  return { code: 'store_unavailable', message: `the event store cannot be written: ${reason}` }
}
