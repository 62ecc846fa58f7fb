import { describe, expect, test } from 'vitest'
import { ServiceError } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { evolveSubscription, type Subscription } from '../../../projections/index.ts'
import { decideSubscription, type SubscriptionCommand, type SubscriptionFact } from './decide-subscription.ts'
import { readFilter } from './filter-request.ts'

const subscriptionId = '019abcde-7c00-7001-8000-0000000000b1'
const accountId = '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55'
const NOW = Date.UTC(2026, 10, 21, 12)
const FILTER = readFilter({ events: ['trade_call'] })
const uuid = (n: number): string => `019abcde-7c00-7001-8000-${String(n).padStart(12, '0')}`

const created: SubscriptionFact = {
  type: 'SubscriptionCreated',
  data: {
    subscriptionId,
    accountId,
    generation: 0,
    sealedUrl: 'v1.url',
    sealedSecret: 'v1.secret',
    origin: 'https://bot.example.com',
    filter: FILTER,
    startAfter: 'start',
  },
}
const paused: SubscriptionFact = { type: 'SubscriptionPaused', data: { subscriptionId, reason: 'a reason' } }
const disabled: SubscriptionFact = {
  type: 'SubscriptionDisabled',
  data: { subscriptionId, reason: 'a reason' },
}
const removed: SubscriptionFact = {
  type: 'SubscriptionRemoved',
  data: { subscriptionId, reason: 'a reason' },
}
const degraded = { type: 'SubscriptionDegraded', data: { subscriptionId, reason: 'failing' } }
const resumed = (from: 'cursor' | 'now' | 'since', after: string | null): SubscriptionFact => ({
  type: 'SubscriptionResumed',
  data: { subscriptionId, from, after },
})
const rotated = (overlapUntil: number): SubscriptionFact => ({
  type: 'SecretRotated',
  data: { subscriptionId, generation: 0, sealedSecret: 'v1.next', overlapUntil },
})
const changed = (minConfidence: number): SubscriptionFact => ({
  type: 'SubscriptionChanged',
  data: { subscriptionId, filter: { ...FILTER, minConfidence } },
})
const replayed = (n: number): SubscriptionFact => ({
  type: 'ReplayRequested',
  data: { subscriptionId, replayId: uuid(n), fromSequence: 3, toSequence: 7 },
})
const times = <Item>(count: number, make: (n: number) => Item): Item[] =>
  Array.from({ length: count }, (_, n) => make(n))

const given = (...facts: readonly object[]) => ({
  when(command: SubscriptionCommand): readonly SubscriptionFact[] | string {
    const at = new Date(NOW).toISOString()
    const state = facts.reduce<Subscription | undefined>(
      (before, fact, revision) =>
        evolveSubscription(before, { ...fact, at, revision, position: String(revision + 1) } as never),
      undefined,
    )
    try {
      return decideSubscription({ subscriptionId }, command, state)
    } catch (error) {
      if (error instanceof ServiceError) return error.code
      throw error
    }
  },
})

const pause: SubscriptionCommand = { kind: 'Pause', reason: 'a reason' }
const resume = (
  from: 'cursor' | 'now' | 'since' = 'cursor',
  after: string | null = null,
): SubscriptionCommand => ({
  kind: 'Resume',
  from,
  after,
})
const rotate = (overlapUntil: number): SubscriptionCommand => ({
  kind: 'RotateSecret',
  generation: 0,
  sealedSecret: 'v1.next',
  overlapUntil,
  now: NOW,
})
const replay = (change: object = {}): SubscriptionCommand => ({
  kind: 'RequestReplay',
  replayId: uuid(99),
  fromSequence: 3,
  toSequence: 7,
  newest: 7,
  isDone: () => false,
  ...change,
})

test('pausing stops what sends, once; what is disabled is not paused', () => {
  expect(given(created).when(pause)).toEqual([paused])
  expect(given(created, degraded).when(pause)).toEqual([paused])
  expect(given(created, paused).when(pause)).toEqual([])
  expect(given(created, disabled).when(pause)).toBe('subscription_state')
})

test('resuming goes on from everywhere, and moves the cursor where that is asked for', () => {
  expect(given(created).when(resume())).toEqual([])
  for (const stopped of [paused, degraded, disabled]) {
    expect(given(created, stopped).when(resume())).toEqual([resumed('cursor', null)])
  }
  expect(given(created).when(resume('now', '9'))).toEqual([resumed('now', '9')])
  expect(given(created, paused).when(resume('since', '4'))).toEqual([resumed('since', '4')])
})

