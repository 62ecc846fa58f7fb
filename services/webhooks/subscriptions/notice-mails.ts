import { createHash } from 'node:crypto'
import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import type { NoticeKind } from '../../../contracts/notice-events.ts'
import type { SubscriptionDeps } from './subscription-deps.ts'

/** How long the notices of an account are gathered: endpoints on one host fail together. */
const GATHER_MS = 10_000

/** A change of an endpoint, as its owner hears of it. */
export interface NoticeData extends JsonObject {
  readonly kind: NoticeKind
  readonly subscription_id: string
  readonly origin: string
  readonly state: string
  readonly reason: string | null
  readonly since: string
}

/** The mail of an account that is gathered: of each endpoint the newest notice. */
interface Gathered {
  readonly notices: Map<string, NoticeData>
  /** Settles when a mail was taken, or waits for room in the hour of the account. */
  readonly asked: PromiseWithResolvers<void>
}

/**
 * Mails the owner of an account: the notices of a few seconds in one mail, and past what the account's hour takes those
 * of the time until there is room. What waits for room is lost when the process ends; the other endpoints of the owner
 * got it, and the state of the endpoint shows it. The same notices have the same Message-ID, so a mailbox can drop the
 * second copy that a crash may cause.
 *
 * @returns a function that resolves when the mail was taken, or waits for room, and rejects with errors of the store
 */
export function createNoticeMails({
  mailOwner,
  baseUrl,
  sleep,
  signal,
  report,
}: Pick<SubscriptionDeps, 'mailOwner' | 'baseUrl' | 'sleep' | 'signal' | 'report'>): (
  accountId: string,
  data: NoticeData,
) => Promise<void> {
  const gathering = new Map<string, Gathered>()

  async function send(accountId: string, { notices, asked }: Gathered): Promise<void> {
    try {
      for (let waitMs = GATHER_MS; notices.size > 0; ) {
        await sleep(waitMs, signal)
        if (signal.aborted) throw new ServiceError('shutting_down')
        const told = [...notices.values()]
        const roomInMs = await mailOwner(accountId, mailOf(told, baseUrl()))
        waitMs = roomInMs ?? GATHER_MS
        if (roomInMs === undefined)
          for (const one of told)
            if (notices.get(one.subscription_id) === one) notices.delete(one.subscription_id)
        asked.resolve()
      }
    } catch (error) {
      report('notices were not mailed', { account: accountId, reason: reasonOf(error).split('\n')[0] ?? '' })
      asked.reject(error)
    } finally {
      gathering.delete(accountId)
    }
  }

  return (accountId, data) => {
    const under = gathering.get(accountId)
    const mail = under ?? { notices: new Map(), asked: Promise.withResolvers() }
    mail.notices.set(data.subscription_id, data)
    if (under === undefined) {
      gathering.set(accountId, mail)
      void send(accountId, mail)
    }
    return mail.asked.promise
  }
}

/** It names hosts alone: the rest of an address may be a secret. */
function mailOf(notices: readonly NoticeData[], baseUrl: string) {
  const lines = notices.map(({ kind, origin, state, reason, since, subscription_id: id }) => {
    const is = kind === 'recovered' ? 'works again' : `is ${kind === 'disabled' ? state : 'failing'}`
    const what = `Your webhook at ${origin} ${is} since ${since}${reason === null ? '.' : `: ${reason}.`}`
    return {
      subject: `Your webhook at ${new URL(origin).host} ${is}`,
      text: `${what}\n${baseUrl}/webhooks/${id}`,
    }
  })
  const subject =
    lines.length === 1 ? (lines[0]?.subject ?? '') : `${lines.length} of your webhooks changed their state`
  const ids = notices.map((one) => `${one.subscription_id} ${one.kind} ${one.since}`).toSorted()
  const id = createHash('sha256').update(ids.join('\n')).digest('hex').slice(0, 32)
  const wait =
    'The signals of an endpoint that fails wait in their order, and none is lost. The pages say what to do.'
  const text = [...lines.map((line) => line.text), wait, ''].join('\n\n')
  return { id: `${id}@${new URL(baseUrl).hostname}`, subject, text }
}
