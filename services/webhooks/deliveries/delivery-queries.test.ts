import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../../contracts/limits.ts'
import { windowClosesAt } from '../signals/signal-window.ts'
import { anId } from '../signals/testing/signal-log.fixture.ts'
import { createDeliveryQueries } from './delivery-queries.ts'
import { type PreparedDelivery, prepareAgain } from './prepare-delivery.ts'
import { numberedDeliveries } from './read-deliveries.ts'
import { anAttempt, BASE_URL, type DeliveryWorld, sent } from './testing/delivery-world.fixture.ts'

/** When every window of these tests has closed, unless they say otherwise. */
const LATER = Date.UTC(2100, 0, 1)

const queriesOf = ({ store }: DeliveryWorld, marketNow = LATER) =>
  createDeliveryQueries({ store, marketNow: () => marketNow, baseUrl: () => BASE_URL })

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
    await journal.record(...all.slice(2, 8).map((delivery) => anAttempt(delivery)))
    await journal.record(...all.slice(8).map((delivery) => anAttempt(delivery, { result: 'failed' })))
    const queries = queriesOf(world)
    for (const limit of [1, 2, 3, 7, 100]) {
      const found = await pages((after) => queries.attempts(world.subscriptionId, { after, limit }))
      expect(found.flat().map(({ sequence }) => sequence)).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1])
      expect(Math.max(...found.map((rows) => rows.length))).toBe(Math.min(limit, 9))
    }
    const failed = await queries.attempts(world.subscriptionId, { limit: 5, result: 'failed' })
    expect(failed).toMatchObject({
      rows: [{ sequence: 9, status: 503, detail: { sealed: 'v1.no' } }],
      next: null,
    })
    expect((await queries.open(world.own())).map(({ sequence }) => sequence)).toEqual([9])
  })

  test('that are rare are looked for in short pages, which keep no other account waiting', async () => {
    const { world } = await sent(1, 1)
    let looked = 0
    const store = {
      // A year of deliveries that were all taken.
      async *read(stream: string, options: Parameters<DeliveryWorld['store']['read']>[1] = {}) {
        for await (const event of world.store.read(stream, { direction: 'backwards', limit: 1 }))
          for (let revision = options.from ?? 500_000; revision >= 0; revision--, looked++)
            yield { ...event, revision }
      },
    }
    const queries = createDeliveryQueries({ store, marketNow: () => LATER, baseUrl: () => BASE_URL })
    const asked = { limit: 5, result: 'failed' as const }
    const first = await queries.attempts(world.subscriptionId, asked)
    expect(first).toEqual({ rows: [], next: expect.any(String) })
    expect(looked).toBeLessThanOrEqual(LIMITS.webhookListEvents + 1)
    const second = await queries.attempts(world.subscriptionId, { ...asked, after: first.next ?? '' })
    expect(Number.parseInt(second.next ?? '', 10)).toBeLessThan(Number.parseInt(first.next ?? '', 10))
    expect(looked).toBeLessThanOrEqual(2 * (LIMITS.webhookListEvents + 1))
  })

  test('of a subscription that was never sent anything are none', async () => {
    const { world } = await sent(0, 1)
    expect(await queriesOf(world).attempts(anId('other'), { limit: 5 })).toEqual({ rows: [], next: null })
  })

  test.each(['', '5', '5.', 'x.1', '1.2.3', '-1.0', '1'.repeat(40)])(
    'refuse %j as a place',
    async (after) => {
      const { world } = await sent(1, 1)
      await expect(queriesOf(world).attempts(world.subscriptionId, { limit: 5, after })).rejects.toEqual(
        expect.objectContaining({ code: 'invalid_request' }),
      )
    },
  )
})

