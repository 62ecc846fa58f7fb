import { isServiceError } from '../../../contracts/errors.ts'
import { decodeEvent } from '../../../contracts/event-catalogue.ts'
import type { NoticeKind } from '../../../contracts/notice-events.ts'
import { noticeStream } from '../../../contracts/streams.ts'
import type { Deliveries } from '../deliveries/delivery-state.ts'
import type { Subscription } from '../state/subscription-state.ts'
import { unknownSubscriptionError } from './decide-subscription.ts'
import type { SubscriptionDeps } from './subscription-deps.ts'
import { openUrl } from './subscription-secrets.ts'

/** A notice that the owner got about an endpoint. Unix milliseconds. */
export interface ToldNotice {
  readonly kind: NoticeKind
  readonly at: number
  /** When the endpoint was degraded or disabled. */
  readonly since: number
}

/** The backlog after a cursor. */
export interface Lag {
  /** Matching signals among the next few events of the log. */
  readonly signals: number
  /** The log goes on after these. */
  readonly isMore: boolean
}

/** A subscription as its owner sees it. */
export interface SubscriptionView {
  readonly subscription: Subscription
  /** Null for the operator, who may not see it. */
  readonly url: string | null
  /** Origin of its address, as `https://bot.example.com`; null where nobody can read it any more. */
  readonly origin: string | null
  readonly deliveries: Deliveries
  /** When it was read, Unix milliseconds. */
  readonly at: number
  /** Null where it was not looked at: looking through the log costs more than all the rest. */
  readonly lag: Lag | null
  /** Newest first. */
  readonly notices: readonly ToldNotice[]
}

/** Notices that are shown; each has two events. */
const NOTICES_SHOWN = 10

/** @throws ServiceError `subscription_unknown` for one that is removed, or is not of the account */
export async function findOwn({ log }: SubscriptionDeps, accountId: string, subscriptionId: string) {
  const subscription = await log.load(subscriptionId)
  if (
    subscription === undefined ||
    subscription.state === 'removed' ||
    subscription.accountId !== accountId
  ) {
    throw unknownSubscriptionError(subscriptionId)
  }
  return subscription
}

/**
 * A row of a list: what few reads of a few events tell.
 *
 * @throws ServiceError `account_unknown` where the account was erased meanwhile; of the store
 */
export async function viewOf(deps: SubscriptionDeps, subscription: Subscription): Promise<SubscriptionView> {
  const url = await openUrl(deps.owners, subscription)
  const deliveries = await deps.deliveries.load(subscription)
  const notices = await noticesOf(deps, subscription.subscriptionId)
  return {
    subscription,
    url,
    origin: new URL(url).origin,
    deliveries,
    at: deps.now(),
    lag: null,
    notices,
  }
}

/** The operator's view, without the address; after the account's erasure also without origin, lag and notices. */
export async function operatorViewOf(
  deps: SubscriptionDeps,
  subscription: Subscription,
): Promise<SubscriptionView> {
  try {
    return { ...(await viewOf(deps, subscription)), url: null }
  } catch (error) {
    if (!isServiceError(error, 'account_unknown')) throw error
    const deliveries = await deps.deliveries.load(subscription)
    return { subscription, url: null, origin: null, deliveries, at: deps.now(), lag: null, notices: [] }
  }
}

async function noticesOf({ store }: SubscriptionDeps, subscriptionId: string): Promise<ToldNotice[]> {
  const notices: ToldNotice[] = []
  const reading = { direction: 'backwards', limit: 2 * NOTICES_SHOWN } as const
  for await (const recorded of store.read(noticeStream(subscriptionId), reading)) {
    const event = decodeEvent(recorded)
    if (event.type !== 'OwnerNotified' || event.data.stage === 'begun') continue
    notices.push({ kind: event.data.kind, at: Date.parse(event.at), since: event.data.since })
  }
  return notices
}
