import { assert } from '../../../contracts/assert.ts'
import type { DeliveryAttempt } from '../../../contracts/delivery-events.ts'
import type { DeliveryJournal } from '../deliveries/delivery-journal.ts'
import { wasAttempted } from '../deliveries/delivery-state.ts'
import {
  type PreparedDelivery,
  placeIn,
  prepareAgain,
  prepareDelivery,
} from '../deliveries/prepare-delivery.ts'
import type { SendOutcome } from '../sending/sender.ts'
import type { Matched } from '../signals/signal.ts'
import { type AttemptDecision, decideAttempt, hasReached } from './decide-attempt.ts'
import type { DeliveryTarget, DispatcherOptions } from './dispatcher-options.ts'
import type { Endpoint } from './endpoint.ts'
import type { EndpointItem, Input } from './endpoint-state.ts'

/** All that an attempt leaves to be recorded: it counts once that is durable. */
export interface AttemptMade
  extends Pick<PreparedDelivery, 'template' | 'baseUrl'>,
    Pick<Attempt, 'sealedUrl'> {
  readonly kind: 'made'
  readonly attempt: DeliveryAttempt
  readonly decision: AttemptDecision
}

/** How one item came out. */
export type AttemptEnd =
  /** Nothing was to be done: it was finished before, or is not open any more. */
  | { readonly kind: 'needless' }
  /** Not begun, or cut off by the end of this process: it is still to be done. */
  | { readonly kind: 'not_begun' }
  | AttemptMade

export interface AttemptContext extends DispatcherOptions {
  /** Monotonic clock, milliseconds. */
  readonly elapsed: () => number
  /** The delivery log of the endpoint, taken over where it was not yet. */
  readonly journalOf: (endpoint: Endpoint) => Promise<DeliveryJournal>
  /** Whether this process has the endpoint's shard at this moment. */
  readonly holds: (endpoint: Endpoint) => boolean
  /** Ends attempts of the endpoint's shard that take too long when this process gives it up. */
  readonly cutOff: (endpoint: Endpoint) => AbortSignal
  /** Tells the endpoint what happened to it. */
  readonly apply: (endpoint: Endpoint, input: Input) => void
}

interface Made {
  readonly prepared: PreparedDelivery
  readonly attemptsBefore: number
}

/** One attempt on its way. */
interface Attempt extends Made {
  readonly endpoint: Endpoint
  /** The address that it goes to. */
  readonly sealedUrl: string
  /** The endpoint was degraded when it was taken up. */
  readonly isProbe: boolean
}

/**
 * Makes one attempt; nothing of it is recorded yet.
 *
 * @param onSent called when the POST is over, and its room free
 * @throws ServiceError `lease_lost`, and those of the store and of the delivery log
 */
export async function runAttempt(
  context: AttemptContext,
  endpoint: Endpoint,
  item: EndpointItem,
  onSent: () => void,
): Promise<AttemptEnd> {
  const isProbe = endpoint.state.health.state === 'degraded'
  const { state } = endpoint.journal ?? (await context.journalOf(endpoint))
  if (item.kind === 'first' && wasAttempted(state, item.matched.sequence)) return { kind: 'needless' }
  const made =
    item.kind === 'first' ? prepareFirst(context, item.matched) : await makeAgain(context, endpoint, item)
  if (made === undefined) return { kind: 'needless' }
  const { subscription } = endpoint.state
  const attempt = {
    ...made,
    sealedUrl: subscription.sealedUrl,
    endpoint,
    isProbe,
  }
  const given = context.directory.target(subscription)
  const target = given instanceof Promise ? await given : given
  if (target === undefined || target.secrets.length === 0) return { kind: 'not_begun' }
  endpoint.sendsTo(target)
  return send(context, attempt, target, onSent)
}

