import { describe, expect, test } from 'vitest'
import { START } from '../../../contracts/position.ts'
import { AS_IT_COMES } from '../../../contracts/subscription.ts'
import { type Deliveries, initialDeliveries } from '../deliveries/delivery-state.ts'
import type { Matched } from '../signals/signal.ts'
import type { Subscription } from '../state/subscription-state.ts'
import { type AttemptDecision, HEALTHY } from './decide-attempt.ts'
import { decideEndpoint, isStray } from './decide-endpoint.ts'
import {
  type Effect,
  type EndpointItem,
  type EndpointState,
  type Input,
  initialEndpoint,
  mayBegin,
  type Situation,
} from './endpoint-state.ts'

const WALL = Date.UTC(2026, 10, 21)
const subscription = {
  subscriptionId: 'one',
  sending: AS_IT_COMES,
  state: 'active',
  stateSince: WALL,
  revision: 3,
  moved: null,
  recovery: null,
} as unknown as Subscription
const degradedAt = WALL - 60_000
const DEGRADED = { ...HEALTHY, state: 'degraded', degradedAt, failuresInARow: 5 } as const

const deliveriesWith = (change: Partial<Deliveries> = {}): Deliveries => ({
  ...initialDeliveries({ startAfter: START }),
  cursor: { after: '10', sequence: 4 },
  ...change,
})
const openOne = (sequence: number, change: object = {}): Partial<Deliveries> => ({
  open: new Map([
    [sequence, { sequence, lastAt: WALL, nextAt: WALL + 5_000, reason: 'status', ...change }],
  ]) as never,
})

const now = (change: Partial<Situation> = {}): Situation => ({
  nowMs: 1_000,
  wallMs: WALL,
  random: 0.5,
  deliveries: deliveriesWith(),
  tailCursor: undefined,
  queued: 0,
  underWay: 0,
  catchUpPerSecond: 500,
  ...change,
})

/** An endpoint that is sent to, and goes along with the tail. */
const ready = (change: Partial<EndpointState> = {}): EndpointState => ({
  ...initialEndpoint(subscription, { readFrom: { after: '10', sequence: 4 }, nowMs: 0 }),
  phase: 'ready',
  pace: 'quick',
  source: 'tail',
  behindSinceMs: undefined,
  ...change,
})
const behind = (change: Partial<EndpointState> = {}): EndpointState =>
  ready({ source: 'behind', behindSinceMs: 0, ...change })

const first: EndpointItem = { kind: 'first', matched: { sequence: 4 } as Matched }
const decision = (change: Partial<AttemptDecision> = {}): AttemptDecision => ({
  result: 'delivered',
  attempts: 1,
  reason: null,
  nextAt: null,
  health: HEALTHY,
  change: undefined,
  ...change,
})
const kinds = (effects: readonly Effect[]): string[] => effects.map(({ kind }) => kind)
const told = (change: Partial<Subscription>): Input => ({
  kind: 'subscription',
  subscription: { ...subscription, revision: 4, ...change },
})

test('the end of a shorter rest does not end a longer one that was asked for since', () => {
  const resting = ready({ restsUntilMs: 9_000 })
  const after = (atMs: number) =>
    decideEndpoint(resting, { kind: 'timer', timer: { kind: 'rest', atMs } }, now()).state.restsUntilMs
  expect([after(4_000), after(9_000)]).toEqual([9_000, undefined])
})

test('an attempt that is undone before the delivery log is in our hand is read again, however far the reading came', () => {
  const loading = initialEndpoint(subscription, { readFrom: { after: START, sequence: 1 }, nowMs: 0 })
  const loaded = decideEndpoint(loading, { kind: 'loaded', subscription }, now()).state
  // The log has nothing open, so that it is not held until the first attempt takes it.
  const idle = now({ deliveries: undefined })
  const cursor = { after: '14', sequence: 5 }
  for (const reached of [
    { kind: 'joined', cursor },
    { kind: 'read', cursor, found: 1 },
  ] as const) {
    const along = decideEndpoint(loaded, reached, idle).state
    const undone = decideEndpoint(along, { kind: 'undone', item: first }, { ...idle, tailCursor: cursor })
    expect(undone.state).toMatchObject({ source: 'behind', readFrom: { after: '10', sequence: 4 } })
  }
})

