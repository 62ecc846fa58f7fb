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
import { filterAt } from '../signals/filter-periods.ts'
import { isStale } from '../signals/freshness.ts'
import type { Matched } from '../signals/signal.ts'
import type { AttemptRecorder } from './attempt-recorder.ts'
import { type AttemptDecision, decideAttempt, hasReached } from './decide-attempt.ts'
import type { DispatcherOptions } from './dispatcher-options.ts'
import { type Lane, type LaneItem, mayBegin } from './lane.ts'

/** What became of one thing that an endpoint was to get. */
export type AttemptEnd =
  /** Nothing was to be done: it was finished before, or is not open any more. */
  | { readonly kind: 'needless' }
  /** Not begun, or cut off by the end of this process: it is still to be done. */
  | { readonly kind: 'not_begun' }
  /** Durable. */
  | { readonly kind: 'recorded'; readonly decision: AttemptDecision | undefined }

export interface AttemptContext
  extends Pick<
    DispatcherOptions,
    | 'store'
    | 'directory'
    | 'sender'
    | 'sign'
    | 'idOf'
    | 'baseUrl'
    | 'now'
    | 'marketNow'
    | 'random'
    | 'metrics'
  > {
  readonly recorder: AttemptRecorder
  /** The delivery log of the endpoint, taken over where it was not yet. */
  readonly journalOf: (lane: Lane) => Promise<DeliveryJournal>
  /** Whether this process has the endpoint's shard at this moment. */
  readonly holds: (lane: Lane) => boolean
  /** Ends attempts of the endpoint's shard that take too long when this process gives it up. */
  readonly cutOff: (lane: Lane) => AbortSignal
}

/**
 * Makes one attempt, and records what came of it before it counts.
 *
 * @param onSent called when the POST is over, and its room free; what came of it is not recorded yet
 * @throws ServiceError `lease_lost`, and those of the store and of the delivery log
 */
export async function runAttempt(
  context: AttemptContext,
  lane: Lane,
  item: LaneItem,
  onSent: () => void,
): Promise<AttemptEnd> {
  const { directory, sender, now } = context
  const { subscription } = lane
  const isProbe = lane.health.state === 'degraded'
  const { state } = lane.journal ?? (await context.journalOf(lane))
  if (item.kind === 'first' && wasAttempted(state, item.matched.sequence)) return { kind: 'needless' }
  const made =
    item.kind === 'first' ? prepareFirst(context, item.matched) : await makeAgain(context, lane, item)
  if (made === undefined) return { kind: 'needless' }
  const { prepared, attemptsBefore } = made
  const freshness = filterAt(subscription.filters, prepared.position)?.freshness
  const staleness = freshness !== undefined && isStale(prepared.signal, freshness, context.marketNow())
  const replayId = item.kind === 'replay' ? item.item.replayId : null
  if (staleness && freshness?.policy === 'skip' && replayId === null) {
    onSent()
    return skip(context, lane, prepared, attemptsBefore, 'stale')
  }

  const given = directory.target(subscription)
  const target = given instanceof Promise ? await given : given
  if (target === undefined || target.secrets.length === 0) return { kind: 'not_begun' }
  const at = now()
  const headers = context.sign(target.secrets, {
    event: prepared.signal.type,
    deliveryId: prepared.deliveryId,
    body: prepared.body,
    at,
    sequence: prepared.sequence,
    attempt: attemptsBefore + 1,
    isReplay: replayId !== null,
    isStale: staleness,
    traceparent: prepared.signal.traceparent,
  })
  // Nothing is waited for between these questions and the POST.
  if (lane.health.state === 'degraded' && !isProbe) return { kind: 'not_begun' }
  const isAllowed = (): boolean => mayBegin(lane) && context.holds(lane)
  if (!isAllowed()) return { kind: 'not_begun' }
  const request = { url: target.url, headers, body: prepared.body, mayBegin: isAllowed }
  const outcome = await sender.send(request, context.cutOff(lane))
  if (outcome.kind === 'aborted') return { kind: 'not_begun' }

  const ended = { outcome, attemptsBefore, isProbe, at: now(), random: context.random() }
  const decision = decideAttempt(lane.health, ended)
  lane.health = decision.health
  lane.isProven = decision.result === 'delivered'
  if (isProbe && hasReached(outcome)) lane.probesAnswered += 1
  if (lane.health.state === 'active') lane.probesAnswered = 0
  // What is begun in its place is begun on what this attempt has shown.
  onSent()
  const detail = decision.result === 'delivered' ? null : { sealed: target.sealAnswer(outcome.detail) }
  const attempt = attemptOf(prepared, decision, outcome, { at, replayId, detail })
  await context.recorder.record(lane, prepared, attempt, item.kind === 'replay' ? item.item : undefined)
  const isFirst = item.kind === 'first' && decision.result === 'delivered'
  context.metrics?.attempt?.({
    result: decision.result,
    reason: decision.reason,
    durationMs: outcome.durationMs,
    firstAfterMs: isFirst ? ended.at - prepared.signal.at : undefined,
  })
  return { kind: 'recorded', decision }
}

interface Made {
  readonly prepared: PreparedDelivery
  readonly attemptsBefore: number
}

const prepareFirst = ({ idOf, baseUrl }: AttemptContext, matched: Matched): Made => ({
  prepared: prepareDelivery(matched, { idOf, baseUrl: baseUrl() }),
  attemptsBefore: 0,
})

async function makeAgain(
  { store }: AttemptContext,
  lane: Lane,
  item: Exclude<LaneItem, { readonly kind: 'first' }>,
): Promise<Made | undefined> {
  if (item.kind === 'replay')
    return { prepared: await prepareAgain(store, item.item), attemptsBefore: item.tries }
  const open = lane.journal?.state.open.get(item.sequence)
  if (open === undefined) return undefined
  return { prepared: await prepareAgain(store, open), attemptsBefore: open.attempt }
}

/** What is not sent is recorded under its number all the same, so that the hole in the sequence has a reason. */
async function skip(
  context: AttemptContext,
  lane: Lane,
  prepared: PreparedDelivery,
  attempt: number,
  reason: string,
): Promise<AttemptEnd> {
  if (!mayBegin(lane) || !context.holds(lane)) return { kind: 'not_begun' }
  const nothing = { status: null, detail: null, bodySha256: null, nextAt: null, replayId: null }
  const times = { at: context.now(), durationMs: 0 }
  await context.recorder.record(lane, prepared, {
    ...placeIn(prepared),
    ...nothing,
    ...times,
    attempt,
    reason,
    result: 'skipped',
  })
  context.metrics?.attempt?.({ result: 'skipped', reason, durationMs: 0, firstAfterMs: undefined })
  return { kind: 'recorded', decision: undefined }
}

function attemptOf(
  prepared: PreparedDelivery,
  { result, attempts, reason, nextAt }: AttemptDecision,
  outcome: SendOutcome,
  { at, replayId, detail }: Pick<DeliveryAttempt, 'at' | 'replayId' | 'detail'>,
): DeliveryAttempt {
  return {
    ...placeIn(prepared),
    attempt: attempts,
    at,
    durationMs: outcome.durationMs,
    result,
    status: outcome.status ?? null,
    reason,
    detail,
    bodySha256: prepared.bodySha256,
    nextAt: replayId === null ? nextAt : null,
    replayId,
  }
}
