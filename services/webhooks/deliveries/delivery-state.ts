import type {
  DeliveryAttempt,
  DeliveryCursor,
  DeliveryState,
  OpenDelivery,
} from '../../../contracts/events/delivery-events.ts'
import type { ServiceEvent } from '../../../contracts/events/event-catalogue.ts'
import type { Revision } from '../../../contracts/infra/event.ts'
import type { Position } from '../../../contracts/infra/position.ts'
import type { Subscription } from '../state/subscription-state.ts'
import { NO_POSTS, withPost } from './posts.ts'
import { placeIn } from './prepare-delivery.ts'

export type DeliveryEvent = Extract<
  ServiceEvent,
  { type: 'CursorTaken' | 'DeliveriesAttempted' | 'CursorMoved' }
>

/** An event of a delivery log without its envelope. */
export type DeliveryFact = DeliveryEvent extends infer Event
  ? Event extends DeliveryEvent
    ? Pick<Event, 'type' | 'data' | 'revision'>
    : never
  : never

/**
 * How far a subscription has come, and all that is still to be done: everything a process needs to go on. Times
 * are Unix milliseconds.
 */
export interface Deliveries extends Omit<DeliveryState, 'open' | 'finishedAbove'> {
  /** Revision of the newest event of the log; `no-stream` before the first. */
  readonly revision: Revision | 'no-stream'
  /** Token of the lease under which the newest holder took it; -1 before the first. */
  readonly token: number
  /** By sequence: tried, and to be tried again. */
  readonly open: ReadonlyMap<number, OpenDelivery>
  /** By sequence, with the position of the signal: finished before the cursor could pass. */
  readonly finishedAbove: ReadonlyMap<number, Position>
  /** Attempts that the fold of a newer snapshot would not have to read. */
  readonly sinceSnapshot: number
}

/** Before anything was sent. */
export const initialDeliveries = ({ startAfter }: Pick<Subscription, 'startAfter'>): Deliveries => ({
  revision: 'no-stream',
  token: -1,
  cursor: { after: startAfter, sequence: 1 },
  open: new Map(),
  finishedAbove: new Map(),
  movedBy: null,
  recoveredBy: null,
  lastAttemptAt: null,
  lastSuccessAt: null,
  failuresInARow: 0,
  firstFailureAt: null,
  notBefore: null,
  posts: NO_POSTS,
  hostWaitMs: 0,
  counts: { delivered: 0, failed: 0, exhausted: 0, skipped: 0 },
  sinceSnapshot: 0,
})

/** The deliveries of a subscription after an event of its delivery log. */
export function evolveDeliveries(before: Deliveries, event: DeliveryFact): Deliveries {
  const { revision } = event
  if (event.type !== 'DeliveriesAttempted') {
    return { ...fromSnapshot(event.data.state), revision, token: event.data.token }
  }
  const { attempts, cursor } = event.data
  const after = withAttempts(before, attempts)
  return {
    ...after,
    revision,
    cursor,
    finishedAbove: behind(after.finishedAbove, cursor.sequence),
    sinceSnapshot: before.sinceSnapshot + attempts.length,
  }
}

/** Whether a numbered signal needs nothing more, or waits among the open ones for its next try. */
export const wasAttempted = (state: Deliveries, sequence: number): boolean =>
  sequence < state.cursor.sequence || state.finishedAbove.has(sequence) || state.open.has(sequence)

/** The cursor after these attempts: it passes each number that is finished, or open, without a gap. */
export function cursorAfter(before: Deliveries, attempts: readonly DeliveryAttempt[]): DeliveryCursor {
  const { open, finishedAbove } = withAttempts(before, attempts)
  let { after, sequence } = before.cursor
  for (;;) {
    const position = finishedAbove.get(sequence) ?? open.get(sequence)?.position
    if (position === undefined) return { after, sequence }
    after = position
    sequence += 1
  }
}

/** The state as it is written down. */
export const toSnapshot = (state: Deliveries): DeliveryState => ({
  cursor: state.cursor,
  open: [...state.open.values()],
  finishedAbove: [...state.finishedAbove].map(([sequence, position]) => ({ sequence, position })),
  movedBy: state.movedBy,
  recoveredBy: state.recoveredBy,
  lastAttemptAt: state.lastAttemptAt,
  lastSuccessAt: state.lastSuccessAt,
  failuresInARow: state.failuresInARow,
  firstFailureAt: state.firstFailureAt,
  notBefore: state.notBefore,
  posts: state.posts,
  hostWaitMs: state.hostWaitMs,
  counts: state.counts,
})

