import type { FastifyReply } from 'fastify'
import { ServiceError } from '../../contracts/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { createFairQueue, type FairQueue } from '../platform/async/fair-queue.ts'

/**
 * Questions of owners about their webhooks wait in line instead of being refused: one of an account is worked on at a
 * time, and accounts take turns. After each, its place rests for twice as long as it took, so that all of them together
 * leave most of the event loop to others. Dry runs, which take long, have a line of their own.
 */
export interface WebhookLooks {
  /**
   * @param asker the answer that is waited for, or what is aborted when nobody waits any more
   * @throws ServiceError `rate_limited`, `too_many_streams` where there is no room in the line
   */
  look<Answer>(accountId: string, asker: Asker, work: () => Promise<Answer>): Promise<Answer>
  dryRun<Answer>(accountId: string, asker: Asker, work: () => Promise<Answer>): Promise<Answer>
}

type Asker = FastifyReply | AbortSignal

/** @example const looks = createWebhookLooks() // one for all routes of a process */
export function createWebhookLooks(): WebhookLooks {
  const lineOf = (places: number): FairQueue =>
    createFairQueue({
      places,
      waitingEach: LIMITS.webhookLooksWaitingEach,
      waitingInAll: LIMITS.webhookLooksWaiting,
      full: noRoom,
      rest: (workedMs) => rest(Math.min(workedMs * LIMITS.webhookLookRestRatio, LONGEST_REST_MS)),
    })
  const inLine =
    (line: FairQueue) =>
    <Answer>(accountId: string, asker: Asker, work: () => Promise<Answer>): Promise<Answer> =>
      line.run(accountId, work, goneWith(asker))
  return {
    look: inLine(lineOf(LIMITS.webhookLooksAtOnce)),
    dryRun: inLine(lineOf(LIMITS.webhookDryRunsAtOnce)),
  }
}

function goneWith(asker: Asker): AbortSignal {
  const gone = new AbortController()
  const leave = (): void => gone.abort(new ServiceError('shutting_down'))
  if (!(asker instanceof AbortSignal)) asker.raw.once('close', leave)
  else if (asker.aborted) leave()
  else asker.addEventListener('abort', leave, { once: true })
  return gone.signal
}

const LONGEST_REST_MS = 1_000

/** Does not keep a process that ends. */
const rest = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms).unref())

const noRoom = (whose: 'subject' | 'all', waiting: number): ServiceError =>
  whose === 'subject'
    ? new ServiceError('rate_limited', {
        message: `${waiting} questions of your account about its webhooks wait for their turn already; send this one when one of them is answered.`,
        details: { limit: waiting, per: 'account', retry_after_s: 1 },
      })
    : new ServiceError('too_many_streams', {
        message: `${waiting} questions about webhooks wait in this process, as many as it takes.`,
        details: { retry_after_s: 1 },
      })
