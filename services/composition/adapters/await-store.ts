import { isServiceError, reasonOf, ServiceError } from '../../../contracts/errors/errors.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import type { Start } from '../shutdown.ts'

/** How often a store that is unavailable is asked again, and how often that is logged. */
const RETRY_MS = 500
const LOG_EVERY_MS = 10_000

/**
 * Asks a store until it answers: in containers a service often starts before its store, or while a cluster elects.
 * @throws ServiceError `store_unavailable` once STORE_WAIT is over; any other refusal at once
 */
export async function awaitStore<Answer>(
  ask: () => Promise<Answer>,
  { settings, log }: Pick<Start, 'settings' | 'log'>,
  time: Pick<Clock, 'elapsed' | 'sleep'> = { elapsed: () => performance.now(), sleep },
): Promise<Answer> {
  const waitsForMs = settings.STORE_WAIT * 1_000
  const began = time.elapsed()
  for (let loggedAt = Number.NEGATIVE_INFINITY; ; ) {
    try {
      return await ask()
    } catch (error) {
      if (!isServiceError(error, 'store_unavailable') && !isServiceError(error, 'outcome_unknown'))
        throw error
      const waitedMs = Math.round(time.elapsed() - began)
      if (waitedMs >= waitsForMs)
        throw new ServiceError('store_unavailable', {
          message: `The event store was not there within ${settings.STORE_WAIT} s: ${error.message}`,
          nextStep:
            'Start the server of the event store, or correct EVENTSTORE_URL; STORE_WAIT says for how many seconds a start waits.',
          cause: error,
        })
      if (waitedMs - loggedAt >= LOG_EVERY_MS) {
        loggedAt = waitedMs
        log.warn({ reason: reasonOf(error), waitedMs, waitsForMs }, 'waiting for the event store')
      }
      // A signal to stop ends the process while nothing is opened.
      await time.sleep(Math.min(RETRY_MS, waitsForMs - waitedMs), new AbortController().signal)
    }
  }
}
