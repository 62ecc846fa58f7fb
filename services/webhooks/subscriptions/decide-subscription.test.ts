import { describe, expect, test } from 'vitest'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { evolveSubscription, type Subscription } from '../state/subscription-state.ts'
import { decideSubscription, type SubscriptionCommand, type SubscriptionFact } from './decide-subscription.ts'
import { readFilter } from './filter-request.ts'

const subscriptionId = '019abcde-7c00-7001-8000-0000000000b1'
const accountId = '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55'
const NOW = Date.UTC(2026, 10, 21, 12)
const FILTER = readFilter({ events: ['trade_call'] })

const created: SubscriptionFact = {
  type: 'SubscriptionCreated',
  data: {
    subscriptionId,
    accountId,
    generation: 0,
    sealedUrl: 'v1.url',
    sending: { perSecond: null, inOrder: false },
    sealedSecret: 'v1.secret',
    filter: FILTER,
    startAfter: 'start',
  },
}
const paused: SubscriptionFact = { type: 'SubscriptionPaused', data: { subscriptionId, reason: 'a reason' } }
const disabled: SubscriptionFact = {
  type: 'SubscriptionDisabled',
  data: { subscriptionId, reason: 'a reason', by: 'endpoint' },
}
const stopped: SubscriptionFact = {
  type: 'SubscriptionDisabled',
  data: { subscriptionId, reason: 'stopped by the operator: a reason', by: 'operator' },
}
const removed: SubscriptionFact = {
  type: 'SubscriptionRemoved',
  data: { subscriptionId, reason: 'a reason' },
}
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
const recovery = (since: number): SubscriptionFact => ({
  type: 'RecoveryRequested',
  data: { subscriptionId, since },
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
const recover = (since: number, isWaiting = false): SubscriptionCommand => ({
  kind: 'Recover',
  since,
  isWaiting,
})

test('pausing stops what sends, once; what is disabled is not paused', () => {
  expect(given(created).when(pause)).toEqual([paused])
  expect(given(created, paused).when(pause)).toEqual([])
  expect(given(created, disabled).when(pause)).toBe('state_conflict')
})

test('resuming goes on from everywhere, and moves the cursor where that is asked for', () => {
  for (const before of [[], [paused], [disabled]]) {
    expect(given(created, ...before).when(resume())).toEqual([resumed('cursor', null)])
  }
  expect(given(created).when(resume('now', '9'))).toEqual([resumed('now', '9')])
  expect(given(created, paused).when(resume('since', '4'))).toEqual([resumed('since', '4')])
})

describe('a stop by the operator', () => {
  const reason = 'stopped by the operator: a reason'
  const stop: SubscriptionCommand = { kind: 'Stop', reason }
  const allow: SubscriptionCommand = { kind: 'Allow', reason: 'allowed' }
  const allowed = { type: 'SubscriptionAllowed', data: { subscriptionId, reason: 'allowed' } } as const

  test('happens in any state, once, also to one that is disabled and that its owner would resume', () => {
    for (const facts of [[], [paused], [disabled]]) {
      expect(given(created, ...facts).when(stop)).toEqual([stopped])
    }
    expect(given(created, stopped).when(stop)).toEqual([])
  })

  test('is lifted by the operator alone, into a pause that its owner may end', () => {
    for (const refused of [resume(), resume('now', '9'), pause]) {
      expect(given(created, stopped).when(refused)).toBe('state_conflict')
    }
    expect(given(created, stopped).when(allow)).toEqual([allowed])
    expect(given(created, stopped, allowed).when(resume())).toEqual([resumed('cursor', null)])
    for (const facts of [[], [paused], [disabled]]) expect(given(created, ...facts).when(allow)).toEqual([])
  })

  test.each([
    ['an endpoint that was given up meanwhile', disabled],
    ['a resumption of before stops were kept', resumed('cursor', null)],
    ['a pause', paused],
  ] as const)('is not ended by %s', (_what, fact) => {
    expect(given(created, stopped, fact).when(resume())).toBe('state_conflict')
  })

  test('leaves the owner to change, rotate and delete it', () => {
    expect(given(created, stopped).when({ kind: 'Remove', reason: 'a reason' })).toEqual([removed])
  })
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
    expect(given(created, ...most).when(to(50))).toBe('state_conflict')
  })
})

describe('a new secret', () => {
  test('signs beside those before it', () => {
    expect(given(created).when(rotate(NOW + 1))).toEqual([rotated(NOW + 1)])
    expect(given(created).when(rotate(NOW))).toEqual([rotated(NOW)])
  })

  test('is refused while as many sign as there may be, unless it ends them', () => {
    const most = times(LIMITS.webhookSecretsSigning - 1, () => rotated(NOW + 9))
    expect(given(created, ...most).when(rotate(NOW + 1))).toBe('state_conflict')
    expect(given(created, ...most).when(rotate(NOW))).toEqual([rotated(NOW)])
    expect(given(created, ...most.slice(1)).when(rotate(NOW + 1))).toEqual([rotated(NOW + 1)])
  })
})

test('what was given up is asked for in any state, and again once the request before is carried out', () => {
  for (const state of [[], [paused], [disabled]]) {
    expect(given(created, ...state).when(recover(7))).toEqual([recovery(7)])
    expect(given(created, recovery(7), ...state).when(recover(3))).toEqual([recovery(3)])
    expect(given(created, recovery(7), ...state).when(recover(3, true))).toBe('state_conflict')
    expect(given(created, recovery(7), ...state).when(recover(7, true))).toEqual([])
    expect(given(created, recovery(7), ...state).when(recover(9, true))).toEqual([])
  }
})

test('what is removed, or never was, is unknown to every command', () => {
  expect(given(created).when({ kind: 'Remove', reason: 'a reason' })).toEqual([removed])
  expect(given(created, disabled).when({ kind: 'Remove', reason: 'a reason' })).toEqual([removed])
  const commands = [pause, resume(), rotate(NOW), recover(1), { kind: 'Remove', reason: 'a reason' } as const]
  for (const command of commands) {
    expect(given(created, removed).when(command)).toBe('not_found')
    expect(given().when(command)).toBe('not_found')
    expect(given(removed).when(command)).toBe('not_found')
  }
})