test('disabling stops it in any state, once', () => {
  const disable: SubscriptionCommand = { kind: 'Disable', reason: 'a reason' }
  for (const facts of [[], [paused], [degraded]])
    expect(given(created, ...facts).when(disable)).toEqual([disabled])
  expect(given(created, disabled).when(disable)).toEqual([])
})

describe('changing its filter', () => {
  const to = (minConfidence: number): SubscriptionCommand => ({
    kind: 'Change',
    change: (filter) => ({ ...filter, minConfidence }),
  })

  test('makes another one, from the newest; the same one makes nothing happen', () => {
    expect(given(created).when(to(53))).toEqual([changed(53)])
    expect(given(created, changed(53)).when(to(53))).toEqual([])
    expect(given(created, changed(53)).when(to(0))).toEqual([changed(0)])
    const strength: SubscriptionCommand = {
      kind: 'Change',
      change: (filter) => ({ ...filter, minStrength: 7 }),
    }
    expect(given(created, changed(53)).when(strength)).toEqual([
      {
        type: 'SubscriptionChanged',
        data: { subscriptionId, filter: { ...FILTER, minConfidence: 53, minStrength: 7 } },
      },
    ])
  })

  test('is done so often and no more', () => {
    const most = times(LIMITS.subscriptionFilters - 1, (n) => changed((n % 2) + 1))
    expect(given(created, ...most.slice(1)).when(to(50))).toEqual([changed(50)])
    expect(given(created, ...most).when(to(50))).toBe('subscription_state')
  })
})

describe('a new secret', () => {
  test('signs beside those before it', () => {
    expect(given(created).when(rotate(NOW + 1))).toEqual([rotated(NOW + 1)])
    expect(given(created).when(rotate(NOW))).toEqual([rotated(NOW)])
  })

  test('is refused while as many sign as there may be, unless it ends them', () => {
    const most = times(LIMITS.webhookSecretsSigning - 1, () => rotated(NOW + 9))
    expect(given(created, ...most).when(rotate(NOW + 1))).toBe('subscription_state')
    expect(given(created, ...most).when(rotate(NOW))).toEqual([rotated(NOW)])
    expect(given(created, ...most.slice(1)).when(rotate(NOW + 1))).toEqual([rotated(NOW + 1)])
  })
})

describe('a replay', () => {
  test('is of numbers that were given out, in their order, and of so many at most', () => {
    const asked = (fromSequence: number, toSequence: number, newest: number) =>
      given(created).when(replay({ fromSequence, toSequence, newest }))
    expect(asked(3, 7, 7)).toEqual([
      {
        type: 'ReplayRequested',
        data: { subscriptionId, replayId: uuid(99), fromSequence: 3, toSequence: 7 },
      },
    ])
    expect(asked(3, 7, 6)).toBe('invalid_request')
    expect(asked(7, 3, 9)).toBe('invalid_request')
    expect(asked(1, LIMITS.webhookReplayDeliveries, 1e6)).toHaveLength(1)
    expect(asked(1, LIMITS.webhookReplayDeliveries + 1, 1e6)).toBe('invalid_request')
  })

  test('waits for a place among those under way', () => {
    const most = times(LIMITS.webhookReplaysKept, replayed)
    expect(given(created, ...most).when(replay())).toBe('subscription_state')
    expect(given(created, ...most).when(replay({ isDone: (id: string) => id === uuid(0) }))).toHaveLength(1)
    expect(given(created, ...most.slice(1)).when(replay())).toHaveLength(1)
  })
})

test('what is removed, or never was, is unknown to every command', () => {
  expect(given(created).when({ kind: 'Remove', reason: 'a reason' })).toEqual([removed])
  expect(given(created, disabled).when({ kind: 'Remove', reason: 'a reason' })).toEqual([removed])
  const commands = [pause, resume(), rotate(NOW), replay(), { kind: 'Remove', reason: 'a reason' } as const]
  for (const command of commands) {
    expect(given(created, removed).when(command)).toBe('subscription_unknown')
    expect(given().when(command)).toBe('subscription_unknown')
    expect(given(removed).when(command)).toBe('subscription_unknown')
  }
})
