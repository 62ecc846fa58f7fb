import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../../contracts/limits.ts'
import { START } from '../../../contracts/position.ts'
import { subscriptionStream } from '../../../contracts/streams.ts'
import { SubscriptionResumed } from '../../../contracts/subscription-events.ts'
import { DAY_MS } from '../../../contracts/timeframes.ts'
import { windowClosesAt } from '../signals/signal-window.ts'
import { aFilter, anId } from '../signals/testing/signal-log.fixture.ts'
import type { Subscription } from '../state/subscription-state.ts'
import { createDeliveryQueries } from './delivery-queries.ts'
import { type PreparedDelivery, prepareAgain } from './prepare-delivery.ts'
import { numberedDeliveries } from './read-deliveries.ts'
import {
  aDeliveryWorld,
  anAttempt,
  BASE_URL,
  type DeliveryWorld,
  idOf,
  recordOf,
  sent,
} from './testing/delivery-world.fixture.ts'

/** When every window of these tests has closed, unless they say otherwise. */
const LATER = Date.UTC(2100, 0, 1)

const queriesOf = ({ store }: DeliveryWorld, marketNow = LATER) =>
  createDeliveryQueries({ store, idOf, baseUrl: () => BASE_URL, marketNow: () => marketNow })

/** All pages, one after the other. */
async function pages<Row>(
  page: (
    after: string | undefined,
  ) => Promise<{ readonly rows: readonly Row[]; readonly next: string | null }>,
): Promise<Row[][]> {
  const all: Row[][] = []
  for (let after: string | undefined; ; ) {
    const { rows, next } = await page(after)
    all.push([...rows])
    if (next === null) return all
    after = next
  }
}

describe('attempts', () => {
  test('come newest first, in pages that neither leave out nor repeat one', async () => {
    const { world, all, journal } = await sent(2, 9)
    await journal.record(recordOf(...all.slice(2, 8).map((delivery) => anAttempt(delivery))))
    await journal.record(
      recordOf(...all.slice(8).map((delivery) => anAttempt(delivery, { result: 'failed' }))),
    )
    const queries = queriesOf(world)
    for (const limit of [1, 2, 3, 7, 100]) {
      const found = await pages((after) => queries.attempts(world.own(), { after, limit }))
      expect(found.flat().map(({ sequence }) => sequence)).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1])
      expect(Math.max(...found.map((rows) => rows.length))).toBe(Math.min(limit, 9))
    }
    const of = async (wanted: object) =>
      (await queries.attempts(world.own(), { limit: 100, ...wanted })).rows.length
    const { exchange, timeframe, coin } = all[0]?.signal ?? expect.fail()
    expect(await of({ exchange, timeframe, coin })).toBe(9)
    for (const other of [{ coin: 'NOPE' }, { timeframe: '1d' }, { exchange: 'HL' }])
      expect(await of(other)).toBe(0)
    const failed = await queries.attempts(world.own(), { limit: 5, result: 'failed' })
    expect(failed).toMatchObject({
      rows: [{ sequence: 9, status: 503, detail: { sealed: 'v1.no' } }],
      next: null,
    })
    expect((await queries.open(world.own())).map(({ sequence }) => sequence)).toEqual([9])
  })

  test('are found by type, call and regime of their event, in pages, once its owner may read it', async () => {
    const world = await aDeliveryWorld()
    for (const call of ['BUY', 'SELL', 'SELL'] as const) await world.verdict({ call })
    const all = await world.prepared()
    const journal = await world.deliveries.take(world.own(), 1, 'here')
    await journal.record(recordOf(...all.map((one) => anAttempt(one, { result: 'failed' }))))
    const found = async (wanted: object, marketNow = LATER, limit = 100) => {
      const queries = queriesOf(world, marketNow)
      const rows = await pages((after) => queries.attempts(world.own(), { after, limit, ...wanted }))
      return rows.flat().map(({ sequence }) => sequence)
    }
    expect(await found({ event: 'trade_call' })).toEqual([3, 2, 1])
    expect(await found({ event: 'regime_shift' })).toEqual([])
    for (const limit of [1, 2, 100]) expect(await found({ call: 'SELL' }, LATER, limit)).toEqual([3, 2])
    expect(await found({ call: 'BUY' })).toEqual([1])
    const { regime } = (all[0] ?? expect.fail()).signal.data as { readonly regime: string }
    expect(await found({ call: 'BUY', regime })).toEqual([1])
    expect(await found({ regime: 'NONE' })).toEqual([])
    // An endpoint that never took a delivery learns nothing of a window that is open.
    for (const wanted of [{ call: 'SELL' }, { event: 'trade_call' }])
      expect(await found(wanted, 0)).toEqual([])
  })

  test('are looked up so many a page, and the next page goes on', async () => {
    const { world, all, journal } = await sent(0, 1)
    const [one] = all
    const many = Array.from({ length: LIMITS.webhookSearchEvents + 5 }, () =>
      anAttempt(one, { result: 'failed' }),
    )
    for (let at = 0; at < many.length; at += 100) await journal.record(recordOf(...many.slice(at, at + 100)))
    const found = await pages((after) =>
      queriesOf(world).attempts(world.own(), { after, limit: 5, call: 'SELL' }),
    )
    expect(found).toEqual([[], []])
  })

  test('are counted by UTC day and result, newest day first', async () => {
    const world = await aDeliveryWorld()
    await world.signals(4)
    const all = await world.prepared()
    const journal = await world.deliveries.take(world.own(), 1, 'here')
    const midnight = Math.ceil(world.now / DAY_MS) * DAY_MS
    world.now = midnight + 2 * DAY_MS
    const at = (index: number, days: number, change: object = {}) =>
      anAttempt(all[index] as PreparedDelivery, { at: midnight + days * DAY_MS, ...change })
    await journal.record(
      recordOf(at(0, 0), at(1, 0, { result: 'failed' }), at(2, 1.9), at(3, 2, { result: 'exhausted' })),
    )
    const none = { delivered: 0, failed: 0, exhausted: 0, skipped: 0 }
    const date = (days: number) => new Date(midnight + days * DAY_MS).toISOString().slice(0, 10)
    const queries = queriesOf(world)
    expect(await queries.days(world.subscriptionId, { now: world.now, days: 3 })).toEqual({
      days: [
        { ...none, date: date(2), exhausted: 1 },
        { ...none, date: date(1), delivered: 1 },
        { ...none, date: date(0), delivered: 1, failed: 1 },
      ],
      isComplete: true,
    })
    expect((await queries.days(world.subscriptionId, { now: world.now, days: 1 })).days).toHaveLength(1)
  })

  test('of a subscription that was never sent anything are none', async () => {
    const { world } = await sent(0, 1)
    expect(
      await queriesOf(world).attempts({ ...world.own(), subscriptionId: anId('other') }, { limit: 5 }),
    ).toEqual({ rows: [], next: null })
  })

  test.each(['', '5', '5.', 'x.1', '1.2.3', '-1.0', '1'.repeat(40)])(
    'refuse %j as a place',
    async (after) => {
      const { world } = await sent(1, 1)
      await expect(queriesOf(world).attempts(world.own(), { limit: 5, after })).rejects.toEqual(
        expect.objectContaining({ code: 'invalid_request' }),
      )
    },
  )
})

