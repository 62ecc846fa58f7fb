import { assert } from '../../../contracts/assert.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import type { FactOf } from '../../../contracts/event-catalogue.ts'
import { canonicalJson } from '../../../contracts/json.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Position } from '../../../contracts/position.ts'
import type { Sending, SubscriptionFilter } from '../../../contracts/subscription.ts'
import type { Subscription } from '../state/subscription-state.ts'
import type { ReplayNumbers } from './find-window.ts'

/** Facts caused by owners and the operator. The dispatcher records facts caused by endpoints. */
export type SubscriptionFact = FactOf<
  | 'SubscriptionCreated'
  | 'SubscriptionChanged'
  | 'EndpointChanged'
  | 'SecretRotated'
  | 'SubscriptionPaused'
  | 'SubscriptionResumed'
  | 'SubscriptionDisabled'
  | 'SubscriptionAllowed'
  | 'SubscriptionRemoved'
  | 'ReplayRequested'
  | 'ReplayCancelled'
>

/** A command to a subscription. Times are Unix milliseconds. */
export type SubscriptionCommand =
  | {
      readonly kind: 'Change'
      readonly change: (filter: SubscriptionFilter) => SubscriptionFilter
      /** Another address, sealed; undefined where it stays. */
      readonly sealedUrl?: string | undefined
      readonly sending?: Partial<Sending>
    }
  | { readonly kind: 'Pause'; readonly reason: string }
  | { readonly kind: 'Resume'; readonly from: 'cursor' | 'now' | 'since'; readonly after: Position | null }
  | {
      readonly kind: 'RotateSecret'
      readonly generation: number
      readonly sealedSecret: string
      readonly overlapUntil: number
      readonly now: number
    }
  | (ReplayNumbers & {
      readonly kind: 'RequestReplay'
      readonly replayId: string
      /** The highest number given out. */
      readonly newest: number
      readonly isDone: (replayId: string, toSequence: number) => boolean
    })
  | { readonly kind: 'CancelReplay'; readonly replayId: string; readonly isDone: boolean }
  /** By the operator, who alone can allow it again. */
  | { readonly kind: 'Stop' | 'Allow'; readonly reason: string }
  | { readonly kind: 'Remove'; readonly reason: string }

/**
 * The facts that follow from a command. A command that changes nothing has none.
 *
 * @throws ServiceError `subscription_unknown` once it is removed; `subscription_stopped`, `subscription_state`,
 *   `replay_unknown`, `invalid_request`
 */
export function decideSubscription(
  { subscriptionId }: Pick<Subscription, 'subscriptionId'>,
  command: SubscriptionCommand,
  state: Subscription | undefined,
): SubscriptionFact[] {
  if (state === undefined || state.state === 'removed') throw unknownSubscriptionError(subscriptionId)
  switch (command.kind) {
    case 'Change':
      return [...changeOfFilter(command, state), ...changeOfEndpoint(command, state)]
    case 'Pause':
      requireNotStopped(state)
      if (state.state === 'disabled') {
        throw inStateError(state, 'it sends nothing, and waits to be resumed or deleted')
      }
      if (state.state === 'paused') return []
      return [{ type: 'SubscriptionPaused', data: { subscriptionId, reason: command.reason } }]
    case 'Resume': {
      requireNotStopped(state)
      const { from, after } = command
      if (state.state === 'active' && from === 'cursor') return []
      return [{ type: 'SubscriptionResumed', data: { subscriptionId, from, after } }]
    }
    case 'RotateSecret':
      return rotateSecret(command, state)
    case 'RequestReplay':
      requireNotStopped(state)
      return requestReplay(command, state)
    case 'CancelReplay':
      return cancelReplay(command, state)
    case 'Stop':
      if (state.state === 'stopped') return []
      return [
        { type: 'SubscriptionDisabled', data: { subscriptionId, reason: command.reason, by: 'operator' } },
      ]
    case 'Allow':
      if (state.state !== 'stopped') return []
      return [{ type: 'SubscriptionAllowed', data: { subscriptionId, reason: command.reason } }]
    default:
      return [{ type: 'SubscriptionRemoved', data: { subscriptionId, reason: command.reason } }]
  }
}

export const unknownSubscriptionError = (subscriptionId: string): ServiceError =>
  new ServiceError('subscription_unknown', { message: `You have no subscription ${subscriptionId}.` })

/** @throws ServiceError `subscription_stopped` */
export function requireNotStopped({ subscriptionId, state, reason }: Subscription): void {
  if (state !== 'stopped') return
  throw new ServiceError('subscription_stopped', {
    message: `Subscription ${subscriptionId} was ${reason}.`,
    details: { state, reason },
  })
}

/** The filter that applies now. */
export const currentFilter = ({ subscriptionId, filters }: Subscription): SubscriptionFilter => {
  const newest = filters.at(-1)
  assert(newest !== undefined, 'a subscription has a filter', subscriptionId)
  return newest.filter
}

