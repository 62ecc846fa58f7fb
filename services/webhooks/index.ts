export { deliveryBody } from './deliveries/delivery-body.ts'
export type { DeliveryJournal } from './deliveries/delivery-journal.ts'
export { type DeliveryLog, type DeliveryLogOptions, openDeliveryLog } from './deliveries/delivery-log.ts'
export {
  createDeliveryQueries,
  type DeliveryQueries,
  type DryRun,
  type DryRunRow,
} from './deliveries/delivery-queries.ts'
export type { Deliveries } from './deliveries/delivery-state.ts'
export type { AttemptsQuery, Page } from './deliveries/list-attempts.ts'
export type { AttemptsToRecord } from './deliveries/plan-flush.ts'
export { type PreparedDelivery, prepareAgain, prepareDelivery } from './deliveries/prepare-delivery.ts'
export type { MissedPage, PullOptions } from './deliveries/pull-missed.ts'
export type { ShownDelivery } from './deliveries/show-delivery.ts'
export {
  createDigestRecorder,
  type DigestRecorder,
  type DigestRecorderOptions,
} from './digests/digest-recorder.ts'
export type { WantedDigest } from './digests/due-digests.ts'
export { createDispatcher } from './dispatch/dispatcher.ts'
export type {
  DeliveryTarget,
  Dispatcher,
  DispatcherHealth,
  DispatcherOptions,
  DispatchMetrics,
  ShardHealth,
  SubscriptionDirectory,
} from './dispatch/dispatcher-options.ts'
export { relaySignals, type SignalRelayOptions } from './dispatch/signal-relay.ts'
export {
  type ReceivedWebhook,
  type Verification,
  type VerifyWebhookOptions,
  verifyWebhook,
} from './receiving/verify-webhook.ts'
export { type CheckedUrl, checkUrl, type EgressPolicy } from './sending/check-url.ts'
export { createEgressGuard, type EgressGuard, type EgressGuardOptions } from './sending/egress-guard.ts'
export { createGuardedSender, type GuardedSenderOptions } from './sending/guarded-sender.ts'
export { createSecret } from './sending/secret.ts'
export type { Sender, SendOutcome, WebhookRequest } from './sending/sender.ts'
export { createSign, type DeliveryHeaders, type Sign, type SignedDelivery } from './sending/sign.ts'
export { matchRange } from './signals/match-range.ts'
export { createMatcher, type Matcher, type MatcherOptions } from './signals/matcher.ts'
export type { Matched, Signal } from './signals/signal.ts'
export { SIGNAL_EVENTS, toSignals } from './signals/to-signal.ts'
export { type BlockedHost, type BlockedHosts, createBlockedHosts } from './subscriptions/blocked-hosts.ts'
export type { CreatedSubscription, CreateRequest } from './subscriptions/create-subscription.ts'
export { currentFilter } from './subscriptions/decide-subscription.ts'
export {
  filterChangeSchema,
  filterFields,
  readFilter,
  toFilterFields,
} from './subscriptions/filter-request.ts'
export { filterWarnings, type SignalReach } from './subscriptions/filter-warnings.ts'
export type { OwnerAccounts } from './subscriptions/owner-accounts.ts'
export type { SubscriptionView } from './subscriptions/read-subscription.ts'
export {
  createSubscriptionDirectory,
  createSubscriptionIndex,
  type SubscriptionIndex,
} from './subscriptions/subscription-directory.ts'
export {
  LIST_STATUSES,
  type OpenedAttempt,
  type Subscriptions,
} from './subscriptions/subscription-operations.ts'
export type { SubscriptionsOptions } from './subscriptions/subscription-parts.ts'
export { createSubscriptions } from './subscriptions/subscriptions.ts'
