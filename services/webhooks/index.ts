export { openDeliveryLogs } from './deliveries/delivery-log.ts'
export {
  createDeliveryQueries,
  type DeliveryQueries,
} from './deliveries/delivery-queries.ts'
export { createDigestRecorder } from './digests/digest-recorder.ts'
export { isFailing, nextAttemptAt } from './dispatch/delivery-policy.ts'
export { createDispatcher } from './dispatch/dispatcher.ts'
export type {
  Dispatcher,
  DispatcherHealth,
  DispatchMetrics,
} from './dispatch/dispatcher-options.ts'
export { relaySignals } from './dispatch/signal-relay.ts'
export { createBlockList } from './sending/blocked-hosts.ts'
export { createEgressGuard } from './sending/egress-guard.ts'
export { createGuardedFetch } from './sending/guarded-fetch.ts'
export { createGuardedSender } from './sending/guarded-sender.ts'
export type { Sender, WebhookRequest } from './sending/sender.ts'
export { createSign } from './sending/sign.ts'
export { subscriptions as subscriptionsReadModel } from './state/subscriptions-read-model.ts'
export type { ChangeRequest } from './subscriptions/change-subscription.ts'
export { currentFilter } from './subscriptions/decide-subscription.ts'
export {
  filterChangeSchema,
  filterFields,
  sendingFields,
  toFilterFields,
  toSendingFields,
} from './subscriptions/filter-request.ts'
export type { SubscriptionView } from './subscriptions/read-subscription.ts'
export type { SubscriptionsOptions } from './subscriptions/subscription-deps.ts'
export {
  createSubscriptionDirectory,
  createSubscriptionIndex,
} from './subscriptions/subscription-directory.ts'
export { createSubscriptions, type Subscriptions } from './subscriptions/subscriptions.ts'