/**
 * The state with its cursor where the owner of the subscription moved it to, where that has not happened yet.
 * Numbers go on after the highest used one, so that none stands for two signals; open deliveries are given up.
 *
 * @param underWay numbers that were given out and are not recorded yet
 */
export function withMove(
  state: Deliveries,
  { moved }: Pick<Subscription, 'moved'>,
  underWay: Iterable<number> = [],
): Deliveries {
  if (moved === null || moved.revision <= (state.movedBy ?? -1)) return state
  const given = [...state.open.keys(), ...state.finishedAbove.keys(), ...underWay]
  const sequence = given.reduce((next, one) => Math.max(next, one + 1), state.cursor.sequence)
  return {
    ...state,
    cursor: { after: moved.after, sequence },
    open: new Map(),
    finishedAbove: new Map(),
    movedBy: moved.revision,
  }
}

const fromSnapshot = (state: DeliveryState): Omit<Deliveries, 'revision' | 'token'> => ({
  ...state,
  open: new Map(state.open.map((delivery) => [delivery.sequence, delivery])),
  finishedAbove: new Map(state.finishedAbove.map(({ sequence, position }) => [sequence, position])),
  sinceSnapshot: 0,
})

function withAttempts(before: Deliveries, attempts: readonly DeliveryAttempt[]): Deliveries {
  const open = new Map(before.open)
  const finishedAbove = new Map(before.finishedAbove)
  for (const attempt of attempts) {
    const { sequence, position, nextAt } = attempt
    // Deliveries that the cursor moved away from stay finished.
    const isInTurn = sequence >= before.cursor.sequence || open.has(sequence)
    if (!isInTurn || finishedAbove.has(sequence)) continue
    if (attempt.result === 'failed' && nextAt !== null) {
      open.set(sequence, openAfter(attempt, nextAt, open.get(sequence)))
    } else {
      open.delete(sequence)
      finishedAbove.set(sequence, position)
    }
  }
  return { ...before, open, finishedAbove, ...statistics(before, attempts) }
}

function openAfter(attempt: DeliveryAttempt, nextAt: number, before: OpenDelivery | undefined): OpenDelivery {
  const { attempt: tries, status, reason, at } = attempt
  const firstAt = before?.firstAt ?? at
  return { ...placeIn(attempt), attempt: tries, status, reason, firstAt, lastAt: at, nextAt }
}

function statistics(before: Deliveries, attempts: readonly DeliveryAttempt[]) {
  let { lastAttemptAt, lastSuccessAt, failuresInARow, firstFailureAt, posts, hostWaitMs, notBefore } = before
  const counts = { ...before.counts }
  for (const { result, at, hostWaitMs: waitedMs, notBefore: asked } of attempts) {
    counts[result === 'exhausted' ? 'failed' : result] += 1
    if (result === 'exhausted') counts.exhausted += 1
    if (result === 'skipped') continue
    lastAttemptAt = Math.max(lastAttemptAt ?? 0, at)
    posts = withPost(posts, at)
    hostWaitMs = waitedMs
    if (result === 'delivered') {
      lastSuccessAt = Math.max(lastSuccessAt ?? 0, at)
      failuresInARow = 0
      firstFailureAt = null
      notBefore = null
    } else {
      failuresInARow += 1
      firstFailureAt ??= at
      notBefore = asked ?? notBefore
    }
  }
  const failures = { failuresInARow, firstFailureAt, notBefore }
  return { counts, posts, hostWaitMs, lastAttemptAt, lastSuccessAt, ...failures }
}

const behind = (above: ReadonlyMap<number, Position>, sequence: number): ReadonlyMap<number, Position> =>
  new Map([...above].filter(([finished]) => finished >= sequence))

/** Whether its owner asked for what was given up, and it does not wait again yet. */
export const isToRecover = (
  { recovery }: Pick<Subscription, 'recovery'>,
  deliveries: Pick<Deliveries, 'recoveredBy'> | undefined,
): boolean => recovery !== null && recovery.revision > (deliveries?.recoveredBy ?? -1)

/** The state in which what was given up waits for another try, from this instant on. */
export function withRecovered(
  state: Deliveries,
  exhausted: readonly OpenDelivery[],
  { recoveredBy, nextAt }: { readonly recoveredBy: number; readonly nextAt: number },
): Deliveries {
  const open = new Map(state.open)
  const finishedAbove = new Map(state.finishedAbove)
  for (const delivery of exhausted) {
    if (open.has(delivery.sequence)) continue
    open.set(delivery.sequence, { ...delivery, nextAt })
    finishedAbove.delete(delivery.sequence)
  }
  return { ...state, open, finishedAbove, recoveredBy }
}