function changeOfFilter(
  { change: make }: Extract<SubscriptionCommand, { kind: 'Change' }>,
  state: Subscription,
): SubscriptionFact[] {
  const { subscriptionId, filters } = state
  const before = currentFilter(state)
  const filter = make(before)
  if (canonicalJson(filter) === canonicalJson(before)) return []
  if (filters.length >= LIMITS.subscriptionFilters) {
    throw inStateError(
      state,
      `it has had ${filters.length} filters, as many as there may be; create another one`,
    )
  }
  return [{ type: 'SubscriptionChanged', data: { subscriptionId, filter } }]
}

/** An endpoint that fails is given up with its address: the next one is taken for a working one. */
function changeOfEndpoint(
  { sealedUrl, sending }: Extract<SubscriptionCommand, { kind: 'Change' }>,
  state: Subscription,
): SubscriptionFact[] {
  const { subscriptionId } = state
  const chosen = { ...state.sending, ...sending }
  if (sealedUrl === undefined && canonicalJson(chosen) === canonicalJson(state.sending)) return []
  const data = { subscriptionId, sealedUrl: sealedUrl ?? state.sealedUrl, sending: chosen }
  const changed: SubscriptionFact = { type: 'EndpointChanged', data }
  if (sealedUrl === undefined || state.state !== 'degraded') return [changed]
  return [changed, { type: 'SubscriptionResumed', data: { subscriptionId, from: 'cursor', after: null } }]
}

function rotateSecret(
  command: Extract<SubscriptionCommand, { kind: 'RotateSecret' }>,
  state: Subscription,
): SubscriptionFact[] {
  const { generation, sealedSecret, overlapUntil, now } = command
  assert(overlapUntil >= now, 'an overlap ends after its rotation', overlapUntil)
  // An overlap may also be cut short, so it is counted how many would sign after this rotation.
  const signing = state.secrets.filter(
    ({ signsUntil }) => Math.min(signsUntil ?? overlapUntil, overlapUntil) > now,
  ).length
  if (signing >= LIMITS.webhookSecretsSigning) {
    throw inStateError(
      state,
      `${signing} secrets sign already, as many as there may be; wait for an overlap to end, or give overlap_hours: 0`,
    )
  }
  const { subscriptionId } = state
  return [{ type: 'SecretRotated', data: { subscriptionId, generation, sealedSecret, overlapUntil } }]
}

function requestReplay(
  command: Extract<SubscriptionCommand, { kind: 'RequestReplay' }>,
  state: Subscription,
): SubscriptionFact[] {
  const { replayId, fromSequence, toSequence, only, deliveries, newest, isDone } = command
  if (fromSequence > toSequence || toSequence > newest) {
    throw new ServiceError('invalid_request', {
      message: `from_sequence, to_sequence: ${fromSequence} to ${toSequence} is no window of what was sent; the newest number is ${newest}`,
      details: { newest_sequence: newest },
    })
  }
  if (deliveries > LIMITS.webhookReplayDeliveries) {
    throw new ServiceError('invalid_request', {
      message: `from_sequence, to_sequence: the window has ${deliveries} deliveries; at most ${LIMITS.webhookReplayDeliveries} are sent again at a time`,
    })
  }
  const underWay = state.replays.filter(
    (replay) => replay.cancelledAt === null && !isDone(replay.replayId, replay.toSequence),
  ).length
  if (underWay >= LIMITS.webhookReplaysKept) {
    throw inStateError(
      state,
      `${underWay} replays are under way, as many as there may be; wait for one to end, or cancel one`,
    )
  }
  const { subscriptionId } = state
  const data = { subscriptionId, replayId, fromSequence, toSequence, only, deliveries }
  return [{ type: 'ReplayRequested', data }]
}

/** @throws ServiceError `replay_unknown` for one that was never asked for, or so long ago that it is not kept */
function cancelReplay(
  { replayId, isDone }: Extract<SubscriptionCommand, { kind: 'CancelReplay' }>,
  { subscriptionId, replays }: Subscription,
): SubscriptionFact[] {
  const replay = replays.find((one) => one.replayId === replayId)
  if (replay === undefined) {
    throw new ServiceError('replay_unknown', {
      message: `Subscription ${subscriptionId} has no replay ${replayId} among its latest.`,
    })
  }
  if (replay.cancelledAt !== null || isDone) return []
  return [{ type: 'ReplayCancelled', data: { subscriptionId, replayId } }]
}

const inStateError = ({ subscriptionId, state, reason }: Subscription, what: string): ServiceError =>
  new ServiceError('subscription_state', {
    message: `Subscription ${subscriptionId} is ${state}: ${what}.`,
    details: { state, reason },
  })
