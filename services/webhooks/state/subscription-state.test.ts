import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { SubscriptionFilter } from '../../../contracts/domain/subscription.ts'
import {
  RecoveryRequested,
  SecretRotated,
  SubscriptionChanged,
  SubscriptionCreated,
  SubscriptionDisabled,
  SubscriptionPaused,
  SubscriptionRemoved,
  SubscriptionResumed,
} from '../../../contracts/events/subscription-events.ts'
import { type Fact, fold, given, subscriptionFact } from '../../../projections/given-events.fixture.ts'
import { evolveSubscription, isSending, type Subscription } from './subscription-state.ts'
import { subscriptionRowKey, subscriptions, WANTED_DIGEST_PREFIX } from './subscriptions-read-model.ts'

const subscriptionId = '019abcde-7c00-7001-8000-0000000000b1'
const accountId = '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55'
/** When every fact here is recorded. */
const AT = Date.UTC(2025, 0, 1)

const FILTER: SubscriptionFilter = {
  events: ['trade_call'],
  timeframes: null,
  assets: null,
  exchanges: null,
  digest: null,
  minConfidence: 0,
  minStrength: 0,
  onlyChanges: false,
}
const created = subscriptionFact(SubscriptionCreated, {
  subscriptionId,
  accountId,
  generation: 2,
  sealedUrl: 'v1.url',
  sending: { perSecond: null, inOrder: false },
  sealedSecret: 'v1.first',
  filter: FILTER,
  startAfter: 'start',
})
const changed = (minConfidence: number): Fact =>
  subscriptionFact(SubscriptionChanged, { subscriptionId, filter: { ...FILTER, minConfidence } })
const rotated = (secret: string, overlapUntil: number): Fact =>
  subscriptionFact(SecretRotated, { subscriptionId, generation: 2, sealedSecret: secret, overlapUntil })
const paused = subscriptionFact(SubscriptionPaused, { subscriptionId, reason: 'paused' })
const disabled = subscriptionFact(SubscriptionDisabled, { subscriptionId, reason: 'gone', by: 'endpoint' })
const removed = subscriptionFact(SubscriptionRemoved, { subscriptionId, reason: 'removed' })
const resumed = (from: 'cursor' | 'now' | 'since', after: string | null): Fact =>
  subscriptionFact(SubscriptionResumed, { subscriptionId, from, after })
const recovery = (since: number): Fact => subscriptionFact(RecoveryRequested, { subscriptionId, since })

const state = (...facts: readonly Fact[]): Subscription | undefined =>
  given(...facts).reduce<Subscription | undefined>(evolveSubscription, undefined)

describe('a subscription', () => {
  test('begins active, with one filter behind where it starts and one secret', () => {
    expect(state(created)).toEqual({
      subscriptionId,
      accountId,
      generation: 2,
      sealedUrl: 'v1.url',
      sending: { perSecond: null, inOrder: false },
      state: 'active',
      reason: null,
      stateSince: AT,
      createdAt: AT,
      changedAt: AT,
      revision: 0,
      secrets: [{ generation: 2, sealed: 'v1.first', signsUntil: null }],
      filters: [{ after: 'start', filter: FILTER }],
      startAfter: 'start',
      moved: null,
      recovery: null,
    })
  })

  test('keeps every filter, each behind the position of its event', () => {
    const { filters } = state(created, changed(53), changed(57)) ?? expect.fail()
    expect(filters.map(({ after, filter }) => [after, filter.minConfidence])).toEqual([
      ['start', 0],
      ['2', 53],
      ['3', 57],
    ])
  })

  test('signs with the newest secret, and with older ones until their overlap ends', () => {
    const later = AT + 1_000
    const { secrets } =
      state(created, rotated('v1.second', later + 500), rotated('v1.third', later)) ?? expect.fail()
    expect(secrets.map(({ sealed, signsUntil }) => [sealed, signsUntil])).toEqual([
      ['v1.third', null],
      ['v1.second', later],
      ['v1.first', later],
    ])
    // An overlap of nothing takes the old ones out at once.
    expect(state(created, rotated('v1.second', AT))?.secrets).toHaveLength(1)
    expect(state(created, rotated('v1.second', later), rotated('v1.third', AT))?.secrets).toHaveLength(1)
  })

  test.each([
    ['paused', [paused], false],
    ['disabled', [disabled], false],
    ['active', [disabled, resumed('cursor', null)], true],
    ['active', [paused, resumed('now', '7')], true],
    ['removed', [removed], false],
  ] as const)('is %s after what happened to it', (expected, facts, sends) => {
    const after = state(created, ...facts) ?? expect.fail()
    expect([after.state, isSending(after)]).toEqual([expected, sends])
    expect(after.revision).toBe(facts.length)
  })

  test('remembers the newest move of its cursor, and that a resumption without one is none', () => {
    expect(state(created, resumed('since', '5'))?.moved).toEqual({ revision: 1, after: '5' })
    expect(state(created, resumed('since', '5'), resumed('cursor', null))?.moved).toEqual({
      revision: 1,
      after: '5',
    })
    expect(state(created, resumed('since', '5'), resumed('now', '9'))?.moved).toEqual({
      revision: 2,
      after: '9',
    })
  })

  test('remembers the newest request for what was given up', () => {
    expect(state(created)?.recovery).toBeNull()
    expect(state(created, recovery(5), recovery(3))?.recovery).toEqual({ revision: 2, since: 3 })
  })

  test('is never there when its stream was closed before it was created', () => {
    expect(state(removed)).toBeUndefined()
    expect(fold(subscriptions, given(removed))).toEqual({})
  })
})

describe('the read model', () => {
  const facts = fc.array(
    fc.constantFrom(changed(53), rotated('v1.x', AT + 9), paused, disabled, recovery(1)),
    { maxLength: 12 },
  )

  test('has each subscription as its stream tells it, and its place among those of its account', () => {
    fc.assert(
      fc.property(facts, (happened) => {
        const rows = fold(subscriptions, given(created, ...happened))
        expect(rows[subscriptionRowKey(subscriptionId)]).toEqual({
          kind: 'subscription',
          subscription: state(created, ...happened),
        })
      }),
    )
  })

  test('counts who asks for a digest now: by the newest filter, whatever the state, until it is removed', () => {
    const digest = { exchange: 'HL', timeframe: '1h', cadence: '1d', topN: 5 } as const
    const asks = subscriptionFact(SubscriptionChanged, {
      subscriptionId,
      filter: { ...FILTER, events: ['scan_digest'], digest },
    })
    const wanted = (...happened: readonly Fact[]) =>
      Object.entries(fold(subscriptions, given(created, ...happened))).filter(([key]) =>
        key.startsWith(WANTED_DIGEST_PREFIX),
      )
    const one = [
      'digest/HL.1h.1d',
      { kind: 'digest', exchange: 'HL', timeframe: '1h', cadence: '1d', count: 1 },
    ]
    expect(wanted()).toEqual([])
    expect(wanted(asks)).toEqual([one])
    expect(wanted(asks, asks)).toEqual([one])
    for (const fact of [paused, disabled]) expect(wanted(asks, fact)).toEqual([one])
    expect(wanted(asks, changed(53))).toEqual([])
    expect(wanted(asks, removed)).toEqual([])
  })

  test('has nothing of one that is removed, whatever comes behind', () => {
    fc.assert(
      fc.property(facts, facts, (before, after) => {
        expect(fold(subscriptions, given(created, ...before, removed, ...after))).toEqual({})
      }),
    )
  })
})
