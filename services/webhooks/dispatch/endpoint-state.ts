import type { DeliveryCursor } from '../../../contracts/delivery-events.ts'
import type { Deliveries } from '../deliveries/delivery-state.ts'
import type { Matched } from '../signals/signal.ts'
import { isSending, type Subscription } from '../state/subscription-state.ts'
import { type AttemptDecision, type Change, type EndpointHealth, HEALTHY } from './decide-attempt.ts'

/** The next item for an endpoint. */
export type EndpointItem =
  | { readonly kind: 'first'; readonly matched: Matched }
  | { readonly kind: 'retry'; readonly sequence: number }

/**
 * How an endpoint took its latest delivery: `quick`, `slow` though it took it, or `unproven`, where it did not, or
 * nothing is known of it.
 */
export type Pace = 'quick' | 'slow' | 'unproven'

/** One endpoint, as this process has it. Times are milliseconds of a monotonic clock, unless they say more. */
export interface EndpointState {
  readonly subscription: Subscription
  /**
   * `loading`: its logs are not read yet. `draining`: its owner resumed it, and its delivery log does not have that
   * yet. `closed`: it is not ours any more. Only a `ready` one is sent to.
   */
  readonly phase: 'loading' | 'draining' | 'ready' | 'closed'
  readonly health: EndpointHealth
  readonly pace: Pace
  /** Until when the next attempt waits, as its owner wants or as limits say; undefined where it may begin. */
  readonly restsUntilMs: number | undefined
  /** How long its latest attempt took. */
  readonly tookMs: number | undefined
  /** Source of its signals: the shared tail of the log, or a separate reading of the past. */
  readonly source: 'tail' | 'behind'
  /** Since when it is behind; undefined while it is part of the tail. */
  readonly behindSinceMs: number | undefined
  /**
   * Cursor of its delivery log when it was read. Until we own the delivery log, nothing after this cursor has been
   * attempted, however far reading has come.
   */
  readonly standsAt: DeliveryCursor
  /** Cursor at which reading continues while it is behind. */
  readonly readFrom: DeliveryCursor
  readonly isReading: boolean
  /** Earliest time of the next reading: it paces an endpoint that catches up. */
  readonly readAtMs: number
  /** A timer for `readAtMs` is set. */
  readonly isReadDue: boolean
  /** When it is probed next, while it is degraded. */
  readonly probeAtMs: number | undefined
  /** A probe may be sent now. */
  readonly isProbeDue: boolean
  /** Probes since it was degraded that it may have seen, and did not take. */
  readonly probesFailed: number
  /** Deliveries that were given up are being looked for. */
  readonly isRecovering: boolean
  /** When its cursor was last written down, or found to need no writing. */
  readonly writtenAtMs: number
}

/** Work that comes due for an endpoint. */
export type Timer =
  | { readonly kind: 'retry'; readonly sequence: number }
  | { readonly kind: 'probe' | 'rest'; readonly atMs: number }
  | { readonly kind: 'read' | 'load' | 'drain' | 'recover' }
  /** It has failed for an hour, where it still does since then. Unix milliseconds. */
  | { readonly kind: 'mail'; readonly since: number }
  | { readonly kind: 'say'; readonly change: Change }

/** An input of the state machine of an endpoint. */
export type Input =
  /** Its logs were read. */
  | { readonly kind: 'loaded'; readonly subscription: Subscription }
  | { readonly kind: 'subscription'; readonly subscription: Subscription }
  /** Its delivery log has what its owner resumed it with. */
  | { readonly kind: 'drained' }
  | { readonly kind: 'sent'; readonly decision: AttemptDecision; readonly sent: Sent }
  | { readonly kind: 'recorded'; readonly item: EndpointItem; readonly decision: AttemptDecision }
  /** Not begun, or not recorded: it is still to be done. */
  | { readonly kind: 'undone'; readonly item: EndpointItem }
  /** An attempt has begun at an endpoint that is degraded, or has a rate. */
  | { readonly kind: 'begun' }
  /** It has to wait before its next attempt, for its owner or its host. */
  | { readonly kind: 'held'; readonly waitMs: number }
  /** An attempt has ended, with any result. */
  | { readonly kind: 'free' }
  | { readonly kind: 'said'; readonly subscription: Subscription; readonly change: Change }
  | { readonly kind: 'timer'; readonly timer: Timer }
  /** A stretch of the log was read for it. */
  | { readonly kind: 'read'; readonly cursor: DeliveryCursor; readonly found: number }
  | { readonly kind: 'joined'; readonly cursor: DeliveryCursor }
  /** The tail had a signal for which there is no room. */
  | { readonly kind: 'left_behind'; readonly cursor: DeliveryCursor }
  /** The tail brings none of its signals, and nobody reads for it. */
  | { readonly kind: 'stray' }
  /** These wait for another try, which its owner asked for. */
  | { readonly kind: 'recovery'; readonly sequences: readonly number[] }
  /** Something could not be done, and is tried again. */
  | { readonly kind: 'failed'; readonly what: 'load' | 'drain' | 'recover' | 'read' }
  | { readonly kind: 'failed_to_say'; readonly change: Change }
  | { readonly kind: 'written' }
  | { readonly kind: 'lost' }

