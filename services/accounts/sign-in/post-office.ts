import { reasonOf, ServiceError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import { type Mail, MailError, type Mailer } from '../mail/mailer.ts'

export interface PostOfficeOptions extends Pick<Clock, 'sleep'> {
  readonly mailer: Mailer
  /** Ends waiting between tries. */
  readonly signal: AbortSignal
  /** Told of every mail that was given up; the reason holds no address. */
  readonly onFailure: (about: string, reason: string) => void
}

const RETRY_MS = [500, 2_000] as const

export type PostOffice = ReturnType<typeof createPostOffice>

/** Sends mail that nobody has to wait for, and loses none without a word. */
export function createPostOffice({ mailer, sleep, signal, onFailure }: PostOfficeOptions) {
  const underWay = new Set<Promise<void>>()

  async function deliver(mail: Mail, about: string): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        await mailer.send(mail)
        return
      } catch (error) {
        const isPassing = error instanceof MailError && error.isPassing
        if (!isPassing || tries >= LIMITS.mailTries || signal.aborted) {
          onFailure(about, error instanceof MailError ? error.message : `${reasonOf(error).split('\n')[0]}`)
          return
        }
        await sleep(RETRY_MS[Math.min(tries - 1, RETRY_MS.length - 1)] ?? 2_000, signal)
      }
    }
  }

  function requireRoom(): void {
    if (underWay.size < LIMITS.mailsUnderWay) return
    throw new ServiceError('rate_limited', {
      message: `${underWay.size} mails are being sent, which is as many as this process sends at a time`,
      details: { retry_after_s: Math.ceil(LIMITS.mailSendMs / 1_000) },
    })
  }

  return {
    /** @throws ServiceError `rate_limited` where too many are under way */
    requireRoom,
    /**
     * Sends a mail, with a few tries. Resolves when it was taken or given up, or when it takes longer than a caller
     * should wait; it is then sent on. Never rejects for a mail that could not be sent.
     *
     * @param about what the mail is about, for the operator; no address
     * @throws ServiceError `rate_limited` where too many are under way
     */
    async send(mail: Mail, about: string) {
      requireRoom()
      const delivery = deliver(mail, about).finally(() => underWay.delete(delivery))
      underWay.add(delivery)
      const waited = new AbortController()
      await Promise.race([delivery, sleep(LIMITS.mailWaitMs, AbortSignal.any([signal, waited.signal]))])
      waited.abort()
    },
    /** Waits for mails under way, no longer than a sign-in would. The rest fails and is reported. */
    async close() {
      const left = new AbortController()
      await Promise.race([Promise.all(underWay), sleep(LIMITS.mailWaitMs, left.signal)])
      left.abort()
      await mailer.close()
    },
  }
}
