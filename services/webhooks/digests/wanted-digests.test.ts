import { expect, test } from 'vitest'
import type { SubscriptionFilter, SubscriptionState } from '../../../contracts/subscription.ts'
import type { Subscription } from '../../../projections/index.ts'
import { wantedDigests } from './wanted-digests.ts'

const HOURLY = { exchange: 'HL', timeframe: '1h', topN: 5, cadence: '1h' } as const
const DAILY = { ...HOURLY, cadence: '1d' } as const

const filterOf = (
  digest: SubscriptionFilter['digest'],
  events?: SubscriptionFilter['events'],
): SubscriptionFilter => ({
  events: events ?? (digest === null ? ['trade_call'] : ['scan_digest']),
  timeframes: null,
  assets: null,
  exchanges: null,
  minConfidence: 0,
  minStrength: 0,
  onlyChanges: false,
  freshness: { policy: 'all', maxBars: 3 },
  digest,
})

type Asking = Pick<Subscription, 'state' | 'filters'>

const subscriptionOf = (state: SubscriptionState, ...filters: SubscriptionFilter[]): Asking => ({
  state,
  filters: filters.map((filter, after) => ({ after: String(after), filter })),
})

const wantedBy = (...subscriptions: Asking[]): string[] =>
  [...wantedDigests(subscriptions)].map(
    ({ exchange, timeframe, cadence }) => `${exchange} ${timeframe} ${cadence}`,
  )

test('a digest is wanted by every subscription that was not removed, also while it is not sent to', () => {
  const states = ['active', 'paused', 'degraded', 'disabled'] as const
  expect(wantedBy(...states.map((state) => subscriptionOf(state, filterOf(HOURLY))))).toHaveLength(4)
  expect(wantedBy(subscriptionOf('removed', filterOf(HOURLY)))).toEqual([])
})

test('what the newest filter says counts, if it asks for digests', () => {
  expect(wantedBy(subscriptionOf('active', filterOf(HOURLY), filterOf(DAILY)))).toEqual(['HL 1h 1d'])
  expect(wantedBy(subscriptionOf('active', filterOf(HOURLY), filterOf(null)))).toEqual([])
  expect(wantedBy(subscriptionOf('active', filterOf(HOURLY, ['trade_call'])))).toEqual([])
})
