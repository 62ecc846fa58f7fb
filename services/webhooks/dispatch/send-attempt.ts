import { assert } from '../../../contracts/errors/assert.ts'
import type { DeliveryAttempt } from '../../../contracts/events/delivery-events.ts'
import type { Deliveries } from '../deliveries/delivery-state.ts'
import {
  type PreparedDelivery,
  placeIn,
  prepareAgain,
  prepareDelivery,
} from '../deliveries/prepare-delivery.ts'
import type { SendOutcome } from '../sending/sender.ts'
import type { Subscription } from '../state/subscription-state.ts'
import { type AttemptDecision, decideAttempt } from './delivery-policy.ts'
import type { DeliveryTarget, DispatcherOptions } from './dispatcher-options.ts'
import type { NextDelivery } from './next-delivery.ts'

/** A delivery that is sent now. */
export interface Work extends NextDelivery {
  /** Milliseconds that it has waited for its owner's turn at a shared host. */
  readonly hostWaitMs: number
}

/** The endpoint of an attempt. */
export interface AttemptUser {
  readonly subscription: Subscription
  /** As its delivery log stands now. */
  readonly deliveries: Deliveries
  /** Whether a POST may begin now: asked right before it. */
  mayBegin(): boolean
  /** Ends an attempt that takes too long when this process gives the endpoint up. */
  readonly cutOff: AbortSignal
  sendsTo(target: DeliveryTarget): void
}

/** An attempt that was made; it counts once it is durable. */
export interface AttemptMade {
  readonly attempt: DeliveryAttempt
  readonly decision: AttemptDecision
  /** As it was when the attempt began. */
  readonly subscription: Subscription
}

/**
 * Makes one attempt; nothing of it is recorded yet.
 *
 * @returns `needless` where nothing was to be done; `not_begun` where it is still to be done; `elsewhere` where it is
 * to be done at another address
 * @throws ServiceError those of the store
 */
export async function sendAttempt(
  options: DispatcherOptions,
  user: AttemptUser,
  { sequence, matched, hostWaitMs }: Work,
): Promise<AttemptMade | 'needless' | 'not_begun' | 'elsewhere'> {
  const { now, random, sender, sign, directory, store, idOf, baseUrl } = options
  const { subscription } = user
  const pending = user.deliveries.open.get(sequence)
  if (matched === undefined && pending === undefined) return 'needless'
  const prepared =
    matched === undefined
      ? pending && (await prepareAgain(store, pending, baseUrl()))
      : prepareDelivery(matched, { idOf, baseUrl: baseUrl() })
  const target = await directory.target(subscription)
  if (prepared === undefined || target === undefined || target.secrets.length === 0) return 'not_begun'
  user.sendsTo(target)
  const at = now()
  const attemptsBefore = pending?.attempt ?? 0
  const headers = sign(target.secrets, {
    event: prepared.signal.type,
    deliveryId: prepared.deliveryId,
    body: prepared.body,
    at,
    sequence,
    attempt: attemptsBefore + 1,
    traceparent: prepared.signal.traceparent,
  })
  const isThere = (): boolean => user.subscription.sealedUrl === subscription.sealedUrl
  const mayBegin = (): boolean => isThere() && user.mayBegin()
  if (!mayBegin()) return isThere() ? 'not_begun' : 'elsewhere'
  const outcome = await sender.send({ url: target.url, headers, body: prepared.body, mayBegin }, user.cutOff)
  // An answer of the former address says nothing of the present one: it is sent there too.
  if (!isThere()) return 'elsewhere'
  if (outcome.kind === 'aborted') return 'not_begun'
  const decision = decideAttempt(user.deliveries, { outcome, attemptsBefore, at: now(), random: random() })
  const detail = decision.result === 'delivered' ? null : { sealed: target.sealAnswer(outcome.detail) }
  const attempt = attemptOf(prepared, { outcome, decision, at, hostWaitMs, detail })
  return { attempt, decision, subscription }
}

/** The record of an attempt. */
function attemptOf(
  prepared: PreparedDelivery,
  ended: Pick<DeliveryAttempt, 'at' | 'hostWaitMs' | 'detail'> & {
    readonly decision: AttemptDecision
    readonly outcome: SendOutcome
  },
): DeliveryAttempt {
  const { result, attempts, reason, nextAt } = ended.decision
  const { retryAfterMs, durationMs, status } = ended.outcome
  assert((result === 'failed') === (nextAt !== null), 'only what failed is tried again', result)
  assert((result === 'delivered') === (ended.detail === null), 'of what was taken no answer is kept', result)
  assert(durationMs >= 0, 'an attempt takes no negative time', durationMs)
  return {
    ...placeIn(prepared),
    attempt: attempts,
    at: ended.at,
    durationMs,
    hostWaitMs: ended.hostWaitMs,
    result,
    status: status ?? null,
    reason,
    detail: ended.detail,
    nextAt,
    notBefore: result === 'delivered' || retryAfterMs === undefined ? null : ended.at + retryAfterMs,
  }
}
