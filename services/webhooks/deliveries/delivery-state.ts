import {
  type DeliveryAttempt,
  type DeliveryCursor,
  type DeliveryState,
  type OpenDelivery,
} from '../../../contracts/delivery-events.ts'
import type { Revision } from '../../../contracts/event.ts'
import type { ServiceEvent } from '../../../contracts/event-catalogue.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Position } from '../../../contracts/position.ts'
import type { Subscription } from '../state/subscription-state.ts'
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

/** How far a replay has come: the sequence through which it has sent, and what became of what it sent. */
export interface ReplayStanding {
  readonly through: number
  readonly delivered: number
  readonly exhausted: number
}

/** Before anything of a replay was sent. */
const NOTHING_SENT: ReplayStanding = { through: 0, delivered: 0, exhausted: 0 }

/** The sequence through which a replay has sent; 0 before the first. */
export const sentThrough = (state: Pick<Deliveries, 'replays'> | undefined, replayId: string): number =>
  state?.replays.get(replayId)?.through ?? 0

/**
 * How far a subscription has come, and all that is still to be done: everything a process needs to go on. Times
 * are Unix milliseconds.
 */
export interface Deliveries extends Omit<DeliveryState, 'open' | 'finishedAbove' | 'replays'> {
  /** Revision of the newest event of the log; `no-stream` before the first. */
  readonly revision: Revision | 'no-stream'
  /** Token of the lease under which the newest holder took it; -1 before the first. */
  readonly token: number
  /** By sequence: tried, and to be tried again. */
  readonly open: ReadonlyMap<number, OpenDelivery>
  /** By sequence, with the position of the signal: finished before the cursor could pass. */
  readonly finishedAbove: ReadonlyMap<number, Position>
  /** By replay: how far it has come. */
  readonly replays: ReadonlyMap<string, ReplayStanding>
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
  lastAttemptAt: null,
  lastSuccessAt: null,
  failuresInARow: 0,
  firstFailureAt: null,
  counts: { delivered: 0, failed: 0, exhausted: 0, skipped: 0 },
  replays: new Map(),
  sinceSnapshot: 0,
})

/** The deliveries of a subscription after an event of its delivery log. */
export function evolveDeliveries(before: Deliveries, event: DeliveryFact): Deliveries {
  const { revision } = event
  if (event.type !== 'DeliveriesAttempted') {
    return { ...fromSnapshot(event.data.state), revision, token: event.data.token }
  }
  const { attempts, cursor, template, baseUrl, replays } = event.data
  const after = withAttempts(before, attempts, { template, baseUrl })
  return {
    ...after,
    revision,
    cursor,
    finishedAbove: behind(after.finishedAbove, cursor.sequence),
    replays: withReplays(before.replays, replays, attempts),
    sinceSnapshot: before.sinceSnapshot + attempts.length,
  }
}

/** Whether a numbered signal needs nothing more, or waits among the open ones for its next try. */
export const wasAttempted = (state: Deliveries, sequence: number): boolean =>
  sequence < state.cursor.sequence || state.finishedAbove.has(sequence) || state.open.has(sequence)

/** The cursor after these attempts: it passes each number that is finished, or open, without a gap. */
export function cursorAfter(
  before: Deliveries,
  attempts: readonly DeliveryAttempt[],
  body: Pick<OpenDelivery, 'template' | 'baseUrl'>,
): DeliveryCursor {
  const { open, finishedAbove } = withAttempts(before, attempts, body)
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
  lastAttemptAt: state.lastAttemptAt,
  lastSuccessAt: state.lastSuccessAt,
  failuresInARow: state.failuresInARow,
  firstFailureAt: state.firstFailureAt,
  counts: state.counts,
  replays: [...state.replays].map(([replayId, standing]) => ({ replayId, ...standing })),
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
  replays: new Map(state.replays.map(({ replayId, ...standing }) => [replayId, standing])),
  sinceSnapshot: 0,
})

