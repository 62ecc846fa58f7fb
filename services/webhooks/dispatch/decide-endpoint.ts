import { isSending, type RequestedReplay, type Subscription } from '../../../projections/index.ts'
import { HEALTHY } from './decide-attempt.ts'
import {
  type Decision,
  type Effect,
  type EndpointItem,
  type EndpointState,
  type Input,
  isNewsTurn,
  mayBegin,
  type Pace,
  type Sent,
  type Situation,
  type Timer,
} from './endpoint-state.ts'
import { dueInMs, probeAt, retryAt } from './retry-schedule.ts'

/** How soon what failed here is tried again, and an endpoint whose target cannot be had is looked at. */
const AGAIN_MS = 5_000
const NOTICE_AGAIN_MS = 60_000
/** A degraded endpoint that has nothing to be probed with is looked at again after this. */
const NOTHING_TO_PROBE_MS = 60_000
/** An endpoint that is behind is read for when it has fewer than this left. */
const FEW_LEFT = 64
/** An endpoint that takes longer than this is slow, whatever it answers. */
export const SLOW_MS = 1_000

const act = (state: EndpointState, ...effects: readonly Effect[]): Decision => ({ state, effects })

/** Does one thing after the other, each with the state that the one before left. */
const then = ({ state, effects }: Decision, next: (state: EndpointState) => Decision): Decision => {
  const following = next(state)
  return { state: following.state, effects: [...effects, ...following.effects] }
}

/** What becomes of an endpoint with something that happens to it. Pure: whatever is to be done is an effect. */
export function decideEndpoint(state: EndpointState, input: Input, now: Situation): Decision {
  if (state.phase === 'closed') return act(state)
  switch (input.kind) {
    case 'loaded':
      return afterLoading(state, input, now)
    case 'subscription':
      return afterSubscription(state, input.subscription, now)
    case 'settled':
      return afterSettling(state, now)
    case 'sent':
      return act(afterSending(state, input))
    case 'recorded':
      return afterRecording(state, input, now)
    case 'undone':
      return afterUndone(state, input.item, now)
    case 'free':
      return goOn(state, now)
    case 'said':
      return afterSaying(state, input, now)
    case 'timer':
      return afterTimer(state, input.timer, now)
    case 'notice_next': {
      const { notice, since, at } = input
      const atMs = now.nowMs + Math.max(0, at - now.wallMs)
      return act(state, { kind: 'wake', atMs, timer: { kind: 'notice', notice, since } })
    }
    case 'read':
      return afterReading(state, input, now)
    case 'joined':
      return act({
        ...state,
        source: 'pass',
        behindSinceMs: undefined,
        isReading: false,
        readFrom: input.cursor,
      })
    case 'left_behind':
      return act({ ...state, source: 'behind', behindSinceMs: now.nowMs, readFrom: input.cursor })
    case 'stray':
      return afterStray(state, now)
    case 'sought': {
      const { found, missing } = input
      const sought = new Set([...state.sought].filter((replayId) => !missing.includes(replayId)))
      const again = missing.length > 0 ? [wake(now, AGAIN_MS, { kind: 'seek' })] : []
      return act({ ...state, sought }, { kind: 'replay', replays: found, where: 'back' }, ...again)
    }
    case 'failed':
      return afterFailure(state, input.what, now)
    case 'failed_to_say':
      return act(state, wake(now, AGAIN_MS, { kind: 'say', change: input.change }))
    case 'failed_to_tell':
      return act(
        state,
        wake(now, NOTICE_AGAIN_MS, { kind: 'notice', notice: input.notice, since: input.since }),
      )
    case 'written':
      return act({ ...state, writtenAtMs: now.nowMs })
    case 'lost':
      return close(state)
  }
}

const wake = ({ nowMs }: Situation, inMs: number, timer: Timer): Effect => ({
  kind: 'wake',
  atMs: nowMs + inMs,
  timer,
})

