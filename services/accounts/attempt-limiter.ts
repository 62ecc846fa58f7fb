import { isServiceError, ServiceError } from '../../contracts/errors/errors.ts'
import type { Cache } from '../runtime/cache/cache.ts'
import type { FactId } from '../runtime/ids/fact-id.ts'

/** Limits how often one subject may try something. */
export interface AttemptLimiter {
  /**
   * Counts one try.
   *
   * @param subject a client address, say; kept as a keyed hash
   * @throws ServiceError `rate_limited` with `details.retry_after_s`
   */
  take(subject: string): Promise<void>
}

export interface AttemptLimiterOptions {
  readonly cache: Pick<Cache, 'increment'>
  readonly idOf: FactId
  /** The action; part of the counter's name. */
  readonly name: string
  /** The limited subject in the message, as in `from your address`. */
  readonly whose: string
  readonly limit: number
  readonly windowMs: number
  /** Told when the count could not be kept. */
  readonly onProblem: (error: ServiceError) => void
}

/**
 * Counts in the cache, which the processes of a service may share. While the cache is away nobody is refused: what
 * must hold, the codes per e-mail address and the tries per code, is counted in the log.
 */
export const createAttemptLimiter = (options: AttemptLimiterOptions): AttemptLimiter => ({
  async take(subject) {
    const { cache, idOf, name, whose, limit, windowMs, onProblem } = options
    try {
      const { count, expiresInMs } = await cache.increment(`${name}:${idOf(name, subject)}`, {
        ttlMs: windowMs,
      })
      if (count <= limit) return
      const seconds = Math.max(1, Math.ceil(expiresInMs / 1_000))
      throw new ServiceError('rate_limited', {
        message: `${limit} tries were made ${whose}; the next is taken in ${seconds} s`,
        details: { limit, retry_after_s: seconds },
      })
    } catch (error) {
      if (!isServiceError(error, 'dependency_unavailable')) throw error
      onProblem(error)
    }
  },
})
