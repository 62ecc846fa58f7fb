import type { Exchange } from '../../../contracts/domain/series.ts'
import type { Cadence } from '../../../contracts/domain/subscription.ts'
import type { Timeframe } from '../../../contracts/domain/timeframes.ts'
import type { JsonObject } from '../../../contracts/infra/json.ts'
import type { Projection, Rows } from '../../../projections/index.ts'
import { evolveSubscription, SUBSCRIPTION_EVENTS, type Subscription } from './subscription-state.ts'

/** A subscription that is not removed. Key: {@link subscriptionRowKey}. */
export interface SubscriptionRow extends JsonObject {
  readonly kind: 'subscription'
  readonly subscription: Subscription
}

/** How many subscriptions ask for a digest now. Key: {@link WANTED_DIGEST_PREFIX}, then the digest's name. */
export interface WantedDigestRow extends JsonObject {
  readonly kind: 'digest'
  readonly exchange: Exchange
  readonly timeframe: Timeframe
  readonly cadence: Cadence
  readonly count: number
}

export type SubscriptionsRow = SubscriptionRow | WantedDigestRow

export const WANTED_DIGEST_PREFIX = 'digest/'

export const SUBSCRIPTION_PREFIX = 'subscription/'
export const subscriptionRowKey = (subscriptionId: string): string =>
  `${SUBSCRIPTION_PREFIX}${subscriptionId}`

/**
 * Every subscription that is not removed, as its stream tells it, by id: so that a process that
 * begins need not look through the whole log for them. Addresses and secrets stay sealed. And how many ask for each
 * digest, so that nobody has to look through all of them for that.
 */
export const subscriptions: Projection<SubscriptionsRow> = {
  name: 'subscriptions',
  version: 6,
  events: SUBSCRIPTION_EVENTS,
  fold(rows, event) {
    if (!('subscriptionId' in event.data)) return
    const { subscriptionId } = event.data
    const row = rows.get(subscriptionRowKey(subscriptionId))
    const before = row?.kind === 'subscription' ? row.subscription : undefined
    const after = evolveSubscription(before, event)
    // What was removed before it was created never is.
    if (after === undefined || after === before) return
    countDigests(rows, before, after)
    const key = subscriptionRowKey(subscriptionId)
    if (after.state === 'removed') rows.delete(key)
    else rows.put(key, { kind: 'subscription', subscription: after })
  },
}

/**
 * One that is paused, disabled or stopped counts too: its place in the log stands still, and what it did not see is to
 * be there when it goes on.
 */
function countDigests(
  rows: Rows<SubscriptionsRow>,
  before: Subscription | undefined,
  after: Subscription,
): void {
  const [had, has] = [before && digestOf(before), after.state === 'removed' ? undefined : digestOf(after)]
  if (had !== undefined && has !== undefined && had.key === has.key) return
  if (had !== undefined) countDigest(rows, had, -1)
  if (has !== undefined) countDigest(rows, has, 1)
}

type AskedDigest = Pick<WantedDigestRow, 'exchange' | 'timeframe' | 'cadence'> & { readonly key: string }

function digestOf({ filters }: Subscription): AskedDigest | undefined {
  const { digest = null, events = [] } = filters.at(-1)?.filter ?? {}
  if (digest === null || !events.includes('scan_digest')) return undefined
  const { exchange, timeframe, cadence } = digest
  return { exchange, timeframe, cadence, key: `${WANTED_DIGEST_PREFIX}${exchange}.${timeframe}.${cadence}` }
}

function countDigest(rows: Rows<SubscriptionsRow>, { key, ...digest }: AskedDigest, by: 1 | -1): void {
  const row = rows.get(key)
  const count = (row?.kind === 'digest' ? row.count : 0) + by
  if (count > 0) rows.put(key, { kind: 'digest', ...digest, count })
  else rows.delete(key)
}