const inFront = (replay: Extract<EndpointItem, { kind: 'replay' }>): Effect => ({
  kind: 'replay',
  replays: [replay],
  where: 'front',
})

const close = (state: EndpointState): Decision =>
  act({ ...state, phase: 'closed' }, { kind: 'detach' }, { kind: 'drop_queue' }, { kind: 'close' })

function afterLoading(
  before: EndpointState,
  { subscription, standing }: Extract<Input, { kind: 'loaded' }>,
  now: Situation,
): Decision {
  if (before.phase !== 'loading') return act(before)
  // What the pass met meanwhile may be newer than what was read.
  const newest = subscription.revision > before.subscription.revision ? subscription : before.subscription
  if (newest.state === 'removed') return close({ ...before, subscription: newest })
  const { deliveries } = now
  const failuresInARow = deliveries?.failuresInARow ?? 0
  const firstFailureAt = deliveries?.firstFailureAt ?? undefined
  const health = { ...HEALTHY, failuresInARow, firstFailureAt }
  const hasTaken = deliveries !== undefined && deliveries.lastSuccessAt !== null && failuresInARow === 0
  const state: EndpointState = {
    ...before,
    subscription: newest,
    phase: 'ready',
    readFrom: deliveries?.cursor ?? before.readFrom,
    pace: hasTaken ? 'quick' : 'unproven',
    health:
      newest.state === 'degraded'
        ? {
            ...health,
            state: 'degraded',
            degradedAt: standing.degradedAt ?? newest.stateSince,
            goneAt: standing.goneAt,
          }
        : health,
  }
  const retries = isSending(newest)
    ? [...(deliveries?.open.values() ?? [])].map((open): Effect => {
        const timer = { kind: 'retry', sequence: open.sequence } as const
        return wake(now, dueInMs(open, now.wallMs), timer)
      })
    : []
  const probed = newest.state === 'degraded' ? scheduleProbe(state, now) : act(state)
  const inTrouble = newest.state === 'degraded' || newest.state === 'disabled'
  const told: Effect[] = inTrouble ? [{ kind: 'next_notice' }] : []
  const isMovedAgain = (newest.moved?.revision ?? -1) > (deliveries?.movedBy ?? -1)
  if (isMovedAgain && isSending(newest)) return act({ ...state, phase: 'settling' }, { kind: 'settle' })
  const ready = then(probed, (next) => act(next, ...retries, ...told))
  const isReadFor = state.health.state === 'active'
  return then(ready, (next) => then(isReadFor ? read(next) : act(next), (last) => seek(last, now)))
}

/** Reads for it, where it is not along with the pass, and nobody does. */
function read(state: EndpointState): Decision {
  if (!mayBegin(state) || state.source === 'pass' || state.isReading) return act(state)
  return act({ ...state, isReading: true }, { kind: 'read' })
}

/** Looks for the deliveries of replays that are not sent through. */
function seek(state: EndpointState, { deliveries }: Situation): Decision {
  if (!mayBegin(state)) return act(state)
  const isOpen = ({ replayId, toSequence }: RequestedReplay): boolean =>
    !state.sought.has(replayId) && (deliveries?.replays.get(replayId) ?? 0) < toSequence
  const requests = state.subscription.replays.filter(isOpen)
  if (requests.length === 0) return act(state)
  const sought = new Set([...state.sought, ...requests.map(({ replayId }) => replayId)])
  return act({ ...state, sought }, { kind: 'seek', requests })
}

/** Out of the pass, with nothing in hand that was not begun: it is read again from where its delivery log stands. */
function fallBehind(state: EndpointState, now: Situation): Decision {
  const { deliveries, passCursor, queued, underWay } = now
  const written = deliveries?.cursor ?? state.readFrom
  // With nothing in hand, what the pass has seen need not be read again.
  const isDone = passCursor !== undefined && queued === 0 && underWay === 0
  const readFrom = isDone && passCursor.sequence === written.sequence ? passCursor : written
  const behindSinceMs = state.behindSinceMs ?? now.nowMs
  const after: EndpointState = { ...state, source: 'behind', behindSinceMs, isReading: false, readFrom }
  return act(after, { kind: 'detach' }, { kind: 'drop_queue' })
}

