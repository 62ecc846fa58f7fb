import { ServiceError } from '../../../contracts/errors.ts'
import { isSending, type Subscription } from '../state/subscription-state.ts'
import { dueInMs, GONE_REASON, HEALTHY } from './decide-attempt.ts'
import {
  AGAIN_MS,
  act,
  andThen,
  beginProbe,
  close,
  fallBehind,
  goOn,
  mailLater,
  probeOrWait,
  read,
  readLater,
  readOn,
  recover,
  SLOW_MS,
  scheduleProbe,
  wake,
} from './endpoint-moves.ts'
import {
  type Decision,
  type Effect,
  type EndpointItem,
  type EndpointState,
  type Input,
  mayBegin,
  type Pace,
  type Sent,
  type Situation,
  type Timer,
} from './endpoint-state.ts'

/** The decision on each kind of input, or of timer. */
type Handlers<Of extends Input | Timer> = {
  readonly [Kind in Of['kind']]: (
    state: EndpointState,
    input: Extract<Of, { readonly kind: Kind }>,
    now: Situation,
  ) => Decision
}

const HANDLERS: Handlers<Input> = {
  loaded: afterLoading,
  subscription: (state, { subscription }, now) => afterSubscription(state, subscription, now),
  drained: (state, _, now) => afterDraining(state, now),
  sent: (state, input) => act(afterSending(state, input)),
  recorded: afterRecording,
  undone: (state, { item }, now) => afterUndone(state, item, now),
  begun: (state, _, now) => rest({ ...state, isProbeDue: false }, now),
  // All endpoints of an owner wait for the same moment: a random part decides which of them goes first.
  held: (state, { waitMs }, now) => restFor(state, waitMs + now.random * 100, now),
  free: (state, _, now) => goOn(state, now),
  said: afterSaying,
  timer: (state, { timer }, now) => TIMERS[timer.kind](state, timer as never, now),
  read: afterReading,
  joined: (state, { cursor: readFrom }) =>
    act({ ...state, source: 'tail', behindSinceMs: undefined, isReading: false, readFrom }),
  left_behind: (state, { cursor: readFrom }, { nowMs: behindSinceMs }) =>
    act({ ...state, source: 'behind', behindSinceMs, readFrom }),
  stray: (state, _, now) => afterStray(state, now),
  recovery: afterRecovery,
  failed: (state, { what }, now) => afterFailure(state, what, now),
  failed_to_say: (state, { change }, now) => act(state, wake(now, AGAIN_MS, { kind: 'say', change })),
  written: (state, _, { nowMs: writtenAtMs }) => act({ ...state, writtenAtMs }),
  lost: close,
}

const TIMERS: Handlers<Timer> = {
  retry: (state, { sequence }) => act(state, { kind: 'retry', sequences: [sequence] }),
  rest: (state, { atMs }) => act(atMs === state.restsUntilMs ? { ...state, restsUntilMs: undefined } : state),
  probe: (state, { atMs }, now) => (atMs === state.probeAtMs ? beginProbe(state, now) : act(state)),
  read: (state, _, now) => readOn({ ...state, isReadDue: false }, now),
  load: (state) => (state.phase === 'loading' ? act(state, { kind: 'load' }) : act(state)),
  drain: (state) => (state.phase === 'draining' ? act(state, { kind: 'drain' }) : act(state)),
  recover: (state, _, now) => recover({ ...state, isRecovering: false }, now),
  say: (state, { change }) => act(state, { kind: 'say', change }),
  mail: (state, { since }) => act(state, ...(isFailingSince(state, since) ? [MAIL] : [])),
}

/** The next state of an endpoint after an input. Pure: all work is an effect. */
export function decideEndpoint(state: EndpointState, input: Input, now: Situation): Decision {
  if (state.phase === 'closed') return act(state)
  return HANDLERS[input.kind](state, input as never, now)
}

/** Queues what waits again; meanwhile its owner may have asked anew. */
function afterRecovery(
  state: EndpointState,
  { sequences }: Extract<Input, { kind: 'recovery' }>,
  now: Situation,
): Decision {
  const queued = act({ ...state, isRecovering: false }, { kind: 'retry', sequences })
  return andThen(queued, (next) => recover(next, now))
}

