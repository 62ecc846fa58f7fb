import type { FastifyReply } from 'fastify'
import { ServiceError } from '../../contracts/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { createLine, type Line, PROCESS_TIME } from '../runtime/admission/line.ts'

export type Asker = FastifyReply | AbortSignal

export type WebhookLooks = ReturnType<typeof createWebhookLooks>

/**
 * Questions of owners about their webhooks wait in line instead of being refused: one of an account is worked on at a
 * time, and accounts take turns. After each, its place rests for twice as long as it took, so that all of them together
 * leave most of the event loop to others. Dry runs, which take long, have a line of their own.
 *
 * @example const looks = createWebhookLooks() // one for all routes of a process
 */
export function createWebhookLooks() {
  const lineOf = (places: number): Line =>
    createLine({
      places,
      each: LIMITS.webhookLooksEach,
      waiting: LIMITS.webhookLooksWaiting,
      full: noRoom,
      restMs: (workedMs) => Math.min(workedMs * LIMITS.webhookLookRestRatio, LONGEST_REST_MS),
      time: PROCESS_TIME,
    })
  const inLine =
    (line: Line) =>
    async <Answer>(accountId: string, asker: Asker, work: () => Promise<Answer>): Promise<Answer> => {
      const leave = await line.enter(accountId, goneWith(asker))
      try {
        return await work()
      } finally {
        leave()
      }
    }
  return {
    /**
     * @param asker the answer that is waited for, or what is aborted when nobody waits any more
     * @throws ServiceError `rate_limited`, `too_many_streams` where there is no room in the line
     */
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

const noRoom = (whose: 'subject' | 'all', count: number): ServiceError =>
  whose === 'subject'
    ? new ServiceError('rate_limited', {
        message: `${count} questions of your account about its webhooks are under way or wait for their turn; send this one when one of them is answered.`,
        details: { limit: count, per: 'account', retry_after_s: 1 },
      })
    : new ServiceError('too_many_streams', {
        message: `${count} questions about webhooks wait in this process, as many as it takes.`,
        details: { retry_after_s: 1 },
      })
