import { isServiceError, reasonOf, ServiceError } from '../../../contracts/errors.ts'

/** How often a store that is away is asked again, and how often that is said. */
const AGAIN_MS = 500
const SAY_EVERY_MS = 10_000

export interface StoreWait {
  /** How long a start waits for its event store, milliseconds. */
  readonly waitMs: number
  /** A clock that is never set, milliseconds. */
  readonly elapsed: () => number
  readonly sleep: (milliseconds: number) => Promise<void>
  /** Called now and then with the reason for the wait. */
  readonly say: (reason: string, waitedMs: number) => void
}

/**
 * Asks a store until it answers. In containers a service often starts before its store, or while a cluster of it elects:
 * it waits, and says so. A fault that no wait can mend, such as another log, is thrown at once.
 *
 * @throws ServiceError `store_unavailable` once the time is over; any other refusal at once
 */
export async function awaitStore<Answer>(
  ask: () => Promise<Answer>,
  { waitMs, elapsed, sleep, say }: StoreWait,
): Promise<Answer> {
  const began = elapsed()
  for (let saidAt = Number.NEGATIVE_INFINITY; ; ) {
    try {
      return await ask()
    } catch (error) {
      if (!isAway(error)) throw error
      const waited = elapsed() - began
      if (waited >= waitMs) throw notThereError(waitMs, error)
      if (waited - saidAt >= SAY_EVERY_MS) {
        saidAt = waited
        say(reasonOf(error), waited)
      }
      await sleep(Math.min(AGAIN_MS, waitMs - waited))
    }
  }
}

const isAway = (error: unknown): error is ServiceError =>
  isServiceError(error, 'store_unavailable') || isServiceError(error, 'outcome_unknown')

const notThereError = (waitMs: number, cause: ServiceError): ServiceError =>
  new ServiceError('store_unavailable', {
    message: `The event store was not there within ${waitMs / 1_000} s: ${cause.message}`,
    nextStep:
      'Start the server of the event store, or correct EVENTSTORE_URL; STORE_WAIT says for how many seconds a start waits.',
    cause,
  })
