import { isoTime } from '../../../contracts/domain/iso-time.ts'
import { isServiceError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { mapConcurrently } from '../../runtime/async/map-concurrently.ts'
import type { Deliveries } from '../deliveries/delivery-state.ts'
import { reachedBy } from '../deliveries/posts.ts'
import type { Subscription } from '../state/subscription-state.ts'
import { unknownSubscriptionError } from './decide-subscription.ts'
import type { SubscriptionDeps } from './subscription-deps.ts'
import { openUrl } from './subscription-secrets.ts'

export const READS_AT_ONCE = 4
const LONG_HOST_WAIT_MS = 500
const HOST_WAIT_IS_NEWS_MS = 10 * 60_000

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
  /** The reason for which its deliveries wait, and until when, in words; undefined where nothing holds them. */
  readonly held?: string | undefined
}

/** @throws ServiceError `not_found` for one that is removed, or is not of the account */
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
  return {
    subscription,
    url,
    origin: new URL(url).origin,
    deliveries,
    at: deps.now(),
  }
}

/** The reason for which all deliveries of an account wait: a limit. Undefined where it has reached none. */
export async function heldOf(
  { owners, deliveries, now }: SubscriptionDeps,
  accountId: string,
  all: readonly Subscription[],
): Promise<string | undefined> {
  const states = await mapConcurrently(all, READS_AT_ONCE, (one) => deliveries.load(one))
  const posts = states.map((state) => state.posts)
  const reached = reachedBy(posts, (await owners.standing(accountId)).tier, now())
  if (reached === undefined) return undefined
  const { most, window, until } = reached
  return `Your account has made its ${most} deliveries of this ${window}: what is left waits, and goes on at ${isoTime(until)}.`
}

/** The sentence for an owner whose newest delivery has waited long for its turn at a shared host. */
export function hostWaitOf({ deliveries, origin, at }: SubscriptionView): string[] {
  const { hostWaitMs, lastAttemptAt } = deliveries
  if (hostWaitMs < LONG_HOST_WAIT_MS || at - (lastAttemptAt ?? 0) > HOST_WAIT_IS_NEWS_MS) return []
  const host = origin === null ? 'one host' : new URL(origin).hostname
  return [
    `Free accounts together make ${LIMITS.webhookPostsPerHost} deliveries a minute to ${host}, in turns. Each of this webhook waits for its turn, the newest ${(hostWaitMs / 1_000).toFixed(1)} s. None is lost; a paid plan does not wait.`,
  ]
}

/** The operator's view, without the address; after the account's erasure also without origin. */
export async function operatorViewOf(
  deps: SubscriptionDeps,
  subscription: Subscription,
): Promise<SubscriptionView> {
  try {
    return { ...(await viewOf(deps, subscription)), url: null }
  } catch (error) {
    if (!isServiceError(error, 'account_unknown')) throw error
    const deliveries = await deps.deliveries.load(subscription)
    return { subscription, url: null, origin: null, deliveries, at: deps.now() }
  }
}
