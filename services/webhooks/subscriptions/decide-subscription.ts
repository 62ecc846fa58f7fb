import type { Sending, SubscriptionFilter } from '../../../contracts/domain/subscription.ts'
import { assert } from '../../../contracts/errors/assert.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import type { FactOf } from '../../../contracts/events/event-catalogue.ts'
import { canonicalJson } from '../../../contracts/infra/json.ts'
import type { Position } from '../../../contracts/infra/position.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Subscription } from '../state/subscription-state.ts'

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
  | 'RecoveryRequested'
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
  | {
      readonly kind: 'Recover'
      /** Instant since when deliveries were given up. */
      readonly since: number
      /** The request before is not carried out yet. */
      readonly isWaiting: boolean
    }
  /** By the operator, who alone can allow it again. */
  | { readonly kind: 'Stop' | 'Allow'; readonly reason: string }
  | { readonly kind: 'Remove'; readonly reason: string }

/**
 * The facts that follow from a command. A command that changes nothing has none.
 *
 * @throws ServiceError `not_found` once it is removed; `state_conflict`
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
      return [{ type: 'SubscriptionResumed', data: { subscriptionId, from, after } }]
    }
    case 'RotateSecret':
      return rotateSecret(command, state)
    case 'Recover':
      requireNotStopped(state)
      return recover(command, state)
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
  new ServiceError('not_found', { message: `You have no subscription ${subscriptionId}.` })

/** @throws ServiceError `state_conflict` */
export function requireNotStopped({ subscriptionId, state, reason }: Subscription): void {
  if (state !== 'stopped') return
  throw new ServiceError('state_conflict', {
    message: `Subscription ${subscriptionId} was ${reason}.`,
    nextStep: 'Ask the operator to allow it again; until then it can be shown, changed and deleted.',
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

function changeOfEndpoint(
  { sealedUrl, sending }: Extract<SubscriptionCommand, { kind: 'Change' }>,
  state: Subscription,
): SubscriptionFact[] {
  const { subscriptionId } = state
  const chosen = { ...state.sending, ...sending }
  if (sealedUrl === undefined && canonicalJson(chosen) === canonicalJson(state.sending)) return []
  const data = { subscriptionId, sealedUrl: sealedUrl ?? state.sealedUrl, sending: chosen }
  return [{ type: 'EndpointChanged', data }]
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

function recover(
  { since, isWaiting }: Extract<SubscriptionCommand, { kind: 'Recover' }>,
  state: Subscription,
): SubscriptionFact[] {
  const { subscriptionId, recovery } = state
  if (isWaiting && recovery !== null) {
    if (recovery.since <= since) return []
    throw inStateError(state, 'what was asked for before is not tried again yet; ask once it is')
  }
  return [{ type: 'RecoveryRequested', data: { subscriptionId, since } }]
}

const inStateError = ({ subscriptionId, state, reason }: Subscription, what: string): ServiceError =>
  new ServiceError('state_conflict', {
    message: `Subscription ${subscriptionId} is ${state}: ${what}.`,
    details: { state, reason },
  })
