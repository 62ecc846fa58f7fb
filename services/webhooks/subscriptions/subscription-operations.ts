import type { DeliveryAttempt } from '../../../contracts/delivery-events.ts'
import type { Origin } from '../../../contracts/event.ts'
import type { NoticeKind } from '../../../contracts/notice-events.ts'
import type { Position } from '../../../contracts/position.ts'
import type { Subscription } from '../../../projections/index.ts'
import type { CreatedSubscription, CreateRequest } from './create-subscription.ts'
import type { FilterChange } from './filter-request.ts'
import type { AskedReplay, ReplayNumbers } from './find-window.ts'
import type { SubscriptionView } from './read-subscription.ts'
import type { SampleOutcome } from './send-sample.ts'

export interface ListQuery {
  /** `active`: those that are paused and degraded included. */
  readonly status: 'active' | 'disabled' | 'all'
  /** `next` of the page before. */
  readonly after?: string | undefined
  readonly limit: number
}

export interface SubscriptionList {
  /** In the order of their creation. */
  readonly rows: readonly SubscriptionView[]
  readonly next: string | null
  /** How many are disabled, of all that the account has. */
  readonly needsReview: number
}

/** An attempt as its owner sees it. */
export interface OpenedAttempt extends Omit<DeliveryAttempt, 'detail' | 'eventId'> {
  /** What the endpoint answered, or what went wrong; null where nothing is kept. */
  readonly detail: string | null
  /** Null while the endpoint has never taken a delivery: by it anybody can look the signal up. */
  readonly eventId: string | null
}

/** A secret, the one time that it is told. */
export interface RotatedSecret {
  readonly secret: string
  /** Until when the secrets before it sign beside it, Unix milliseconds. */
  readonly overlapUntil: number
}

export interface ResumeRequest {
  readonly from: 'cursor' | 'now' | 'since'
  /** A position or an instant; for `since`. */
  readonly since?: string | undefined
}

/**
 * Subscriptions to webhooks, for their owners and the operator. Ids are UUIDs in lower case. Whatever changes
 * something resolves once it is durable, and can be asked for again. All throw ServiceError `subscription_unknown`
 * for what is removed or is not of the account, and what the store throws.
 */
export interface Subscriptions {
  create(
    accountId: string,
    request: CreateRequest,
    options: { readonly idempotencyKey: string | undefined },
    origin: Origin,
  ): Promise<CreatedSubscription>
  list(accountId: string, query: ListQuery): Promise<SubscriptionList>
  show(accountId: string, subscriptionId: string): Promise<SubscriptionView>
  /** The subscription itself, for questions about its deliveries. */
  find(accountId: string, subscriptionId: string): Promise<Subscription>
  /** @throws ServiceError `invalid_request`, `subscription_state` */
  change(
    accountId: string,
    subscriptionId: string,
    change: FilterChange,
    origin: Origin,
  ): Promise<SubscriptionView>
  /** @throws ServiceError `subscription_state` for one that is disabled, `subscription_stopped` */
  pause(accountId: string, subscriptionId: string, origin: Origin): Promise<SubscriptionView>
  /** @throws ServiceError `invalid_request` for a `since` that is none; `subscription_stopped` */
  resume(
    accountId: string,
    subscriptionId: string,
    request: ResumeRequest,
    origin: Origin,
  ): Promise<SubscriptionView>
  /**
   * When it resolves, no POST is begun any more.
   *
   * @throws ServiceError `store_unavailable` where it is removed, and the process that sends has not said so yet
   */
  remove(accountId: string, subscriptionId: string, origin: Origin): Promise<void>
  /** @throws ServiceError `subscription_state` where too many secrets sign */
  rotateSecret(
    accountId: string,
    subscriptionId: string,
    overlapMs: number,
    origin: Origin,
  ): Promise<RotatedSecret>
  /** Ends the overlap of a rotation: only the newest secret signs when this resolves. */
  endOverlap(accountId: string, subscriptionId: string, origin: Origin): Promise<SubscriptionView>
  /** Attempts of a subscription as its owner may see them, in the order given. */
  openAttempts(
    subscription: Subscription,
    attempts: readonly DeliveryAttempt[],
  ): Promise<readonly OpenedAttempt[]>
  /** Sends a sample now, in whatever state the subscription is. @throws ServiceError `rate_limited` */
  test(accountId: string, subscriptionId: string): Promise<SampleOutcome>
  /** What of a delivery as it was received does not fit the secrets that sign; undefined where all fits. */
  checkSignature(
    accountId: string,
    subscriptionId: string,
    received: { readonly timestamp: string; readonly signature: string; readonly body: string },
  ): Promise<string | undefined>
  /** @throws ServiceError `invalid_request`, `subscription_state` */
  replay(
    accountId: string,
    subscriptionId: string,
    asked: AskedReplay,
    origin: Origin,
  ): Promise<{ readonly replayId: string } & ReplayNumbers>
  /**
   * Ends a replay before its end; when it resolves, nothing more of it is begun. One that is done or was cancelled
   * before stays as it is.
   *
   * @throws ServiceError `replay_unknown`
   */
  cancelReplay(
    accountId: string,
    subscriptionId: string,
    replayId: string,
    origin: Origin,
  ): Promise<SubscriptionView>
  /**
   * The position that is meant by `now`, a position or an instant.
   *
   * @param field named in refusals
   * @throws ServiceError `invalid_request`
   */
  positionOf(field: string, text: string): Promise<Position>
  /** What of its filter can never send anything, in words. */
  warnings(subscription: Subscription): readonly string[]
  /** Tells the owner of a subscription about it, at their other endpoints. */
  notify(subscription: Subscription, kind: NoticeKind): Promise<void>
  /** All accounts', in the order of ids, with no more of their addresses than where they point. @throws ServiceError `store_unavailable` */
  listAll(query: {
    readonly after?: string | undefined
    readonly limit: number
  }): Promise<readonly SubscriptionView[]>
  showAny(subscriptionId: string): Promise<SubscriptionView>
  /** Stops one until the operator allows it. */
  stop(subscriptionId: string, reason: string, origin: Origin): Promise<SubscriptionView>
  /** Lifts a stop: it is paused from then on, and its owner may resume it. Without effect on one that is not stopped. */
  allow(subscriptionId: string, reason: string, origin: Origin): Promise<SubscriptionView>
  /**
   * Removes what an account had that was erased; when it resolves, nothing begins to be sent there any more. It
   * happens by itself as well, a moment later, and where this fails.
   *
   * @throws ServiceError of the store
   */
  removeErased(accountId: string): Promise<void>
  /** Resolves once what goes on in the background has ended, after the signal. */
  ended(): Promise<void>
}
