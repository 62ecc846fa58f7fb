import type { DeliveryAttempt } from '../../../../contracts/events/delivery-events.ts'
import type { LogUse } from '../../../log/append-with-retry.ts'
import type { EventStore } from '../../../log/event-store.ts'
import { createFactIds } from '../../../runtime/ids/fact-id.ts'
import { matchRange } from '../../signals/testing/match-range.fixture.ts'
import { aFilter, anId, aSignalLog, type SignalLog } from '../../signals/testing/signal-log.fixture.ts'
import type { Subscription } from '../../state/subscription-state.ts'
import { type DeliveryLogs, openDeliveryLogs } from '../delivery-log.ts'
import { type PreparedDelivery, prepareDelivery } from '../prepare-delivery.ts'

export const BASE_URL = 'https://signals.example.com'
export const idOf = createFactIds(Buffer.from('secret'))

/** One subscription to every trade call, and signals for it. */
export interface DeliveryWorld extends SignalLog {
  readonly subscriptionId: string
  readonly deliveries: DeliveryLogs
  /** The subscription as its events tell it, now. */
  own(): Subscription
  /** So many more trade calls, which the subscription asks for. */
  signals(count: number): Promise<void>
  /** All signals of the subscription so far, with their bodies. */
  prepared(baseUrl?: string): Promise<PreparedDelivery[]>
  open(change?: Partial<LogUse> & { readonly store?: EventStore }): DeliveryLogs
}

let ids = 0

export async function aDeliveryWorld(): Promise<DeliveryWorld> {
  const world = aSignalLog()
  await world.subscribe(1, aFilter({ events: ['trade_call'] }))
  const open: DeliveryWorld['open'] = (change) =>
    openDeliveryLogs({
      store: world.store,
      newId: () => anId(`delivery event ${ids++}`),
      now: () => world.now,
      sleep: async () => {},
      signal: new AbortController().signal,
      ...change,
    })
  return Object.assign(world, {
    subscriptionId: anId(1),
    deliveries: open(),
    open,
    own: () => world.subscription(1),
    async signals(count: number) {
      for (let n = 0; n < count; n++) await world.verdict({ call: 'BUY' })
    },
    async prepared(baseUrl = BASE_URL) {
      const { startAfter } = world.subscription(1)
      const cursor = { after: startAfter, sequence: 1 }
      const found = await Array.fromAsync(matchRange(world, world.subscription(1), cursor, world.head()))
      return found.map((matched) => prepareDelivery(matched, { idOf, baseUrl }))
    },
  })
}

/** As many as a test names, and more where there are. */
type All = readonly [
  PreparedDelivery,
  PreparedDelivery,
  PreparedDelivery,
  PreparedDelivery,
  PreparedDelivery,
  ...PreparedDelivery[],
]

/** A world with so many signals, the first of which were delivered, each recorded by itself, under a token. */
export async function sent(delivered: number, signals: number, token = 1) {
  const world = await aDeliveryWorld()
  await world.signals(signals)
  const all = (await world.prepared()) as unknown as All
  const journal = await world.deliveries.take(world.own(), token, 'here')
  for (const delivery of all.slice(0, delivered)) await journal.record(anAttempt(delivery))
  return { world, all, journal }
}

/** An attempt at a delivery; delivered at once, unless a test says otherwise. */
export function anAttempt(of: PreparedDelivery, change: Partial<DeliveryAttempt> = {}): DeliveryAttempt {
  const { deliveryId, sequence, eventId, position, stream, revision, topN } = of
  const isFailed = change.result !== undefined && change.result !== 'delivered'
  return {
    deliveryId,
    sequence,
    eventId,
    position,
    stream,
    revision,
    topN,
    attempt: 1,
    status: isFailed ? 503 : 200,
    reason: isFailed ? 'status' : null,
    at: 1_000 * sequence,
    durationMs: 3.5,
    hostWaitMs: 0,
    result: 'delivered',
    detail: isFailed ? { sealed: 'v1.no' } : null,
    nextAt: change.result === 'failed' ? 5_000 + sequence : null,
    notBefore: null,
    ...change,
  }
}