function withAttempts(
  before: Deliveries,
  attempts: readonly DeliveryAttempt[],
  body: Pick<OpenDelivery, 'template' | 'baseUrl'>,
): Deliveries {
  const open = new Map(before.open)
  const finishedAbove = new Map(before.finishedAbove)
  for (const attempt of attempts) {
    const { sequence, position, replayId, nextAt } = attempt
    // What is sent again on demand was finished before, and stays so. So does what the cursor moved away from.
    const isInTurn = sequence >= before.cursor.sequence || open.has(sequence)
    if (replayId !== null || !isInTurn || finishedAbove.has(sequence)) continue
    if (attempt.result === 'failed' && nextAt !== null) {
      open.set(sequence, openAfter(attempt, nextAt, open.get(sequence), body))
    } else {
      open.delete(sequence)
      finishedAbove.set(sequence, position)
    }
  }
  return { ...before, open, finishedAbove, ...statistics(before, attempts) }
}

function openAfter(
  attempt: DeliveryAttempt,
  nextAt: number,
  before: OpenDelivery | undefined,
  { template, baseUrl }: Pick<OpenDelivery, 'template' | 'baseUrl'>,
): OpenDelivery {
  const { attempt: tries, status, reason, at } = attempt
  return {
    ...placeIn(attempt),
    attempt: tries,
    status,
    reason,
    template,
    baseUrl,
    firstAt: before?.firstAt ?? at,
    lastAt: at,
    nextAt,
  }
}

function statistics(
  before: Deliveries,
  attempts: readonly DeliveryAttempt[],
): Pick<Deliveries, 'counts' | 'lastAttemptAt' | 'lastSuccessAt' | 'failuresInARow' | 'firstFailureAt'> {
  let { lastAttemptAt, lastSuccessAt, failuresInARow, firstFailureAt } = before
  const counts = { ...before.counts }
  for (const { result, at } of attempts) {
    counts[result === 'exhausted' ? 'failed' : result] += 1
    if (result === 'exhausted') counts.exhausted += 1
    if (result === 'skipped') continue
    lastAttemptAt = Math.max(lastAttemptAt ?? 0, at)
    if (result === 'delivered') {
      lastSuccessAt = Math.max(lastSuccessAt ?? 0, at)
      failuresInARow = 0
      firstFailureAt = null
    } else {
      failuresInARow += 1
      firstFailureAt ??= at
    }
  }
  return { counts, lastAttemptAt, lastSuccessAt, failuresInARow, firstFailureAt }
}

const behind = (above: ReadonlyMap<number, Position>, sequence: number): ReadonlyMap<number, Position> =>
  new Map([...above].filter(([finished]) => finished >= sequence))

/** The newest progress of each, the latest few. */
function withReplays(
  before: ReadonlyMap<string, ReplayStanding>,
  progress: readonly { readonly replayId: string; readonly through: number }[],
  attempts: readonly DeliveryAttempt[],
): ReadonlyMap<string, ReplayStanding> {
  const ended = attempts.filter(
    ({ replayId, result }) => replayId !== null && (result === 'delivered' || result === 'exhausted'),
  )
  if (progress.length === 0 && ended.length === 0) return before
  const replays = new Map(before)
  const change = (replayId: string, by: (known: ReplayStanding) => ReplayStanding): void => {
    const known = replays.get(replayId) ?? NOTHING_SENT
    replays.delete(replayId)
    replays.set(replayId, by(known))
  }
  for (const { replayId, result } of ended) {
    change(replayId ?? '', (known) => ({
      ...known,
      [result]: known[result as 'delivered' | 'exhausted'] + 1,
    }))
  }
  for (const { replayId, through } of progress) change(replayId, (known) => ({ ...known, through }))
  return new Map([...replays].slice(-LIMITS.webhookReplaysKept))
}

/** A replay that is sent through, where nothing of it was to be sent. */
export const withReplayEnded = (state: Deliveries, replayId: string, through: number): Deliveries => ({
  ...state,
  replays: withReplays(state.replays, [{ replayId, through }], []),
})
