import { ServiceError } from '../../../contracts/errors.ts'
import { isoTime } from '../../../contracts/iso-time.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { NoticeKind } from '../../../contracts/notice-events.ts'
import { mapConcurrently } from '../../runtime/async/map-concurrently.ts'
import type { Subscription } from '../state/subscription-state.ts'
import { createNoticeMails, type NoticeData } from './notice-mails.ts'
import { isAccepted } from './send-sample.ts'
import type { SubscriptionDeps } from './subscription-deps.ts'
import { openSubscription, openUrl, signingAt } from './subscription-secrets.ts'

const PAUSE_MS = 1_000

/** Endpoints of one owner that hear of it at a time. */
const TOLD_AT_ONCE = 16

/** A change of state has an event of its own; a reminder is a `notice`. */
const eventOf = (kind: NoticeKind): string =>
  kind === 'failing' || kind === 'disabled' || kind === 'recovered' ? `endpoint.${kind}` : 'notice'

/**
 * Tells the owner of an endpoint by mail, where the account has an address, and at every other active endpoint of the
 * account. Each is tried a few times; one that takes nothing is reported and left, since `GET /api/webhooks/:id` shows
 * the notice too. Told twice, a notice has the same id.
 *
 * @throws ServiceError of the store, or `shutting_down`: the notice is then sent again
 */
export function createNotifyOwner(
  options: SubscriptionDeps,
): (subscription: Subscription, kind: NoticeKind) => Promise<void> {
  const { log, owners, sender, sign, idOf, now, sleep, signal, report } = options
  const mail = createNoticeMails(options)

  async function notify(other: Subscription, data: NoticeData): Promise<void> {
    const { kind, subscription_id: about, since } = data
    const event = eventOf(kind)
    const opened = await openSubscription(owners, other)
    const deliveryId = idOf('notice', other.subscriptionId, about, kind, String(Date.parse(since)))
    const body = Buffer.from(JSON.stringify({ event, delivery_id: deliveryId, created_at: since, data }))
    for (let attempt = 1; ; attempt++) {
      if (signal.aborted) throw new ServiceError('shutting_down')
      const at = now()
      const headers = sign(signingAt(opened, at), { event, deliveryId, body, at, attempt })
      const outcome = await sender.send({ url: opened.url, headers, body }, signal)
      if (isAccepted(outcome)) return
      if (attempt >= LIMITS.webhookNoticeTries) {
        return report('a notice was not taken', {
          subscription: other.subscriptionId,
          about,
          kind,
          outcome: `${outcome.kind} ${outcome.status ?? ''}`.trim(),
        })
      }
      await sleep(PAUSE_MS * attempt, signal)
    }
  }

  async function tellOthers(accountId: string, data: NoticeData): Promise<void> {
    const { current } = await owners.slots(accountId)
    await mapConcurrently(current, TOLD_AT_ONCE, async (slot) => {
      if (slot.subscriptionId === data.subscription_id) return
      const other = await log.load(slot.subscriptionId)
      if (other?.state === 'active') await notify(other, data)
    })
  }

  return async (subscription, kind) => {
    const { subscriptionId, accountId, stateSince, state, reason } = subscription
    const { origin } = new URL(await openUrl(owners, subscription))
    const since = isoTime(stateSince)
    const data = { type: 'notice', kind, subscription_id: subscriptionId, origin, state, reason, since }
    // Neither waits for the other: a mail server that is slow keeps no endpoint waiting.
    const [mailed, told] = await Promise.allSettled([mail(accountId, data), tellOthers(accountId, data)])
    for (const one of [mailed, told]) if (one.status === 'rejected') throw one.reason
  }
}