describe('given an endpoint whose logs are not read yet', () => {
  const loading = initialEndpoint(subscription, { readFrom: { after: START, sequence: 1 }, nowMs: 0 })
  const loaded = (change: Partial<Subscription> = {}): Input => ({
    kind: 'loaded',
    subscription: { ...subscription, revision: 4, ...change },
  })

  test('nothing may begin; when they are read, reading for it begins where its delivery log stands', () => {
    expect(mayBegin(loading)).toBe(false)
    const { state, effects } = decideEndpoint(loading, loaded(), now())
    expect(mayBegin(state)).toBe(true)
    expect(state.readFrom).toEqual({ after: '10', sequence: 4 })
    expect(effects).toEqual([{ kind: 'read' }])
  })

  test('when something is open, it is tried again at its time; by a clock that was set back, as long after its last try', () => {
    const wake = (wallMs: number) =>
      decideEndpoint(loading, loaded(), now({ wallMs, deliveries: deliveriesWith(openOne(2)) })).effects[0]
    const timer = { kind: 'retry', sequence: 2 }
    expect(wake(WALL + 2_000)).toEqual({ kind: 'wake', atMs: 4_000, timer })
    expect(wake(WALL - 86_400_000)).toEqual({ kind: 'wake', atMs: 6_000, timer })
  })

  test('when it is degraded, it is probed, and its owner mailed after an hour; nothing is read for it', () => {
    const { state, effects } = decideEndpoint(loading, loaded({ state: 'degraded' }), now())
    expect(state.health.state).toBe('degraded')
    expect(kinds(effects)).toEqual(['wake', 'wake'])
    expect(effects).toContainEqual(
      expect.objectContaining({ timer: { kind: 'mail', since: expect.any(Number) } }),
    )
  })

  test('when it was paused meanwhile, nothing is done; when it was removed, it is closed', () => {
    expect(decideEndpoint(loading, loaded({ state: 'paused' }), now()).effects).toEqual([])
    expect(kinds(decideEndpoint(loading, loaded({ state: 'removed' }), now()).effects)).toContain('close')
  })

  test('when its owner paused it while they were read, it stays paused: what was read is older', () => {
    const paused = decideEndpoint(loading, told({ revision: 5, state: 'paused' }), now()).state
    const { state, effects } = decideEndpoint(paused, loaded(), now())
    expect([mayBegin(state), state.subscription.revision, effects]).toEqual([false, 5, []])
  })

  test.each([
    ['it took what was sent last', { lastSuccessAt: WALL, failuresInARow: 0 }, 'quick'],
    ['it has failed since', { lastSuccessAt: WALL, failuresInARow: 1 }, 'unproven'],
    ['it never took anything', { lastSuccessAt: null, failuresInARow: 0 }, 'unproven'],
  ] as const)('when %s, its pace follows from that', (_what, deliveries, pace) => {
    const { state } = decideEndpoint(loading, loaded(), now({ deliveries: deliveriesWith(deliveries) }))
    expect(state.pace).toBe(pace)
  })

  test('when its owner moved its cursor since they were read, its delivery log has to have that first', () => {
    const moved = { revision: 5, after: '20' }
    const { state, effects } = decideEndpoint(loading, loaded({ revision: 5, moved }), now())
    expect([mayBegin(state), kinds(effects)]).toEqual([false, ['drain']])
  })

  test('when they cannot be read, they are read again in a while', () => {
    const { state, effects } = decideEndpoint(loading, { kind: 'failed', what: 'load' }, now())
    expect(effects).toEqual([{ kind: 'wake', atMs: 6_000, timer: { kind: 'load' } }])
    expect(decideEndpoint(state, { kind: 'timer', timer: { kind: 'load' } }, now()).effects).toEqual([
      { kind: 'load' },
    ])
  })
})