describe('one delivery', () => {
  test('is shown with all its attempts and the very bytes that were sent', async () => {
    const { world, all, journal } = await sent(3, 5)
    const four = all[3]
    await journal.record(recordOf(anAttempt(four, { result: 'failed' })))
    await world.signals(3)
    await journal.record(recordOf(anAttempt(four, { attempt: 2, at: 10_000 })))
    const shown = await queriesOf(world).show(world.own(), four.deliveryId)
    expect(shown.attempts.map(({ attempt, result }) => [attempt, result])).toEqual([
      [1, 'failed'],
      [2, 'delivered'],
    ])
    expect(shown.body.equals(four.body)).toBe(true)
    expect(shown).toMatchObject({ sequence: 4, bodySha256: four.bodySha256, isComplete: true })
    expect(shown.signal).toEqual(four.signal)
  })

  test('whose recorded SHA-256 its body does not have is not shown', async () => {
    const { world, all, journal } = await sent(0, 1)
    const [one] = all
    await journal.record(recordOf(anAttempt(one, { bodySha256: '0'.repeat(64) })))
    await expect(queriesOf(world).show(world.own(), one.deliveryId)).rejects.toEqual(
      expect.objectContaining({ code: 'event_unreadable', message: expect.stringContaining(one.bodySha256) }),
    )
  })

  test('that was never sent, of another subscription, or no id at all, is unknown', async () => {
    const { world, all } = await sent(1, 2)
    const queries = queriesOf(world)
    const unknown = expect.objectContaining({ code: 'delivery_unknown' })
    const asked = [
      [world.own(), all[1]?.deliveryId],
      [{ ...world.own(), subscriptionId: anId('other') }, all[0]?.deliveryId],
      [world.own(), anId('other')],
      [world.own(), 'x'.repeat(5_000)],
    ] as const
    for (const [subscription, deliveryId = ''] of asked) {
      await expect(queries.show(subscription, deliveryId)).rejects.toEqual(unknown)
    }
  })
})

