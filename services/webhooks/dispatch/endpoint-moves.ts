import { HOUR_MS } from '../../../contracts/timeframes.ts'
import { isToRecover } from '../deliveries/delivery-state.ts'
import { askedMs, probeAt } from './decide-attempt.ts'
import {
  type Decision,
  type Effect,
  type EndpointState,
  isNewsTurn,
  mayBegin,
  type Situation,
  type Timer,
} from './endpoint-state.ts'

/** Pause before a failed effect is retried, and before an endpoint without a target is looked at. */
export const AGAIN_MS = 5_000
/** An endpoint that has failed for so long is worth a mail. */
const MAIL_AFTER_MS = HOUR_MS
/** A degraded endpoint that has nothing to be probed with is looked at again after this. */
export const NOTHING_TO_PROBE_MS = 60_000
/** An endpoint that is behind is read for when it has fewer than this left. */
export const FEW_LEFT = 64
/** An endpoint that takes longer than this is slow, with any answer. */
export const SLOW_MS = 1_000

export const act = (state: EndpointState, ...effects: readonly Effect[]): Decision => ({ state, effects })

/** Does one thing after the other, each with the state that the one before left. */
export const andThen = ({ state, effects }: Decision, next: (state: EndpointState) => Decision): Decision => {
  const following = next(state)
  return { state: following.state, effects: [...effects, ...following.effects] }
}

export const wake = ({ nowMs }: Situation, inMs: number, timer: Timer): Effect => ({
  kind: 'wake',
  atMs: nowMs + inMs,
  timer,
})

/** Waits until a failing endpoint has failed for long enough to mail its owner. After that time, a former holder has done so. */
export function mailLater({ subscription }: EndpointState, now: Situation): Effect[] {
  const { state, stateSince: since } = subscription
  const inMs = since + MAIL_AFTER_MS - now.wallMs
  return state === 'degraded' && inMs > 0 ? [wake(now, inMs, { kind: 'mail', since })] : []
}

export const close = (state: EndpointState): Decision =>
  act({ ...state, phase: 'closed' }, { kind: 'detach' }, { kind: 'drop_queue' }, { kind: 'close' })

/** Begins to read for it, where it is not part of the tail and nothing reads for it yet. */
export function read(state: EndpointState): Decision {
  if (!mayBegin(state) || state.source === 'tail' || state.isReading) return act(state)
  return act({ ...state, isReading: true }, { kind: 'read' })
}

/** Lets what was given up be tried again, where its owner asked for it. */
export function recover(state: EndpointState, { deliveries }: Situation): Decision {
  if (state.isRecovering || !mayBegin(state) || !isToRecover(state.subscription, deliveries))
    return act(state)
  return act({ ...state, isRecovering: true }, { kind: 'recover' })
}

/** Leaves the tail and drops its queue: it is read again from the cursor of its delivery log. */
export function fallBehind(state: EndpointState, now: Situation): Decision {
  const { deliveries, tailCursor, queued, underWay } = now
  const written = deliveries?.cursor ?? state.standsAt
  // With an empty queue, the part that the tail has passed need not be read again.
  const isDone = tailCursor !== undefined && queued === 0 && underWay === 0
  const readFrom = isDone && tailCursor.sequence === written.sequence ? tailCursor : written
  const behindSinceMs = state.behindSinceMs ?? now.nowMs
  const after: EndpointState = { ...state, source: 'behind', behindSinceMs, isReading: false, readFrom }
  return act(after, { kind: 'detach' }, { kind: 'drop_queue' })
}

/** Reads for it at the end of its pause. */
export const readLater = (state: EndpointState): Decision =>
  state.isReadDue
    ? act(state)
    : act({ ...state, isReadDue: true }, { kind: 'wake', atMs: state.readAtMs, timer: { kind: 'read' } })

/** Continues after an attempt, where nothing else does. */
export function goOn(state: EndpointState, now: Situation): Decision {
  if (state.health.state === 'active') return readOn(state, now)
  const isSeenTo = state.probeAtMs !== undefined || state.isProbeDue || state.isReading
  return isSeenTo || now.underWay > 0 || !mayBegin(state) ? act(state) : scheduleProbe(state, now)
}

/** Reads on for an active endpoint that is behind and has few queued signals, no sooner than `readAtMs`. */
export function readOn(state: EndpointState, now: Situation): Decision {
  const isWanted = state.health.state === 'active' && now.queued < FEW_LEFT
  if (!isWanted || state.source === 'tail' || state.isReading || !mayBegin(state)) return act(state)
  return state.readAtMs > now.nowMs ? readLater(state) : read(state)
}

/**
 * When it is probed next: at the time that follows from its log, so that a restart goes on where it was. A clock that
 * was set back counts from now.
 */
export function scheduleProbe(state: EndpointState, now: Situation, inMs?: number): Decision {
  const { degradedAt = now.wallMs, goneAt } = state.health
  const lastProbeAt = now.deliveries?.lastAttemptAt ?? degradedAt
  const at = probeAt({
    degradedAt: Math.min(degradedAt, now.wallMs),
    lastProbeAt: Math.min(lastProbeAt, now.wallMs),
    askedMs: askedMs(now.deliveries),
    isGone: goneAt !== undefined,
    random: now.random,
  })
  const atMs = now.nowMs + (inMs ?? Math.max(0, at - now.wallMs))
  return act({ ...state, probeAtMs: atMs }, { kind: 'wake', atMs, timer: { kind: 'probe', atMs } })
}

/** A probe is due: it is sent with what there is, and read for where there is nothing, or nothing new in its turn. */
export function beginProbe(before: EndpointState, now: Situation): Decision {
  if (before.health.state !== 'degraded' || before.isProbeDue) return act({ ...before, probeAtMs: undefined })
  const state = { ...before, probeAtMs: undefined, isProbeDue: true, readAtMs: 0 }
  const isOpen = (now.deliveries?.open.size ?? 0) > 0
  const isReadFor = now.queued === 0 && (!isOpen || isNewsTurn(state))
  return isReadFor ? read(state) : act(state)
}

/** A degraded endpoint was read for: with nothing to probe it with, it is looked at again in a while. */
export function probeOrWait(state: EndpointState, now: Situation): Decision {
  const isOpen = (now.deliveries?.open.size ?? 0) > 0
  if (!state.isProbeDue || isOpen || now.queued > 0 || now.underWay > 0) return act(state)
  return scheduleProbe({ ...state, isProbeDue: false }, now, NOTHING_TO_PROBE_MS)
}