function afterSubscription(before: EndpointState, subscription: Subscription, now: Situation): Decision {
  const { subscription: known, phase, health } = before
  if (subscription.revision <= known.revision) return act(before)
  const state = { ...before, subscription }
  if (subscription.state === 'removed') return close(state)
  if (phase === 'loading') return act(state)
  const isMoved = known.moved !== subscription.moved
  const hasRecovered = known.state === 'degraded' && health.state === 'active'
  const isResumed = subscription.state === 'active' && (known.state !== 'active' || isMoved)
  if (!isSending(subscription)) return fallBehind(state, now)
  if (isResumed && (isMoved || !hasRecovered)) {
    // Nothing is begun before the delivery log has it: what is begun would have numbers that a moved cursor gives
    // to others.
    return then(fallBehind({ ...state, phase: 'settling' }, now), (next) => act(next, { kind: 'settle' }))
  }
  return seek(state, now)
}

function afterSettling(before: EndpointState, now: Situation): Decision {
  if (before.phase !== 'settling') return act(before)
  const { deliveries } = now
  // Its owner may have moved it again meanwhile.
  const isMovedAgain = (before.subscription.moved?.revision ?? -1) > (deliveries?.movedBy ?? -1)
  if (isMovedAgain) return act(before, { kind: 'settle' })
  const state: EndpointState = {
    ...before,
    phase: 'ready',
    health: HEALTHY,
    pace: 'unproven',
    probeAtMs: undefined,
    isProbeDue: false,
    probesFailed: 0,
    readAtMs: 0,
  }
  // Nothing that was seen before says where it stands now.
  const fallen = fallBehind(state, { ...now, passCursor: undefined })
  const retry: Effect = { kind: 'retry', sequences: [...(deliveries?.open.keys() ?? [])] }
  return then(fallen, (next) => then(then(act(next, retry), read), (last) => seek(last, now)))
}

function afterSending(
  state: EndpointState,
  { decision, sent }: Extract<Input, { kind: 'sent' }>,
): EndpointState {
  const { health, result } = decision
  const isActive = health.state === 'active'
  const probesFailed = sent.isProbe && sent.hasReached ? state.probesFailed + 1 : state.probesFailed
  const { durationMs: tookMs } = sent
  return { ...state, health, tookMs, pace: paceOf(result, sent), probesFailed: isActive ? 0 : probesFailed }
}

function paceOf(result: string, { durationMs }: Sent): Pace {
  if (result !== 'delivered') return 'unproven'
  return durationMs > SLOW_MS ? 'slow' : 'quick'
}

function afterRecording(
  state: EndpointState,
  { item, decision }: Extract<Input, { kind: 'recorded' }>,
  now: Situation,
): Decision {
  if (decision === undefined) return act(state)
  const { change, nextAt, result } = decision
  const again = item.kind === 'replay' ? replayAgain(item, result, now) : tryAgain(state, item, nextAt, now)
  if (change !== undefined) {
    const fallen = change.kind === 'recovered' ? act(state) : fallBehind(state, now)
    const probed = then(fallen, (next) => (change.kind === 'degraded' ? scheduleProbe(next, now) : act(next)))
    return then(probed, (next) => act(next, ...again, { kind: 'say', change }))
  }
  const isToBeProbed = state.health.state === 'degraded' && now.underWay === 0
  return then(isToBeProbed ? scheduleProbe(state, now) : act(state), (next) => act(next, ...again))
}

function tryAgain(
  { health }: EndpointState,
  item: Exclude<EndpointItem, { kind: 'replay' }>,
  nextAt: number | null,
  now: Situation,
): Effect[] {
  if (nextAt === null) return []
  const sequence = sequenceOf(item)
  // While an endpoint is degraded its retries wait for it to recover.
  if (health.state === 'degraded') return [{ kind: 'retry', sequences: [sequence] }]
  return [wake(now, Math.max(0, nextAt - now.wallMs), { kind: 'retry', sequence })]
}

