import { LIMITS } from '../../../contracts/limits.ts'
import type { NoticeKind } from '../../../contracts/notice-events.ts'
import { chatBody } from '../sending/chat-channel.ts'
import type { Subscription } from '../state/subscription-state.ts'
import { isAccepted } from './send-sample.ts'
import type { SubscriptionDeps } from './subscription-deps.ts'
import { openSubscription, openUrl, signingAt } from './subscription-secrets.ts'

const PAUSE_MS = 1_000

/**
 * Tells the owner of an endpoint at every other active endpoint of the account that this one fails. Each is tried a
 * few times; one that takes nothing is reported and left, since `GET /api/webhooks/:id` shows the notice too.
 * Told twice, a notice has the same id.
 *
 * @throws ServiceError of the store, before anything was sent to the endpoint at hand: the notice is then sent again
 */
export function createNotifyOwner(
  options: SubscriptionDeps,
): (subscription: Subscription, kind: NoticeKind) => Promise<void> {
  const { log, owners, sender, sign, idOf, baseUrl, now, sleep, signal, report } = options

  async function notify(other: Subscription, about: Subscription, kind: NoticeKind): Promise<void> {
    const { subscriptionId, stateSince, state, reason } = about
    const opened = await openSubscription(owners, other)
    const { origin } = new URL(await openUrl(owners, about))
    const since = new Date(stateSince).toISOString()
    const deliveryId = idOf('notice', other.subscriptionId, subscriptionId, kind, String(stateSince))
    const data = { type: 'notice', kind, subscription_id: subscriptionId, origin, state, reason, since }
    const body =
      other.form === null
        ? Buffer.from(JSON.stringify({ event: 'notice', delivery_id: deliveryId, created_at: since, data }))
        : chatBody(other.form, data, baseUrl())
    for (let attempt = 1; !signal.aborted; attempt++) {
      const at = now()
      const headers = sign(signingAt(opened, at), { event: 'notice', deliveryId, body, at, attempt })
      const outcome = await sender.send({ url: opened.url, headers, body }, signal)
      if (isAccepted(outcome)) return
      if (attempt >= LIMITS.webhookNoticeTries) {
        return report('a notice was not taken', {
          subscription: other.subscriptionId,
          about: subscriptionId,
          kind,
          outcome: `${outcome.kind} ${outcome.status ?? ''}`.trim(),
        })
      }
      await sleep(PAUSE_MS * attempt, signal)
    }
  }

  return async (subscription, kind) => {
    const { current } = await owners.slots(subscription.accountId)
    for (const { subscriptionId } of current) {
      if (subscriptionId === subscription.subscriptionId) continue
      const other = await log.load(subscriptionId)
      if (other?.state === 'active') await notify(other, subscription, kind)
    }
  }
}