describe('given an endpoint that goes along with the tail', () => {
  test('when an older event of its subscription comes, nothing happens', () => {
    const { state, effects } = decideEndpoint(ready(), told({ state: 'paused', revision: 2 }), now())
    expect([state.source, effects]).toEqual(['tail', []])
  })

  test('when it is paused, it leaves the tail with nothing in hand', () => {
    const { state, effects } = decideEndpoint(ready(), told({ state: 'paused' }), now({ queued: 3 }))
    expect([mayBegin(state), kinds(effects)]).toEqual([false, ['detach', 'drop_queue']])
    expect(state.readFrom).toEqual({ after: '10', sequence: 4 })
  })

  test('when it leaves with nothing in hand, what the tail has seen is not read again', () => {
    const tailCursor = { after: '90', sequence: 4 }
    const paused = told({ state: 'paused' })
    expect(decideEndpoint(ready(), paused, now({ tailCursor })).state.readFrom).toEqual(tailCursor)
    expect(decideEndpoint(ready(), paused, now({ tailCursor, underWay: 1 })).state.readFrom.after).toBe('10')
  })

  test('when its owner moves its cursor, nothing begins before its delivery log has it', () => {
    const moved = told({ moved: { revision: 4, after: '50' } })
    const { state, effects } = decideEndpoint(ready(), moved, now())
    expect([mayBegin(state), kinds(effects)]).toEqual([false, ['detach', 'drop_queue', 'drain']])
    // Its log has not heard of it yet, since it was moved again meanwhile.
    expect(decideEndpoint(state, { kind: 'drained' }, now()).effects).toEqual([{ kind: 'drain' }])
    const deliveries = deliveriesWith({ movedBy: 4, cursor: { after: '50', sequence: 9 } })
    const drained = decideEndpoint(state, { kind: 'drained' }, now({ deliveries }))
    expect([mayBegin(drained.state), drained.state.readFrom.after]).toEqual([true, '50'])
    expect(kinds(drained.effects)).toContain('read')
  })

  test('when the tail has a signal that there is no room for, reading goes on there once few are left', () => {
    const cursor = { after: '70', sequence: 260 }
    const { state, effects } = decideEndpoint(ready(), { kind: 'left_behind', cursor }, now({ queued: 256 }))
    expect([state.source, effects]).toEqual(['behind', []])
    expect(decideEndpoint(state, { kind: 'free' }, now({ queued: 200 })).effects).toEqual([])
    expect(decideEndpoint(state, { kind: 'free' }, now({ queued: 10 })).effects).toEqual([{ kind: 'read' }])
  })

  test('when nobody has it, it is a stray, and is read for', () => {
    expect(isStray(ready(), now({ tailCursor: { after: '10', sequence: 4 } }))).toBe(false)
    expect(isStray(ready(), now())).toBe(true)
    const { state, effects } = decideEndpoint(ready(), { kind: 'stray' }, now())
    expect([state.source, kinds(effects)]).toEqual(['behind', ['detach', 'drop_queue', 'read']])
    expect(isStray(state, now())).toBe(false)
  })

  test('when the lease is lost, it is closed for good', () => {
    const { state, effects } = decideEndpoint(ready(), { kind: 'lost' }, now())
    expect(kinds(effects)).toEqual(['detach', 'drop_queue', 'close'])
    expect(decideEndpoint(state, told({ state: 'active' }), now()).effects).toEqual([])
  })
})

describe('given an attempt', () => {
  test.each([
    ['delivered', 900, 'quick'],
    ['delivered', 1_100, 'slow'],
    ['failed', 10, 'unproven'],
  ] as const)('when it was %s after %i ms, the endpoint is %s', (result, durationMs, pace) => {
    const sent = { durationMs, isProbe: false, hasReached: true }
    const after = decideEndpoint(ready(), { kind: 'sent', decision: decision({ result }), sent }, now())
    expect(after.state.pace).toBe(pace)
  })

  test('when it failed, it is made again at its time', () => {
    const failed = decision({ result: 'failed', nextAt: WALL + 5_000 })
    const { effects } = decideEndpoint(ready(), { kind: 'recorded', item: first, decision: failed }, now())
    expect(effects).toEqual([{ kind: 'wake', atMs: 6_000, timer: { kind: 'retry', sequence: 4 } }])
  })

  test('when it degrades the endpoint, it leaves the tail, is probed, and its owner is told', () => {
    const change = { kind: 'degraded', reason: 'fails' } as const
    const failed = decision({ result: 'failed', nextAt: WALL + 5_000, change })
    const state = ready({ health: DEGRADED })
    const { effects } = decideEndpoint(state, { kind: 'recorded', item: first, decision: failed }, now())
    expect(kinds(effects)).toEqual(['detach', 'drop_queue', 'wake', 'retry', 'say'])
  })

  test('when it could not be recorded, it comes again in a while, from the log', () => {
    const { state, effects } = decideEndpoint(ready(), { kind: 'undone', item: first }, now())
    expect(kinds(effects)).toEqual(['detach', 'drop_queue', 'wake'])
    expect(state.readAtMs).toBe(6_000)
  })
})

