import { decodeEvent } from '../../../contracts/event-catalogue.ts'
import type { NoticeKind } from '../../../contracts/notice-events.ts'
import { noticeStream } from '../../../contracts/streams.ts'
import type { Subscription } from '../../../projections/index.ts'
import type { Deliveries } from '../deliveries/delivery-state.ts'
import { lookThrough } from '../signals/match-range.ts'
import { unknownSubscription } from './decide-subscription.ts'
import type { SubscriptionParts } from './subscription-parts.ts'
import { openUrl } from './subscription-secrets.ts'

/** What the owner was told of an endpoint. Unix milliseconds. */
export interface ToldNotice {
  readonly kind: NoticeKind
  readonly at: number
  /** When the endpoint was degraded or disabled. */
  readonly since: number
}

/** What waits behind a cursor. */
export interface Lag {
  /** That match, among the next few events of the log. */
  readonly signals: number
  /** The log goes on behind those. */
  readonly isMore: boolean
}

/** A subscription as its owner sees it. */
export interface SubscriptionView {
  readonly subscription: Subscription
  /** Null for the operator, who is not shown it. */
  readonly url: string | null
  readonly deliveries: Deliveries
  readonly lag: Lag
  /** Newest first. */
  readonly notices: readonly ToldNotice[]
}

/** Events behind a cursor that are looked at: enough to tell who keeps up, and cheap for a whole list. */
const LAG_LOOKED = 300
const NOTICES_SHOWN = 10

type Parts = Pick<SubscriptionParts, 'store' | 'log' | 'owners' | 'deliveries'>

/** @throws ServiceError `subscription_unknown` for one that is removed, or is not of the account */
export async function findOwn({ log }: Pick<Parts, 'log'>, accountId: string, subscriptionId: string) {
  const subscription = await log.load(subscriptionId)
  if (
    subscription === undefined ||
    subscription.state === 'removed' ||
    subscription.accountId !== accountId
  ) {
    throw unknownSubscription(subscriptionId)
  }
  return subscription
}

/** @throws ServiceError `account_unknown` where the account was erased meanwhile; of the store */
export async function viewOf(parts: Parts, subscription: Subscription): Promise<SubscriptionView> {
  const url = await openUrl(parts.owners, subscription)
  return { ...(await sealedViewOf(parts, subscription)), url }
}

/** What the operator may see. */
export async function sealedViewOf(
  parts: Omit<Parts, 'owners' | 'log'>,
  subscription: Subscription,
): Promise<SubscriptionView> {
  const { subscriptionId } = subscription
  const deliveries = await parts.deliveries.load(subscription)
  const [lag, notices] = await Promise.all([
    lagOf(parts, subscription, deliveries),
    noticesOf(parts, subscriptionId),
  ])
  return { subscription, url: null, deliveries, lag, notices }
}

async function lagOf(
  { store }: Pick<Parts, 'store'>,
  subscription: Subscription,
  { cursor }: Deliveries,
): Promise<Lag> {
  let [signals, looked] = [0, 0]
  for await (const { matched } of lookThrough({ store }, subscription, cursor, await store.head())) {
    if (matched !== undefined) signals += 1
    if (++looked === LAG_LOOKED) return { signals, isMore: true }
  }
  return { signals, isMore: false }
}

async function noticesOf({ store }: Pick<Parts, 'store'>, subscriptionId: string): Promise<ToldNotice[]> {
  const notices: ToldNotice[] = []
  const reading = { direction: 'backwards', limit: NOTICES_SHOWN } as const
  for await (const recorded of store.read(noticeStream(subscriptionId), reading)) {
    const event = decodeEvent(recorded)
    if (event.type !== 'OwnerNotified') continue
    notices.push({ kind: event.data.kind, at: Date.parse(event.at), since: event.data.since })
  }
  return notices
}