function replayAgain(
  replay: Extract<EndpointItem, { kind: 'replay' }>,
  result: string,
  now: Situation,
): Effect[] {
  if (result !== 'failed') return []
  const tries = replay.tries + 1
  const at = retryAt({ attempts: tries, at: now.wallMs, retryAfterMs: undefined, random: now.random })
  if (at === undefined) return []
  return [wake(now, at - now.wallMs, { kind: 'replay', replay: { ...replay, tries } })]
}

/** What was not recorded is not done: it comes again in a while, from the log. */
function afterUndone(state: EndpointState, item: EndpointItem, now: Situation): Decision {
  if (!mayBegin(state)) {
    // What else there is is read again when it goes on; a replay is looked for only once.
    return act(state, ...(item.kind === 'replay' ? [inFront(item)] : []))
  }
  const readAtMs = now.nowMs + AGAIN_MS
  const again: Effect[] = []
  if (item.kind === 'retry') again.push(wake(now, AGAIN_MS, { kind: 'retry', sequence: item.sequence }))
  if (item.kind === 'replay') again.push(wake(now, AGAIN_MS, { kind: 'replay', replay: item }))
  const fallen = then(fallBehind({ ...state, readAtMs }, now), (next) => act(next, ...again))
  return then(fallen, (next) => {
    if (next.health.state === 'active') return readLater(next)
    return next.probeAtMs === undefined ? scheduleProbe(next, now, AGAIN_MS) : act(next)
  })
}

/** Reads for it at the end of its pause. */
const readLater = (state: EndpointState): Decision =>
  state.isReadDue
    ? act(state)
    : act({ ...state, isReadDue: true }, { kind: 'wake', atMs: state.readAtMs, timer: { kind: 'read' } })

/** An attempt is over: what comes next, where nothing else sees to it. */
function goOn(state: EndpointState, now: Situation): Decision {
  if (state.health.state === 'active') return readOn(state, now)
  const isSeenTo = state.probeAtMs !== undefined || state.isProbeDue || state.isReading
  return isSeenTo || now.underWay > 0 || !mayBegin(state) ? act(state) : scheduleProbe(state, now)
}

/** An endpoint that has few left of what was read for it is read for again. */
function readOn(state: EndpointState, now: Situation): Decision {
  const isWanted = state.health.state === 'active' && now.queued < FEW_LEFT
  if (!isWanted || state.source === 'pass' || state.isReading || !mayBegin(state)) return act(state)
  return state.readAtMs > now.nowMs ? readLater(state) : read(state)
}

function afterReading(
  before: EndpointState,
  { cursor, found }: Extract<Input, { kind: 'read' }>,
  now: Situation,
): Decision {
  const pauseMs = (found * 1_000) / now.catchUpPerSecond
  const readAtMs = found > 0 ? now.nowMs + pauseMs : before.readAtMs
  const state = { ...before, isReading: false, readFrom: cursor, readAtMs }
  if (state.health.state === 'degraded') return probeOrWait(state, now)
  return readOn(state, now)
}

/**
 * When it is probed next: at the time that follows from its log, so that a restart goes on where it was. A clock that
 * was set back counts from now.
 */
function scheduleProbe(state: EndpointState, now: Situation, inMs?: number): Decision {
  const { degradedAt = now.wallMs, goneAt } = state.health
  const lastProbeAt = now.deliveries?.lastAttemptAt ?? degradedAt
  const at = probeAt({
    degradedAt: Math.min(degradedAt, now.wallMs),
    lastProbeAt: Math.min(lastProbeAt, now.wallMs),
    isGone: goneAt !== undefined,
    random: now.random,
  })
  const atMs = now.nowMs + (inMs ?? Math.max(0, at - now.wallMs))
  return act({ ...state, probeAtMs: atMs }, { kind: 'wake', atMs, timer: { kind: 'probe', atMs } })
}