describe('given a degraded endpoint', () => {
  const degraded = behind({ health: DEGRADED, probeAtMs: 1_000 })
  const due: Input = { kind: 'timer', timer: { kind: 'probe', atMs: 1_000 } }

  test('when its probe is due and something waits for another try, it is probed with that', () => {
    const { state, effects } = decideEndpoint(degraded, due, now({ deliveries: deliveriesWith(openOne(2)) }))
    expect([state.isProbeDue, effects]).toEqual([true, []])
  })

  test('when it refused the probe before, something new is read for the next', () => {
    const refused = { ...degraded, probesFailed: 1 }
    const { effects } = decideEndpoint(refused, due, now({ deliveries: deliveriesWith(openOne(2)) }))
    expect(effects).toEqual([{ kind: 'read' }])
  })

  test('when there is nothing to probe it with, it is looked at again in a minute', () => {
    const begun = decideEndpoint(degraded, due, now())
    expect(begun.effects).toEqual([{ kind: 'read' }])
    const cursor = { after: '99', sequence: 4 }
    const { state, effects } = decideEndpoint(begun.state, { kind: 'read', cursor, found: 0 }, now())
    expect(state.isProbeDue).toBe(false)
    expect(effects).toEqual([{ kind: 'wake', atMs: 61_000, timer: { kind: 'probe', atMs: 61_000 } }])
  })

  test('when a newer probe was scheduled, the older one is none', () => {
    const { effects, state } = decideEndpoint({ ...degraded, probeAtMs: 2_000 }, due, now())
    expect([effects, state.isProbeDue]).toEqual([[], false])
  })

  test('when an attempt at it needed nothing, it is probed all the same', () => {
    const idle = { ...degraded, probeAtMs: undefined }
    expect(kinds(decideEndpoint(idle, { kind: 'free' }, now()).effects)).toEqual(['wake'])
  })

  test('when it recovered by itself, it goes on without being settled', () => {
    const recovered = behind({ subscription: { ...subscription, state: 'degraded' } })
    const active = { ...subscription, revision: 5 }
    const change = { kind: 'recovered' } as const
    const { state, effects } = decideEndpoint(
      recovered,
      { kind: 'said', subscription: active, change },
      now(),
    )
    expect([mayBegin(state), effects]).toEqual([true, [{ kind: 'read' }]])
  })
})

describe('given a request for what was given up', () => {
  const asked = { recovery: { revision: 4, since: WALL } }

  test('when it is not carried out, it is once; when it could not be, again', () => {
    const { state, effects } = decideEndpoint(ready(), told(asked), now())
    expect(effects).toEqual([{ kind: 'recover' }])
    expect(decideEndpoint(state, told({ ...asked, revision: 5 }), now()).effects).toEqual([])
    const failed = decideEndpoint(state, { kind: 'failed', what: 'recover' }, now())
    expect(failed.effects).toEqual([{ kind: 'wake', atMs: 6_000, timer: { kind: 'recover' } }])
    const again = decideEndpoint(failed.state, { kind: 'timer', timer: { kind: 'recover' } }, now())
    expect(again.effects).toEqual([{ kind: 'recover' }])
  })

  test('when it is carried out, what waits again is tried, and the request is over', () => {
    const { state } = decideEndpoint(ready(), told(asked), now())
    const deliveries = deliveriesWith({ recoveredBy: 4 })
    const done = decideEndpoint(state, { kind: 'recovery', sequences: [1, 2] }, now({ deliveries }))
    expect(done.effects).toEqual([{ kind: 'retry', sequences: [1, 2] }])
    const later = decideEndpoint(done.state, told({ ...asked, revision: 6 }), now({ deliveries }))
    expect(later.effects).toEqual([])
  })

  test('when it was asked for during a pause, it is carried out once it is resumed', () => {
    const paused = ready({ subscription: { ...subscription, state: 'paused' } })
    const whilePaused = decideEndpoint(paused, told({ state: 'paused', ...asked }), now())
    expect(kinds(whilePaused.effects)).not.toContain('recover')
    const resumed = decideEndpoint(whilePaused.state, told({ revision: 5, ...asked }), now())
    const drained = decideEndpoint(resumed.state, { kind: 'drained' }, now())
    expect(kinds(drained.effects)).toContain('recover')
  })
})