describe('what was missed', () => {
  test('comes in pages with numbers and bodies as they were sent, or will be', async () => {
    const { world, all, journal } = await sent(7, 20)
    // One is finished in front of others that were not tried yet.
    await journal.record(recordOf(anAttempt(all[9] as PreparedDelivery)))
    const queries = queriesOf(world)
    for (const [limit, first] of [
      [3, 0],
      [7, 2],
      [100, 0],
      [4, 11],
    ] as const) {
      const found = await pages((after = String(first)) => queries.missed(world.own(), { after, limit }))
      const expected = all.slice(first)
      expect(found.flat().map(({ sequence }) => sequence)).toEqual(expected.map(({ sequence }) => sequence))
      expect(found.flat().map(({ body }) => body.toString())).toEqual(
        expected.map(({ body }) => body.toString()),
      )
      expect(Math.max(...found.map((rows) => rows.length))).toBe(Math.min(limit, expected.length))
    }
    expect(await queries.missed(world.own(), { after: '20', limit: 5 })).toEqual({ rows: [], next: null })
  })

  test('is whole where one delivery hung while very many behind it were taken', async () => {
    const { world, all, journal } = await sent(0, 700)
    const [first, ...others] = all
    for (const delivery of others) await journal.record(recordOf(anAttempt(delivery)))
    await journal.record(recordOf(anAttempt(first)))
    const found = await pages((after = '0') => queriesOf(world).missed(world.own(), { after, limit: 100 }))
    expect(found.flat().map(({ sequence }) => sequence)).toEqual(all.map(({ sequence }) => sequence))
  })

  test('is told from the cursor on for one that is moved: numbers that were never used are left out', async () => {
    const { world, all, journal } = await sent(2, 5)
    await journal.record(recordOf(anAttempt(all[3])))
    const data = { subscriptionId: world.subscriptionId, from: 'now' as const, after: world.head() }
    await world.append(subscriptionStream(anId(1)), { definition: SubscriptionResumed, data })
    await world.signals(1)
    const { rows } = await queriesOf(world).missed(world.own(), { after: '0', limit: 10 })
    expect(rows.map(({ sequence }) => sequence)).toEqual([1, 2, 4, 5])
    expect(rows.at(-1)?.position).toBe(world.head())
  })

  test.each(['', 'x', '-1', '1~', '1~x', '1~1/2/3', '9'.repeat(16)])(
    'refuses %j as a place',
    async (after) => {
      const { world } = await sent(1, 1)
      await expect(queriesOf(world).missed(world.own(), { after, limit: 5 })).rejects.toEqual(
        expect.objectContaining({ code: 'invalid_request' }),
      )
    },
  )
})

test('deliveries of a window are found by their numbers, to be sent again byte for byte', async () => {
  const { world, all, journal } = await sent(0, 400)
  for (let n = 0; n < 400; n += 10) {
    const ten = all.slice(n, n + 10).toReversed()
    await journal.record(
      recordOf(...ten.map((delivery) => anAttempt(delivery, { result: 'skipped', bodySha256: null }))),
    )
  }
  for (const [from, to] of [
    [1, 400],
    [57, 61],
    [395, 450],
    [1, 1],
    [401, 500],
  ] as const) {
    const found = await numberedDeliveries(world.store, world.subscriptionId, from, to)
    const expected = all.slice(from - 1, to)
    expect(found.map(({ sequence }) => sequence)).toEqual(expected.map(({ sequence }) => sequence))
    const [last] = found.slice(-1)
    if (last === undefined) continue
    expect((await prepareAgain(world.store, last)).body.equals(expected.at(-1)?.body ?? Buffer.of())).toBe(
      true,
    )
  }
})

test('a delivery whose event is not where it is said to be is not sent again', async () => {
  const { world, all } = await sent(0, 2)
  const [one, two] = all
  for (const place of [
    { ...one, eventId: two.eventId },
    { ...one, revision: 99 },
  ]) {
    await expect(prepareAgain(world.store, place)).rejects.toEqual(
      expect.objectContaining({ code: 'event_unreadable', message: expect.stringContaining(one.stream) }),
    )
  }
})