function afterLoading(
  before: EndpointState,
  { subscription }: Extract<Input, { kind: 'loaded' }>,
  now: Situation,
): Decision {
  if (before.phase !== 'loading') return act(before)
  // What the tail met meanwhile may be newer than what was read.
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
    standsAt: deliveries?.cursor ?? before.standsAt,
    readFrom: deliveries?.cursor ?? before.standsAt,
    pace: hasTaken ? 'quick' : 'unproven',
    health:
      newest.state === 'degraded'
        ? {
            ...health,
            state: 'degraded',
            degradedAt: newest.stateSince,
            // Nothing is sent within an hour of the answer, so this may be the older of the two instants.
            goneAt: newest.reason === GONE_REASON ? newest.stateSince : undefined,
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
  const isMovedAgain = (newest.moved?.revision ?? -1) > (deliveries?.movedBy ?? -1)
  if (isMovedAgain && isSending(newest)) return act({ ...state, phase: 'draining' }, { kind: 'drain' })
  const ready = andThen(probed, (next) => act(next, ...retries, ...mailLater(next, now)))
  const isReadFor = state.health.state === 'active'
  return andThen(ready, (next) => andThen(isReadFor ? read(next) : act(next), (last) => recover(last, now)))
}

function afterSubscription(before: EndpointState, subscription: Subscription, now: Situation): Decision {
  const { subscription: known, phase } = before
  if (subscription.revision <= known.revision) return act(before)
  const state = { ...before, subscription }
  if (subscription.state === 'removed') return close(state)
  if (phase === 'loading') return act(state)
  return afterOwner(state, known, now)
}

/** Follows the owner's change of an endpoint that is loaded. */
function afterOwner(state: EndpointState, known: Subscription, now: Situation): Decision {
  const { subscription, health } = state
  const isElsewhere = known.sealedUrl !== subscription.sealedUrl
  const isMoved = known.moved !== subscription.moved || isElsewhere
  const hasRecovered = known.state === 'degraded' && health.state === 'active'
  const isResumed = subscription.state === 'active' && (known.state !== 'active' || isMoved)
  if (!isSending(subscription)) return fallBehind(state, now)
  if (isResumed && (isMoved || !hasRecovered)) {
    // Nothing is begun before the delivery log has it: what is begun would have numbers that a moved cursor gives
    // to others.
    return andThen(fallBehind({ ...state, phase: 'draining' }, now), (next) => act(next, { kind: 'drain' }))
  }
  return recover(state, now)
}

function afterDraining(before: EndpointState, now: Situation): Decision {
  if (before.phase !== 'draining') return act(before)
  const { deliveries } = now
  // Its owner may have moved it again meanwhile.
  const isMovedAgain = (before.subscription.moved?.revision ?? -1) > (deliveries?.movedBy ?? -1)
  if (isMovedAgain) return act(before, { kind: 'drain' })
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
  const fallen = fallBehind(state, { ...now, tailCursor: undefined })
  const retry: Effect = { kind: 'retry', sequences: [...(deliveries?.open.keys() ?? [])] }
  return andThen(fallen, (next) => andThen(andThen(act(next, retry), read), (last) => recover(last, now)))
}

function afterSending(
  state: EndpointState,
  { decision, sent }: Extract<Input, { kind: 'sent' }>,
): EndpointState {
  const { health, result } = decision
  const isActive = health.state === 'active'
  const probesFailed = sent.isProbe && sent.hasReached ? state.probesFailed + 1 : state.probesFailed
  const { durationMs: tookMs } = sent
  return {
    ...state,
    health,
    tookMs,
    pace: paceOf(result, sent),
    probesFailed: isActive ? 0 : probesFailed,
  }
}

/** Leaves it alone until the next attempt may begin, as far apart as its owner wants them. */
function rest(state: EndpointState, now: Situation): Decision {
  const { perSecond } = state.subscription.sending
  return perSecond === null ? act(state) : restFor(state, 1_000 / perSecond, now)
}

function restFor(state: EndpointState, restMs: number, now: Situation): Decision {
  const atMs = now.nowMs + restMs
  return act({ ...state, restsUntilMs: atMs }, wake(now, restMs, { kind: 'rest', atMs }))
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
  const { change, nextAt } = decision
  const again = tryAgain(state, item, nextAt, now)
  if (change !== undefined) {
    const fallen = change.kind === 'recovered' ? act(state) : fallBehind(state, now)
    const probed = andThen(fallen, (next) =>
      change.kind === 'degraded' ? scheduleProbe(next, now) : act(next),
    )
    return andThen(probed, (next) => act(next, ...again, { kind: 'say', change }))
  }
  const isToBeProbed = state.health.state === 'degraded' && now.underWay === 0
  return andThen(isToBeProbed ? scheduleProbe(state, now) : act(state), (next) => act(next, ...again))
}

function tryAgain(
  { health }: EndpointState,
  item: EndpointItem,
  nextAt: number | null,
  now: Situation,
): Effect[] {
  if (nextAt === null) return []
  const sequence = sequenceOf(item)
  // While an endpoint is degraded its retries wait for it to recover.
  if (health.state === 'degraded') return [{ kind: 'retry', sequences: [sequence] }]
  return [wake(now, Math.max(0, nextAt - now.wallMs), { kind: 'retry', sequence })]
}

/** Repeats an attempt that was not recorded: the endpoint falls behind and reads the log again after `inMs`. */
function afterUndone(state: EndpointState, item: EndpointItem, now: Situation): Decision {
  // It is read again when the subscription goes on.
  if (!mayBegin(state)) return act(state)
  const readAtMs = now.nowMs + AGAIN_MS
  const again: Effect[] = []
  if (item.kind === 'retry') again.push(wake(now, AGAIN_MS, { kind: 'retry', sequence: item.sequence }))
  const fallen = andThen(fallBehind({ ...state, readAtMs }, now), (next) => act(next, ...again))
  return andThen(fallen, (next) => {
    if (next.health.state === 'active') return readLater(next)
    return next.probeAtMs === undefined ? scheduleProbe(next, now, AGAIN_MS) : act(next)
  })
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

function afterSaying(
  before: EndpointState,
  { subscription, change }: Extract<Input, { kind: 'said' }>,
  now: Situation,
): Decision {
  const told = afterSubscription(before, subscription, now)
  if (change.kind === 'recovered') return andThen(told, (state) => readOn(state, now))
  return andThen(told, (state) =>
    act(state, ...(change.kind === 'disabled' ? [MAIL] : mailLater(state, now))),
  )
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

/** A stray endpoint reads from the cursor of its delivery log, or is probed. */
function afterStray(state: EndpointState, now: Situation): Decision {
  if (state.health.state === 'degraded') return scheduleProbe(state, now)
  return andThen(fallBehind({ ...state, readAtMs: 0, isReadDue: false }, now), read)
}

const MAIL: Effect = { kind: 'mail' }

const isFailingSince = ({ subscription: { state, stateSince } }: EndpointState, since: number): boolean =>
  state === 'degraded' && stateSince === since

export const sequenceOf = (item: EndpointItem): number =>
  item.kind === 'first' ? item.matched.sequence : item.sequence

/** Whether signals that should reach an endpoint are brought to it by nobody. */
export function isStray(state: EndpointState, now: Situation): boolean {
  if (!mayBegin(state) || now.underWay > 0) return false
  if (state.health.state === 'degraded')
    return state.probeAtMs === undefined && !state.isProbeDue && !state.isReading
  if (state.source === 'tail') return now.tailCursor === undefined
  return !state.isReading && !state.isReadDue && now.queued === 0
}

export const strayError = ({ subscription, health, source }: EndpointState): ServiceError =>
  new ServiceError('internal_error', {
    message: `nothing brings the signals of subscription ${subscription.subscriptionId} (${health.state}, ${source}); it reads from where its delivery log stands`,
  })
