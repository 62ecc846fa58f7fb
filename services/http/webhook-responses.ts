import type {
  AttemptAnswer,
  OperatorSubscription,
  SubscriptionAnswer,
} from '../../contracts/answers/webhook.ts'
import { isoTime } from '../../contracts/domain/iso-time.ts'
import type { OpenDelivery } from '../../contracts/events/delivery-events.ts'
import {
  currentFilter,
  isFailing,
  nextAttemptAt,
  type OpenedAttempt,
  type Subscriptions,
  type SubscriptionView,
  toFilterFields,
  toSendingFields,
} from '../webhooks/index.ts'

const timeOrNull = (ms: number | null): string | null => (ms === null ? null : isoTime(ms))

const toState = ({ subscription, deliveries, at: readAt }: SubscriptionView) => {
  const { state, reason, stateSince, createdAt } = subscription
  const { cursor, open, counts } = deliveries
  return {
    // Views are of those that are not removed.
    state: state as OperatorSubscription['state'],
    reason,
    state_since: isoTime(stateSince),
    created_at: isoTime(createdAt),
    cursor: { position: cursor.after, sequence: cursor.sequence },
    last_attempt_at: timeOrNull(deliveries.lastAttemptAt),
    last_success_at: timeOrNull(deliveries.lastSuccessAt),
    failures_in_a_row: deliveries.failuresInARow,
    failing_since: timeOrNull(isFailing(deliveries) ? deliveries.firstFailureAt : null),
    retries_open: open.size,
    next_attempt_at: timeOrNull(nextAttemptAt(subscription, deliveries, readAt)),
    counts,
  }
}

/** @param now Unix milliseconds, for the secrets that sign */
export const toSubscriptionAnswer = (
  view: SubscriptionView,
  warnings: readonly string[],
  now: number,
): SubscriptionAnswer => {
  const { subscription } = view
  const signing = subscription.secrets.filter(({ signsUntil }) => signsUntil === null || signsUntil > now)
  return {
    id: subscription.subscriptionId,
    url: view.url ?? '',
    ...toFilterFields(currentFilter(subscription)),
    ...toSendingFields(subscription.sending),
    ...toState(view),
    secrets_signing: signing.length,
    warnings: [...warnings],
  }
}

export const toOperatorSubscription = (view: SubscriptionView): OperatorSubscription => ({
  id: view.subscription.subscriptionId,
  account_id: view.subscription.accountId,
  origin: view.origin,
  ...toFilterFields(currentFilter(view.subscription)),
  ...toSendingFields(view.subscription.sending),
  ...toState(view),
})

export const toAttempt = (attempt: OpenedAttempt): AttemptAnswer => ({
  delivery_id: attempt.deliveryId,
  sequence: attempt.sequence,
  event_id: attempt.eventId,
  attempt: attempt.attempt,
  at: isoTime(attempt.at),
  duration_ms: attempt.durationMs,
  result: attempt.result,
  status: attempt.status,
  reason: attempt.reason,
  detail: attempt.detail,
  next_at: timeOrNull(attempt.nextAt),
})

export const toRetry = (open: OpenDelivery) => ({
  delivery_id: open.deliveryId,
  sequence: open.sequence,
  attempts: open.attempt,
  status: open.status,
  reason: open.reason,
  first_at: isoTime(open.firstAt),
  last_at: isoTime(open.lastAt),
  next_at: isoTime(open.nextAt),
})

export const toTestAnswer = (sample: Awaited<ReturnType<Subscriptions['test']>>) => ({
  delivery_id: sample.deliveryId,
  event: sample.event,
  accepted: sample.isAccepted,
  outcome: sample.outcome.kind,
  status: sample.outcome.status ?? null,
  latency_ms: sample.outcome.durationMs,
  detail: sample.outcome.detail,
})