/** A probe is due: it is sent with what there is, and read for where there is nothing, or nothing new in its turn. */
function beginProbe(before: EndpointState, now: Situation): Decision {
  if (before.health.state !== 'degraded' || before.isProbeDue) return act({ ...before, probeAtMs: undefined })
  const state = { ...before, probeAtMs: undefined, isProbeDue: true, readAtMs: 0 }
  const isOpen = (now.deliveries?.open.size ?? 0) > 0
  const isReadFor = now.queued === 0 && (!isOpen || isNewsTurn(state))
  return isReadFor ? read(state) : act(state)
}

/** A degraded endpoint was read for: with nothing to probe it with, it is looked at again in a while. */
function probeOrWait(state: EndpointState, now: Situation): Decision {
  const isOpen = (now.deliveries?.open.size ?? 0) > 0
  if (!state.isProbeDue || isOpen || now.queued > 0 || now.underWay > 0) return act(state)
  return scheduleProbe({ ...state, isProbeDue: false }, now, NOTHING_TO_PROBE_MS)
}

function afterSaying(
  before: EndpointState,
  { subscription, change }: Extract<Input, { kind: 'said' }>,
  now: Situation,
): Decision {
  const told = afterSubscription(before, subscription, now)
  if (change.kind === 'recovered') return then(told, (state) => readOn(state, now))
  return then(told, (state) => act(state, { kind: 'next_notice' }))
}

function afterTimer(state: EndpointState, timer: Timer, now: Situation): Decision {
  switch (timer.kind) {
    case 'retry':
      return act(state, { kind: 'retry', sequences: [timer.sequence] })
    case 'replay':
      return act(state, inFront(timer.replay))
    case 'probe':
      return timer.atMs === state.probeAtMs ? beginProbe(state, now) : act(state)
    case 'read':
      return readOn({ ...state, isReadDue: false }, now)
    case 'load':
      return act(state, ...(state.phase === 'loading' ? [{ kind: 'load' } as const] : []))
    case 'settle':
      return act(state, ...(state.phase === 'settling' ? [{ kind: 'settle' } as const] : []))
    case 'seek':
      return seek(state, now)
    case 'say':
      return act(state, { kind: 'say', change: timer.change })
    case 'next_notice':
      return act(state, { kind: 'next_notice' })
    case 'notice':
      return act(state, { kind: 'tell', notice: timer.notice, since: timer.since })
  }
}

function afterFailure(
  before: EndpointState,
  what: Extract<Input, { kind: 'failed' }>['what'],
  now: Situation,
): Decision {
  if (what !== 'read') return act(before, wake(now, AGAIN_MS, { kind: what }))
  const state = { ...before, isReading: false, readAtMs: now.nowMs + AGAIN_MS }
  if (state.health.state === 'active') return readLater(state)
  return scheduleProbe({ ...state, isProbeDue: false }, now, AGAIN_MS)
}

/** What nobody brings signals to reads from where its delivery log stands, or is probed. */
function afterStray(state: EndpointState, now: Situation): Decision {
  if (state.health.state === 'degraded') return scheduleProbe(state, now)
  return then(fallBehind({ ...state, readAtMs: 0, isReadDue: false }, now), read)
}

/** Whether signals that should reach an endpoint are brought to it by nobody. */
export function isStray(state: EndpointState, now: Situation): boolean {
  if (!mayBegin(state) || now.underWay > 0) return false
  if (state.health.state === 'degraded')
    return state.probeAtMs === undefined && !state.isProbeDue && !state.isReading
  if (state.source === 'pass') return now.passCursor === undefined
  return !state.isReading && !state.isReadDue && now.queued === 0
}

export const sequenceOf = (item: EndpointItem): number => {
  if (item.kind === 'first') return item.matched.sequence
  return item.kind === 'retry' ? item.sequence : item.item.sequence
}
