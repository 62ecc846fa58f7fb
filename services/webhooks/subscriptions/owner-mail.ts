import { createHash } from 'node:crypto'
import { isoTime } from '../../../contracts/domain/iso-time.ts'
import { reasonOf } from '../../../contracts/errors/errors.ts'
import type { EndpointTrouble } from '../dispatch/dispatcher-options.ts'
import type { Subscription } from '../state/subscription-state.ts'
import type { SubscriptionDeps } from './subscription-deps.ts'
import { openUrl } from './subscription-secrets.ts'

/**
 * Mails the owner of an endpoint that it fails, or is disabled. Best effort: a mail that is not taken is reported and
 * left, since `GET /api/webhooks/:id` shows it too. Its Message-ID is made from the subscription and the instant since
 * when it is so, so that a mailbox can drop a second copy.
 */
export function createOwnerMail(
  deps: Pick<SubscriptionDeps, 'owners' | 'mailOwner' | 'baseUrl' | 'report'>,
): (subscription: Subscription, trouble: EndpointTrouble) => Promise<void> {
  return async (subscription, trouble) => {
    const { subscriptionId, accountId } = subscription
    try {
      // The host alone: the rest of an address may be a secret.
      const { host } = new URL(await openUrl(deps.owners, subscription))
      await deps.mailOwner(accountId, mailOf(subscriptionId, trouble, host, deps.baseUrl()))
    } catch (error) {
      const reason = reasonOf(error).split('\n')[0] ?? ''
      deps.report('an owner was not mailed', { subscription: subscriptionId, reason })
    }
  }
}

function mailOf(
  subscriptionId: string,
  { state, since: sinceMs, reason }: EndpointTrouble,
  host: string,
  baseUrl: string,
) {
  const since = isoTime(sinceMs)
  const subject = `Your webhook at ${host} is ${state}`
  const id = createHash('sha256').update(`${subscriptionId} ${state} ${since}`).digest('hex').slice(0, 32)
  const text = [
    `${subject} since ${since}: ${reason}.\n${baseUrl}/webhooks/${subscriptionId}`,
    'Its signals wait in their order, and none is lost. The page says what to do.\n',
  ].join('\n\n')
  return { id: `${id}@${new URL(baseUrl).hostname}`, subject, text }
}
