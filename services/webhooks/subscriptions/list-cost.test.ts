import { afterEach, beforeEach, expect, test } from 'vitest'
import { CursorMoved, DeliveriesAttempted } from '../../../contracts/events/delivery-events.ts'
import { newEvent } from '../../../contracts/events/event-definition.ts'
import { deliveryStream } from '../../../contracts/events/streams.ts'
import { appendNext } from '../../../testing/append-next.ts'
import type { EventStore } from '../../log/event-store.ts'
import { initialDeliveries, toSnapshot } from '../deliveries/delivery-state.ts'
import { ADA, aRequest, aWorld, ORIGIN, type World } from './testing/subscriptions.fixture.ts'

const SUBSCRIPTIONS = 20
const EVENTS = 2_000
const ATTEMPTS = 200

let world: World
beforeEach(() => {
  world = aWorld()
  world.owners.limit = SUBSCRIPTIONS
})
afterEach(() => world.closeAll())

/** A log that counts what is read of it. */
function counting(store: EventStore) {
  const read = { events: 0, asked: 0, wholeLog: 0 }
  async function* counted<Item>(items: AsyncIterable<Item>, of: 'events' | 'wholeLog') {
    read.asked += 1
    for await (const item of items) {
      read[of] += 1
      yield item
    }
  }
  const countedStore: EventStore = {
    ...store,
    read: (stream, options) => counted(store.read(stream, options), 'events'),
    readAll: (options) => counted(store.readAll(options), 'wholeLog'),
  }
  return { read, store: countedStore }
}

/** Attempts that were recorded one by one since the newest snapshot. */
async function recordAttempts(subscriptionId: string, from: number, count: number): Promise<void> {
  for (let n = from; n < from + count; n++) {
    const data = {
      subscriptionId,
      token: 1,
      cursor: { after: '1', sequence: n + 1 },
      attempts: [
        {
          deliveryId: crypto.randomUUID(),
          sequence: n,
          eventId: crypto.randomUUID(),
          position: '1',
          stream: 'verdict-SIM.BTC.1h',
          revision: n,
          topN: null,
          attempt: 1,
          status: 200,
          reason: null,
          at: n,
          durationMs: 1,
          hostWaitMs: 0,
          result: 'delivered' as const,
          detail: null,
          nextAt: null,
          notBefore: null,
        },
      ],
    }
    const event = newEvent(DeliveriesAttempted, { id: crypto.randomUUID(), data, meta: ORIGIN })
    await appendNext(world.store(), deliveryStream(subscriptionId), [event])
  }
}

test('a list reads no log but the newest of each row, however far its rows are behind', async () => {
  const { read, store } = counting(world.store())
  const { subscriptions } = world.start({ store, index: undefined })
  const ids: string[] = []
  for (let n = 0; n < SUBSCRIPTIONS; n++) {
    world.now += 1
    const created = await subscriptions.create(ADA, aRequest(), ORIGIN)
    ids.push(created.subscription.subscriptionId)
    await subscriptions.pause(ADA, ids[n] ?? '', ORIGIN)
  }
  // All are this far behind.
  await world.recordCalls(EVENTS)
  await recordAttempts(ids[0] ?? '', 1, ATTEMPTS)
  const list = async () => {
    Object.assign(read, { events: 0, asked: 0, wholeLog: 0 })
    const { rows } = await subscriptions.list(ADA, { status: 'all', limit: SUBSCRIPTIONS })
    return { rows, ...read }
  }
  const first = await list()
  expect(first.wholeLog).toBe(0)
  // The attempts of the one that has any, read back once.
  expect(first.events).toBeLessThanOrEqual(ATTEMPTS + SUBSCRIPTIONS)
  expect(first.asked).toBeLessThanOrEqual(5 * SUBSCRIPTIONS)

  const again = await list()
  expect(again.events).toBeLessThanOrEqual(SUBSCRIPTIONS)
  expect(again.asked).toBeLessThanOrEqual(5 * SUBSCRIPTIONS)
  expect(again.rows[0]?.deliveries.counts.delivered).toBe(ATTEMPTS)

  await recordAttempts(ids[0] ?? '', ATTEMPTS + 1, 3)
  const later = await list()
  expect(later.rows[0]?.deliveries.counts.delivered).toBe(ATTEMPTS + 3)
  expect(later.events).toBeLessThanOrEqual(3 + SUBSCRIPTIONS)
})

test('what is remembered of deliveries follows what is written down anew, as by a process that took over', async () => {
  const { subscriptions } = world.start()
  const { subscription } = await subscriptions.create(ADA, aRequest(), ORIGIN)
  const { subscriptionId } = subscription
  await recordAttempts(subscriptionId, 1, 2)
  const delivered = async () => (await subscriptions.show(ADA, subscriptionId)).deliveries.counts.delivered
  expect(await delivered()).toBe(2)
  const state = {
    ...toSnapshot(initialDeliveries(subscription)),
    counts: { delivered: 7, failed: 0, exhausted: 0, skipped: 0 },
  }
  const event = newEvent(CursorMoved, {
    id: crypto.randomUUID(),
    data: { subscriptionId, token: 2, state },
    meta: ORIGIN,
  })
  await appendNext(world.store(), deliveryStream(subscriptionId), [event])
  expect(await delivered()).toBe(7)
})