/** How an attempt went, besides what follows from it. */
export interface Sent {
  readonly durationMs: number
  readonly isProbe: boolean
  /** The endpoint may have seen what was sent. */
  readonly hasReached: boolean
}

/** An effect that a decision asks for. */
export type Effect =
  /** Reads its logs. */
  | { readonly kind: 'load' }
  /** Takes it out of the tail, and ends reading for it. */
  | { readonly kind: 'detach' }
  /** Drops the queued signals. */
  | { readonly kind: 'drop_queue' }
  | { readonly kind: 'read' }
  | { readonly kind: 'wake'; readonly atMs: number; readonly timer: Timer }
  /** Queues deliveries for another try. */
  | { readonly kind: 'retry'; readonly sequences: readonly number[] }
  | { readonly kind: 'drain' }
  /** Lets what was given up wait for another try, as its owner asked. */
  | { readonly kind: 'recover' }
  | { readonly kind: 'say'; readonly change: Change }
  /** Mails the owner what the subscription says. */
  | { readonly kind: 'mail' }
  | { readonly kind: 'close' }

export interface Decision {
  readonly state: EndpointState
  readonly effects: readonly Effect[]
}

/** The surroundings of a decision. */
export interface Situation {
  /** Monotonic clock. */
  readonly nowMs: number
  /** Wall clock, Unix milliseconds. */
  readonly wallMs: number
  /** Uniform in [0, 1). */
  readonly random: number
  /** State of its delivery log; undefined before it was read. */
  readonly deliveries: Deliveries | undefined
  /** Its cursor in the tail; undefined where it is not part of it. */
  readonly tailCursor: DeliveryCursor | undefined
  /** Signals that wait to be sent. */
  readonly queued: number
  /** Attempts that are being sent or recorded. */
  readonly underWay: number
  /** Signals a second that are read for an endpoint that catches up. */
  readonly catchUpPerSecond: number
}

export const initialEndpoint = (
  subscription: Subscription,
  { readFrom, nowMs }: { readonly readFrom: DeliveryCursor; readonly nowMs: number },
): EndpointState => ({
  subscription,
  standsAt: readFrom,
  readFrom,
  phase: 'loading',
  health: HEALTHY,
  pace: 'unproven',
  restsUntilMs: undefined,
  tookMs: undefined,
  source: 'behind',
  behindSinceMs: nowMs,
  isReading: false,
  readAtMs: 0,
  isReadDue: false,
  probeAtMs: undefined,
  isProbeDue: false,
  probesFailed: 0,
  isRecovering: false,
  writtenAtMs: nowMs,
})

/** Whether a POST may begin now: asked right before each. */
export const mayBegin = ({ phase, subscription }: EndpointState): boolean =>
  phase === 'ready' && isSending(subscription)

/** Whether a probe is for something that was never sent: the one before was for something that was refused. */
export const isNewsTurn = ({ probesFailed }: EndpointState): boolean => probesFailed % 2 === 1

/** Reasons that say nothing about what was sent. */
const NOT_REACHED: ReadonlySet<string> = new Set(['connect_failed', 'url_refused'])

/**
 * Which of those that wait for another try a degraded endpoint is probed with: the oldest that did not reach it last
 * time, and of those that it refused the one whose try is longest ago, so that none keeps the others from being tried.
 */
export function nextToProbe(
  deliveries: Deliveries | undefined,
  underWay: ReadonlySet<number>,
): number | undefined {
  let [next, rank]: [number | undefined, number] = [undefined, Number.POSITIVE_INFINITY]
  for (const [sequence, { reason, lastAt }] of deliveries?.open ?? []) {
    if (underWay.has(sequence)) continue
    const own = reason !== null && NOT_REACHED.has(reason) ? 0 : lastAt
    const isEarlier = own === rank && sequence < (next ?? Number.POSITIVE_INFINITY)
    if (own < rank || isEarlier) [next, rank] = [sequence, own]
  }
  return next
}

/** Inputs that come with every attempt and take no endpoint out of the tail. */
export const isOfEveryAttempt = (input: Input | undefined): boolean =>
  input?.kind === 'sent' ||
  input?.kind === 'begun' ||
  input?.kind === 'held' ||
  input?.kind === 'free' ||
  (input?.kind === 'recorded' && input.decision.change === undefined)