describe('a dry run', () => {
  test('counts what a filter would have let through, and shows the first of it', async () => {
    const world = await aDeliveryWorld()
    await world.verdict({ call: 'BUY', coin: 'ETH', regime: 'VOLATILE' }, 'RANGING')
    await world.signals(3)
    await world.verdict({ call: 'HOLD' })
    const filter = aFilter({ assets: ['ETH'] })
    const run = await queriesOf(world).dryRun(filter, { after: START, limit: 1 })
    expect(run).toMatchObject({
      matched: { trade_call: 1, regime_shift: 1, scan_digest: 0 },
      rows: [{ data: { type: 'trade_call', coin: 'ETH' } }],
      scanned: 6,
      next: null,
    })
    const all = await queriesOf(world).dryRun(aFilter(), {
      after: START,
      upTo: '3',
      limit: LIMITS.webhookRows,
    })
    expect(all.matched).toEqual({ trade_call: 2, regime_shift: 1, scan_digest: 0 })
  })
})

describe('while windows are open', () => {
  /** Market time at which nothing of a world has closed yet. */
  const FRESH = Date.UTC(2020, 0, 1)
  const numbersOf = async (
    world: DeliveryWorld,
    marketNow: number,
    change: Pick<Subscription, 'state'> | object = {},
  ) => {
    const subscription: Subscription = { ...world.own(), ...change }
    const { rows, next } = await queriesOf(world, marketNow).missed(subscription, { after: '0', limit: 100 })
    expect(next).toBeNull()
    return rows.map(({ sequence }) => sequence)
  }

  test('nothing is pulled for an endpoint that never took a delivery, tried or not, and not shown either', async () => {
    const { world, all, journal } = await sent(0, 5)
    const [one, two] = all
    await journal.record(recordOf(anAttempt(one, { result: 'failed' })))
    await journal.record(recordOf(anAttempt(two, { result: 'skipped', bodySha256: null })))
    expect(await numbersOf(world, FRESH)).toEqual([])
    await expect(queriesOf(world, FRESH).show(world.own(), one.deliveryId)).rejects.toEqual(
      expect.objectContaining({ code: 'delivery_withheld' }),
    )
    expect(await numbersOf(world, LATER)).toEqual([1, 2, 3, 4, 5])
    expect((await queriesOf(world, LATER).show(world.own(), one.deliveryId)).sequence).toBe(1)
  })

  test('an endpoint that took one before can pull all that is due, while it is degraded as well', async () => {
    const { world, all, journal } = await sent(1, 5)
    await journal.record(recordOf(anAttempt(all[1], { result: 'failed' })))
    for (const state of ['active', 'degraded'] as const) {
      expect(await numbersOf(world, FRESH, { state })).toEqual([1, 2, 3, 4, 5])
    }
    expect((await queriesOf(world, FRESH).show(world.own(), all[1]?.deliveryId ?? '')).sequence).toBe(2)
  })

  test.each(['paused', 'disabled', 'stopped'] as const)(
    'one that is %s has due only what was tried before, in its order',
    async (state) => {
      const { world, all, journal } = await sent(2, 6)
      // Tried out of its turn: what lies in front of it is not due.
      await journal.record(recordOf(anAttempt(all[4])))
      expect(await numbersOf(world, FRESH, { state })).toEqual([1, 2])
      expect(await numbersOf(world, LATER, { state })).toEqual([1, 2, 3, 4, 5, 6])
    },
  )

  test('a page ends in front of the first window that is open, and goes on from there later', async () => {
    const { world, all } = await sent(0, 4)
    const closed = all.slice(0, 2).map(({ signal }) => windowClosesAt(signal))
    const marketNow = Math.max(...closed)
    expect(await numbersOf(world, marketNow)).toEqual([1, 2])
    const { rows } = await queriesOf(world).missed(world.own(), { after: '2', limit: 10 })
    expect(rows.map(({ sequence }) => sequence)).toEqual([3, 4])
  })

  test('a dry run neither shows nor counts them, of any type', async () => {
    const world = await aDeliveryWorld()
    await world.verdict({ call: 'BUY', coin: 'ETH', regime: 'VOLATILE' }, 'RANGING')
    await world.digest('HL', '1h', '1h', 2)
    const filter = aFilter({
      events: ['trade_call', 'regime_shift', 'scan_digest'],
      digest: { exchange: 'HL', timeframe: '1h', cadence: '1h', topN: 2 },
    })
    const run = (marketNow: number) =>
      queriesOf(world, marketNow).dryRun(filter, { after: START, limit: LIMITS.webhookRows })
    expect(await run(FRESH)).toMatchObject({
      matched: { trade_call: 0, regime_shift: 0, scan_digest: 0 },
      rows: [],
      next: null,
    })
    const later = await run(LATER)
    expect(later.matched).toEqual({ trade_call: 1, regime_shift: 1, scan_digest: 1 })
    expect(later.scanned).toBe((await run(FRESH)).scanned)
  })
})
