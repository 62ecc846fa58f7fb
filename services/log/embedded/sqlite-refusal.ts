import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import { SQLITE, sqliteCode } from '../../runtime/sqlite/result-code.ts'
import type { AppendRefusal } from '../decide-append.ts'
import { isDamage } from './row-sum.ts'

/** The refusal of a write that failed in SQLite. */
export function refusalOf(error: unknown, isOutcomeUnknown: boolean): AppendRefusal {
  const reason = reasonOf(error)
  if (error instanceof ServiceError) return { code: error.code, message: reason }
  // A full disk is found before the commit record is written, so it is never in doubt.
  if (sqliteCode(error) === SQLITE.full) {
    return { code: 'store_full', message: `the event store cannot grow: ${reason}` }
  }
  if (isDamage(error) && !isOutcomeUnknown)
    return { code: 'log_damaged', message: `the log is damaged: ${reason}` }
  if (isOutcomeUnknown) {
    return { code: 'append_unknown', message: `the event store did not confirm a commit: ${reason}` }
  }
  return { code: 'store_unavailable', message: `the event store cannot be written: ${reason}` }
}
