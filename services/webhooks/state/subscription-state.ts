import type {
  Sending,
  SubscriptionFilter,
  SubscriptionState,
} from '../../../contracts/domain/subscription.ts'
import type { EventType, ServiceEvent } from '../../../contracts/events/event-catalogue.ts'
import type { JsonObject } from '../../../contracts/infra/json.ts'
import type { Position } from '../../../contracts/infra/position.ts'

/** A filter, and the position of the log after which it applies. */
export interface FilterPeriod extends JsonObject {
  readonly after: Position
  readonly filter: SubscriptionFilter
}

/** A signing secret; of all but the newest, until when it signs beside it. */
export interface SealedSecret extends JsonObject {
  readonly generation: number
  readonly sealed: string
  /** Unix milliseconds; null for the newest. */
  readonly signsUntil: number | null
}

/** A subscription as the events of its stream tell it. Times are Unix milliseconds. */
export interface Subscription extends JsonObject {
  readonly subscriptionId: string
  readonly accountId: string
  readonly state: SubscriptionState
  /** Why it is paused, disabled or stopped. */
  readonly reason: string | null
  /** Since when it is in this state. */
  readonly stateSince: number
  readonly generation: number
  /** Sealed anew with each change of the address, so another text is another address. */
  readonly sealedUrl: string
  readonly sending: Sending
  /** Newest first. */
  readonly secrets: readonly SealedSecret[]
  /** Every filter it ever had, oldest first. */
  readonly filters: readonly FilterPeriod[]
  readonly startAfter: Position
  /** The cursor set by the newest resume that moved it; null when none did. The revision distinguishes resumes. */
  readonly moved: { readonly revision: number; readonly after: Position } | null
  /** The newest request to try again what was given up since an instant; null when there was none. */
  readonly recovery: { readonly revision: number; readonly since: number } | null
  readonly createdAt: number
  readonly changedAt: number
  readonly revision: number
}

/** Events that change a subscription. */
export const SUBSCRIPTION_EVENTS = [
  'SubscriptionCreated',
  'SubscriptionChanged',
  'EndpointChanged',
  'SecretRotated',
  'SubscriptionPaused',
  'SubscriptionResumed',
  'SubscriptionDisabled',
  'SubscriptionAllowed',
  'SubscriptionRemoved',
  'RecoveryRequested',
] as const satisfies readonly EventType[]

export const isSending = ({ state }: Pick<Subscription, 'state'>): boolean => state === 'active'

/** The subscription after an event of its stream; what it was for events of others; undefined before its creation. */
export function evolveSubscription(
  before: Subscription | undefined,
  event: ServiceEvent,
): Subscription | undefined {
  const at = Date.parse(event.at)
  if (event.type === 'SubscriptionCreated') {
    const { filter, sealedSecret, ...data } = event.data
    const { generation, startAfter } = data
    return {
      ...data,
      state: 'active',
      reason: null,
      stateSince: at,
      secrets: [{ generation, sealed: sealedSecret, signsUntil: null }],
      filters: [{ after: startAfter, filter }],
      moved: null,
      recovery: null,
      createdAt: at,
      changedAt: at,
      revision: event.revision,
    }
  }
  if (before === undefined || before.state === 'removed') return before
  const change = changeBy(event, before, at)
  if (change === undefined) return before
  // What was under way when the operator stopped it does not start it again.
  if (before.state === 'stopped' && change.state !== undefined && !ENDS_A_STOP.has(event.type)) return before
  const stateSince = change.state === undefined || change.state === before.state ? before.stateSince : at
  return { ...before, ...change, stateSince, changedAt: at, revision: event.revision }
}

const ENDS_A_STOP: ReadonlySet<ServiceEvent['type']> = new Set(['SubscriptionAllowed', 'SubscriptionRemoved'])

function changeBy(event: ServiceEvent, before: Subscription, at: number): Partial<Subscription> | undefined {
  switch (event.type) {
    case 'SubscriptionChanged':
      return { filters: [...before.filters, { after: event.position, filter: event.data.filter }] }
    case 'EndpointChanged': {
      const { sealedUrl, sending } = event.data
      return { sealedUrl, sending }
    }
    case 'SecretRotated': {
      const { generation, sealedSecret, overlapUntil } = event.data
      const older = before.secrets
        .map((secret) => ({
          ...secret,
          signsUntil: Math.min(secret.signsUntil ?? overlapUntil, overlapUntil),
        }))
        .filter(({ signsUntil }) => signsUntil > at)
      return { secrets: [{ generation, sealed: sealedSecret, signsUntil: null }, ...older] }
    }
    case 'SubscriptionPaused':
    case 'SubscriptionAllowed':
      return { state: 'paused', reason: event.data.reason }
    case 'SubscriptionDisabled': {
      const { by, reason } = event.data
      return { state: by === 'operator' ? 'stopped' : 'disabled', reason }
    }
    case 'SubscriptionRemoved':
      return { state: 'removed', reason: event.data.reason }
    case 'SubscriptionResumed': {
      const { after } = event.data
      const moved = after === null ? before.moved : { revision: event.revision, after }
      return { state: 'active', reason: null, moved }
    }
    case 'RecoveryRequested':
      return { recovery: { revision: event.revision, since: event.data.since } }
    default:
      return undefined
  }
}
