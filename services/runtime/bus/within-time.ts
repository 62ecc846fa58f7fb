import { ServiceError } from '../../../contracts/errors.ts'
import { withTimeout } from '../async/with-timeout.ts'

/**
 * The result of some work, unless time runs out before it. The work itself goes on.
 *
 * @throws ServiceError `bus_unavailable` that begins with `what`.
 */
export function withinTime<Result>(work: Promise<Result>, timeoutMs: number, what: string): Promise<Result> {
  return withTimeout(
    work,
    timeoutMs,
    () => new ServiceError('bus_unavailable', { message: `${what} was not answered within ${timeoutMs} ms` }),
  )
}