describe('what was missed', () => {
  test('comes in pages with numbers and bodies as they were sent', async () => {
    const { world, all: signals, journal } = await sent(12, 20)
    // One is finished in front of others that were not tried yet: it comes once they are.
    await journal.record(anAttempt(signals[15] as PreparedDelivery))
    const all = signals.slice(0, 12)
    const queries = queriesOf(world)
    for (const [limit, first] of [
      [3, 0],
      [7, 2],
      [100, 0],
      [4, 7],
    ] as const) {
      const found = await pages((after = String(first)) => queries.missed(world.own(), { after, limit }))
      const expected = all.slice(first)
      expect(found.flat().map(({ sequence }) => sequence)).toEqual(expected.map(({ sequence }) => sequence))
      expect(found.flat().map(({ body }) => body.toString())).toEqual(
        expected.map(({ body }) => body.toString()),
      )
      expect(Math.max(...found.map((rows) => rows.length))).toBe(Math.min(limit, expected.length))
    }
    expect(await queries.missed(world.own(), { after: '12', limit: 5 })).toEqual({ rows: [], next: null })
  })

  test('is whole where one delivery hung while very many behind it were taken', async () => {
    const { world, all, journal } = await sent(0, 700)
    const [first, ...others] = all
    for (const delivery of others) await journal.record(anAttempt(delivery))
    await journal.record(anAttempt(first))
    const found = await pages((after = '0') => queriesOf(world).missed(world.own(), { after, limit: 100 }))
    expect(found.flat().map(({ sequence }) => sequence)).toEqual(all.map(({ sequence }) => sequence))
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
    await journal.record(...ten.map((delivery) => anAttempt(delivery, { result: 'skipped' })))
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
    expect(
      (await prepareAgain(world.store, last, BASE_URL)).body.equals(expected.at(-1)?.body ?? Buffer.of()),
    ).toBe(true)
  }
})

test('a delivery whose event is not where it is said to be is not sent again', async () => {
  const { world, all } = await sent(0, 2)
  const [one, two] = all
  for (const place of [
    { ...one, eventId: two.eventId },
    { ...one, revision: 99 },
  ]) {
    await expect(prepareAgain(world.store, place, BASE_URL)).rejects.toEqual(
      expect.objectContaining({ code: 'event_unreadable', message: expect.stringContaining(one.stream) }),
    )
  }
})

describe('while windows are open', () => {
  /** Market time at which nothing of a world has closed yet. */
  const FRESH = Date.UTC(2020, 0, 1)
  const numbersOf = async (world: DeliveryWorld, marketNow: number) => {
    const { rows, next } = await queriesOf(world, marketNow).missed(world.own(), { after: '0', limit: 100 })
    expect(next).toBeNull()
    return rows.map(({ sequence }) => sequence)
  }

  test('nothing is pulled for an endpoint that never took a delivery', async () => {
    const { world, all, journal } = await sent(0, 5)
    const [one, two] = all
    await journal.record(anAttempt(one, { result: 'failed' }))
    await journal.record(anAttempt(two, { result: 'skipped' }))
    expect(await numbersOf(world, FRESH)).toEqual([])
    expect(await numbersOf(world, LATER)).toEqual([1, 2])
  })

  test('an endpoint that took one before can pull all that was tried', async () => {
    const { world, all, journal } = await sent(1, 5)
    await journal.record(anAttempt(all[1], { result: 'failed' }))
    expect(await numbersOf(world, FRESH)).toEqual([1, 2])
  })

  test('a page ends in front of the first window that is open, and goes on from there later', async () => {
    const { world, all, journal } = await sent(0, 4)
    await journal.record(...all.map((one) => anAttempt(one, { result: 'failed' })))
    const marketNow = Math.max(...all.slice(0, 2).map(({ signal }) => windowClosesAt(signal)))
    expect(await numbersOf(world, marketNow)).toEqual([1, 2])
    const { rows } = await queriesOf(world).missed(world.own(), { after: '2', limit: 10 })
    expect(rows.map(({ sequence }) => sequence)).toEqual([3, 4])
  })
})
