import { ServiceError } from '../../../contracts/errors.ts'

/**
 * The result of some work, unless time runs out before it. The work itself goes on.
 *
 * @throws ServiceError `bus_unavailable` that begins with `what`.
 */
export async function withinTime<Result>(
  work: Promise<Result>,
  timeoutMs: number,
  what: string,
): Promise<Result> {
  const { promise: timeIsUp, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    reject(
      new ServiceError('bus_unavailable', { message: `${what} was not answered within ${timeoutMs} ms` }),
    )
  }, timeoutMs)
  try {
    return await Promise.race([work, timeIsUp])
  } finally {
    clearTimeout(timer)
  }
}
