import type { Tier } from '../../../contracts/domain/plans.ts'
import type { Position } from '../../../contracts/infra/position.ts'
import type { EventStore } from '../../log/event-store.ts'
import type { Leases } from '../../log/leases/leases.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import type { Bus } from '../../runtime/bus/bus.ts'
import type { FactId } from '../../runtime/ids/fact-id.ts'
import type { DeliveryLogs } from '../deliveries/delivery-log.ts'
import type { Sender } from '../sending/sender.ts'
import type { Sign } from '../sending/sign.ts'
import type { Subscription } from '../state/subscription-state.ts'
import type { AttemptDecision } from './delivery-policy.ts'

/** Address of a subscription's endpoint, and the secrets that sign. */
export interface DeliveryTarget {
  readonly url: string
  /** Plan of its owner. */
  readonly tier: Tier
  /** The name under which its owner's POSTs are counted. */
  readonly countedAs: string
  /** Newest first; all that sign now. */
  readonly secrets: readonly string[]
  /** Seals what the endpoint answered so that erasing the account makes it unreadable. */
  readonly sealAnswer: (text: string) => string
}

/** The subscriptions, as the dispatcher reads them. */
export interface SubscriptionDirectory {
  /**
   * All that are not removed, and the position up to which the log was read for it; the dispatcher reads later changes
   * itself.
   */
  all(): Promise<{ readonly position: Position; readonly subscriptions: Iterable<Subscription> }>
  /** Undefined where it cannot be opened any more: its account was erased. Asked before each attempt. */
  target(subscription: Subscription): DeliveryTarget | undefined | Promise<DeliveryTarget | undefined>
}

/** Why an owner gets a mail. */
export interface EndpointTrouble {
  readonly state: 'failing' | 'disabled'
  /** Unix milliseconds. */
  readonly since: number
  readonly reason: string
}

/** Counts what the dispatcher does. */
export interface DispatchMetrics {
  /** An attempt ended; `firstAfterMs` since the signal was recorded, for first attempts that were delivered. */
  attempt?(ended: {
    readonly result: AttemptDecision['result']
    readonly reason: string | null
    readonly durationMs: number
    readonly firstAfterMs: number | undefined
  }): void
}

export interface DispatcherOptions extends Pick<Clock, 'now' | 'sleep'> {
  readonly store: EventStore
  readonly bus: Bus
  /** Over as many shards as `shards` says. */
  readonly leases: Leases
  readonly shards: number
  /** Unique name of this process; as in the leases. */
  readonly holder: string
  readonly directory: SubscriptionDirectory
  readonly deliveries: DeliveryLogs
  readonly sender: Sender
  readonly sign: Sign
  readonly idOf: FactId
  readonly newId: () => string
  /** Public address of this service, without a slash at its end. */
  readonly baseUrl: () => string
  /** Mails the owner of an endpoint that fails, or is disabled: once, and at best. */
  readonly mail: (subscription: Subscription, trouble: EndpointTrouble) => Promise<void>
  /** Monotonic clock, milliseconds; all waiting is measured by it. */
  readonly elapsed?: () => number
  /** Uniform in [0, 1). */
  readonly random: () => number
  /** Reports a fault that is retried. */
  readonly report: (error: unknown) => void
  readonly metrics?: DispatchMetrics
}

export interface ShardHealth {
  readonly shard: number
  readonly subscriptions: number
  /** Active subscriptions that have not had everything that the log has for them. */
  readonly behind: number
  /** Active subscriptions with an endpoint that fails again and again, and is only probed. */
  readonly failing: number
  readonly disabled: number
  /** Deliveries that wait for another try. */
  readonly pendingRetries: number
}

export interface DispatcherHealth {
  readonly shards: readonly ShardHealth[]
  /** Up to where the log was read. */
  readonly position: Position
  readonly attemptsUnderWay: number
  /** For how long that has been behind the end of the log, milliseconds; 0 where it is not. */
  readonly behindMs: number
  /** Active endpoints that have been behind it for longer than a minute. */
  readonly longBehind: number
  /** Subscriptions of held shards whose logs are not read yet, and for how long the first, milliseconds. */
  readonly unattended: number
  readonly unattendedMs: number
  /** The fault that keeps the log from being read; undefined without one. */
  readonly problem: string | undefined
}

/** Sends signals to subscribers, and retries. */
export interface Dispatcher {
  /** Works until the signal, then ends the attempts under way and records their outcomes. Called once. */
  run(signal: AbortSignal): Promise<void>
  health(): DispatcherHealth
}