async function send(
  context: AttemptContext,
  attempt: Attempt,
  target: DeliveryTarget,
  onSent: () => void,
): Promise<AttemptEnd> {
  const { now, random, sender, sign, holds, apply } = context
  const { endpoint, prepared, attemptsBefore, isProbe } = attempt
  const at = now()
  const headers = sign(target.secrets, {
    event: prepared.signal.type,
    deliveryId: prepared.deliveryId,
    body: prepared.body,
    at,
    sequence: prepared.sequence,
    attempt: attemptsBefore + 1,
    traceparent: prepared.signal.traceparent,
  })
  // Nothing is awaited between this check and the POST but a connection, after which it is checked again.
  if (endpoint.state.health.state === 'degraded' && !isProbe) return { kind: 'not_begun' }
  const isThere = (): boolean => endpoint.state.subscription.sealedUrl === attempt.sealedUrl
  const isAllowed = (): boolean => endpoint.mayBegin && isThere() && holds(endpoint)
  if (!isAllowed()) return { kind: 'not_begun' }
  const request = { url: target.url, headers, body: prepared.body, mayBegin: isAllowed }
  const hostWaitMs = endpoint.endHostWait(context.elapsed())
  const outcome = await sender.send(request, context.cutOff(endpoint))
  // What the former address answers says nothing of the present one: it is sent there too.
  if (outcome.kind === 'aborted' || !isThere()) return { kind: 'not_begun' }

  const ended = { outcome, attemptsBefore, isProbe, at: now(), random: random() }
  const decision = decideAttempt(endpoint.state.health, ended)
  const sent = { durationMs: outcome.durationMs, isProbe, hasReached: hasReached(outcome) }
  apply(endpoint, { kind: 'sent', decision, sent })
  assert(outcome.durationMs >= 0, 'an attempt takes no negative time', outcome.durationMs)
  // What is begun in its place is begun on what this attempt has shown.
  onSent()
  const detail = decision.result === 'delivered' ? null : { sealed: target.sealAnswer(outcome.detail) }
  const { template, baseUrl } = prepared
  const made = attemptOf(attempt, { decision, outcome, at, hostWaitMs, detail })
  return { kind: 'made', template, baseUrl, sealedUrl: attempt.sealedUrl, attempt: made, decision }
}

const prepareFirst = ({ idOf, baseUrl }: AttemptContext, matched: Matched): Made => ({
  prepared: prepareDelivery(matched, { idOf, baseUrl: baseUrl() }),
  attemptsBefore: 0,
})

async function makeAgain(
  { store }: AttemptContext,
  endpoint: Endpoint,
  item: Exclude<EndpointItem, { readonly kind: 'first' }>,
): Promise<Made | undefined> {
  const open = endpoint.deliveries?.open.get(item.sequence)
  if (open === undefined) return undefined
  return { prepared: await prepareAgain(store, open), attemptsBefore: open.attempt }
}

/** The record of an attempt. */
function attemptOf(
  { prepared }: Attempt,
  ended: Pick<DeliveryAttempt, 'at' | 'hostWaitMs' | 'detail'> & {
    readonly decision: AttemptDecision
    readonly outcome: SendOutcome
  },
): DeliveryAttempt {
  const { result, attempts, reason, nextAt } = ended.decision
  const { retryAfterMs } = ended.outcome
  assert((result === 'failed') === (nextAt !== null), 'only what failed is tried again', result)
  assert((result === 'delivered') === (ended.detail === null), 'of what was taken no answer is kept', result)
  return {
    ...placeIn(prepared),
    attempt: attempts,
    at: ended.at,
    durationMs: ended.outcome.durationMs,
    hostWaitMs: ended.hostWaitMs,
    result,
    status: ended.outcome.status ?? null,
    reason,
    detail: ended.detail,
    bodySha256: prepared.bodySha256,
    nextAt,
    notBefore: result === 'delivered' || retryAfterMs === undefined ? null : ended.at + retryAfterMs,
  }
}
