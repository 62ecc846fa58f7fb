import type { DeliveryCursor } from '../../../contracts/delivery-events.ts'
import { isSending, type Subscription } from '../../../projections/index.ts'
import type { DeliveryJournal } from '../deliveries/delivery-journal.ts'
import type { DeliveryPlace } from '../deliveries/prepare-delivery.ts'
import type { Matched } from '../signals/signal.ts'
import { type EndpointHealth, HEALTHY } from './decide-attempt.ts'
import type { SignalPass } from './signal-pass.ts'

/** A delivery of the past that its owner asked for again. */
export interface ReplayItem extends DeliveryPlace {
  readonly replayId: string
  /** The last number of the replay. */
  readonly toSequence: number
  /** Numbers of the replay, in their order, that were neither taken nor given up so far: one set for all of it. */
  readonly left: Set<number>
  readonly template: number
  readonly baseUrl: string
}

/** What an endpoint gets next. */
export type LaneItem =
  | { readonly kind: 'first'; readonly matched: Matched }
  | { readonly kind: 'retry'; readonly sequence: number }
  | { readonly kind: 'replay'; readonly item: ReplayItem; readonly tries: number }

/** One endpoint: how it stands, what waits for it, and what is under way to it. */
export interface Lane {
  subscription: Subscription
  readonly shard: number
  readonly token: number
  /** Its delivery log in our hand; undefined before the first attempt. */
  journal: DeliveryJournal | undefined
  health: EndpointHealth
  /** `live`: the pass brings its signals; `behind`: they are read for it alone, in its own time. */
  mode: 'live' | 'behind'
  /** Where reading for it goes on, while it is behind. */
  readFrom: DeliveryCursor
  isReading: boolean
  /** Changes whenever what was read for it is of no use any more. */
  epoch: number
  /** The pass that brings its signals while it is live. */
  pass: SignalPass | undefined
  readonly queue: Matched[]
  /** Sequences whose next try is due. */
  readonly due: Set<number>
  readonly replays: { readonly item: ReplayItem; readonly tries: number }[]
  /** Sequences that are being sent or recorded. */
  readonly underWay: Set<number>
  sending: number
  /** When it is probed next, while it is degraded. */
  probeAt: number | undefined
  /** Probes since it was degraded that it answered, and refused. */
  probesAnswered: number
  /** A probe may be sent now. */
  isProbeDue: boolean
  /** It took its latest delivery: it may have as many connections as any. */
  isProven: boolean
  /** It waits for its turn to send. */
  isReady: boolean
  /** Its owner moved its cursor, and the delivery log does not have it yet: nothing is begun in between. */
  isMoving: boolean
  /** It is not ours any more: nothing is begun for it. */
  isClosed: boolean
  /** When its cursor was last written down, or found to need no writing; Unix milliseconds. */
  settledAt: number
  /** Before this nothing more is read for it: what paces an endpoint that catches up; Unix milliseconds. */
  pausedUntil: number
  /** That pause has an end in the queue of what comes due. */
  isReadDue: boolean
}

export function createLane(
  subscription: Subscription,
  place: {
    readonly shard: number
    readonly token: number
    readonly cursor: DeliveryCursor
    readonly at: number
  },
): Lane {
  const { shard, token, cursor, at } = place
  return {
    subscription,
    shard,
    token,
    readFrom: cursor,
    settledAt: at,
    journal: undefined,
    health: HEALTHY,
    mode: 'behind',
    isReading: false,
    epoch: 0,
    pass: undefined,
    queue: [],
    due: new Set(),
    replays: [],
    underWay: new Set(),
    sending: 0,
    probeAt: undefined,
    probesAnswered: 0,
    isProbeDue: false,
    isProven: false,
    isReady: false,
    isMoving: false,
    isClosed: false,
    pausedUntil: 0,
    isReadDue: false,
  }
}

/** Whether a POST may begin now: asked right before each. */
export const mayBegin = (lane: Lane): boolean =>
  !lane.isClosed && !lane.isMoving && isSending(lane.subscription)

/** Whether nothing waits, and nothing is under way. */
export const isIdle = (lane: Lane): boolean =>
  lane.queue.length === 0 && lane.due.size === 0 && lane.underWay.size === 0 && lane.replays.length === 0

/**
 * Which of those that wait for another try a degraded endpoint is probed with: the oldest that did not reach it last
 * time, and of those that it refused the one whose try is longest ago, so that none keeps the others from being tried.
 */
export function nextToProbe(lane: Lane): number | undefined {
  let [next, rank]: [number | undefined, number] = [undefined, Number.POSITIVE_INFINITY]
  for (const [sequence, { reason, lastAt }] of lane.journal?.state.open ?? []) {
    if (lane.underWay.has(sequence)) continue
    const own = reason !== null && NOT_REACHED.has(reason) ? 0 : lastAt
    if (own < rank || (own === rank && sequence < (next ?? Number.POSITIVE_INFINITY)))
      [next, rank] = [sequence, own]
  }
  return next
}

/** Reasons that say nothing about what was sent. */
const NOT_REACHED: ReadonlySet<string> = new Set(['connect_failed', 'url_refused'])

/**
 * Takes what is to be sent next: what is due again before what is new, and what was asked for again last. A
 * degraded endpoint gets one probe. Where it answered the one before and refused it, something that it was never
 * sent has its turn: it may have been what was sent that it did not like.
 */
export function takeNext(lane: Lane): LaneItem | undefined {
  const { queue, due, replays, health, underWay } = lane
  if (health.state === 'degraded') return takeProbe(lane)
  for (const sequence of due) {
    due.delete(sequence)
    if (!underWay.has(sequence) && lane.journal?.state.open.has(sequence) === true)
      return { kind: 'retry', sequence }
  }
  if (hasRoomForNew(lane)) {
    const matched = queue.shift()
    if (matched !== undefined) return { kind: 'first', matched }
  }
  const replay = replays.shift()
  return replay === undefined ? undefined : { kind: 'replay', ...replay }
}

function takeProbe(lane: Lane): LaneItem | undefined {
  if (!lane.isProbeDue || lane.underWay.size > 0) return undefined
  const isNewsTurn = lane.probesAnswered % 2 === 1 && hasRoomForNew(lane)
  const sequence = isNewsTurn && lane.queue.length > 0 ? undefined : nextToProbe(lane)
  const matched = sequence === undefined ? lane.queue.shift() : undefined
  if (sequence === undefined && matched === undefined) return undefined
  lane.isProbeDue = false
  return matched === undefined ? { kind: 'retry', sequence: sequence ?? 0 } : { kind: 'first', matched }
}

/** Attempts of one endpoint that wait to be recorded; past it the log is too slow for more. */
const MOST_UNDER_WAY = 64

/** Whether a signal that was not tried yet may be begun, with all that waits for another try. */
const hasRoomForNew = ({ journal, underWay }: Lane): boolean => journal?.hasRoom(underWay.size) ?? true

/** Whether there is something that {@link takeNext} would take. */
export function hasWork(lane: Lane): boolean {
  if (!mayBegin(lane) || lane.underWay.size >= MOST_UNDER_WAY) return false
  if (lane.health.state === 'degraded') {
    return (
      lane.isProbeDue &&
      lane.underWay.size === 0 &&
      (nextToProbe(lane) !== undefined || lane.queue.length > 0)
    )
  }
  const hasNew = lane.queue.length > 0 && hasRoomForNew(lane)
  return hasNew || lane.due.size > 0 || lane.replays.length > 0
}
