import type { Logger } from 'pino'
import { ERRORS, type ErrorCode, type ServiceError } from '../../contracts/errors.ts'

/** Tells the operator why requests are refused, where callers are not told. */
export type CauseLog = (error: ServiceError, requestId: string) => void

/** How often that is said of each code: callers must not be able to flood the log. */
const SAY_EVERY_MS = 10_000

/** @param now a clock that is never set, milliseconds */
export function createCauseLog(log: Pick<Logger, 'warn'>, now: () => number): CauseLog {
  const said = new Map<ErrorCode, { at: number; unsaid: number }>()
  return (error, requestId) => {
    const { code, cause, isForCallers } = error
    // Faults of the program are logged each.
    if (ERRORS[code].status === 500 || (isForCallers && cause === undefined)) return
    const before = said.get(code)
    if (before !== undefined && now() - before.at < SAY_EVERY_MS) {
      before.unsaid += 1
      return
    }
    said.set(code, { at: now(), unsaid: 0 })
    log.warn({ err: error, request_id: requestId, more: before?.unsaid ?? 0 }, 'requests are refused')
  }
}
