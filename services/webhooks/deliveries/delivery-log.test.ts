import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import type { DeliveryAttempt } from '../../../contracts/events/delivery-events.ts'
import { deliveryStream, subscriptionStream } from '../../../contracts/events/streams.ts'
import { SubscriptionResumed } from '../../../contracts/events/subscription-events.ts'
import { comparePositions } from '../../../contracts/infra/position.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { EventStore } from '../../log/event-store.ts'
import { anId } from '../signals/testing/signal-log.fixture.ts'
import { type Deliveries, evolveDeliveries, initialDeliveries, wasAttempted } from './delivery-state.ts'
import type { PreparedDelivery } from './prepare-delivery.ts'
import { deliveryEvent, findExhausted, readDeliveries } from './read-deliveries.ts'
import { aDeliveryWorld, anAttempt, type DeliveryWorld, sent } from './testing/delivery-world.fixture.ts'

/** The state from every event of the log, oldest first, without any use of snapshots. */
function foldAll(world: DeliveryWorld, upTo = Infinity): Deliveries {
  const rows = world.log.byStream.get(deliveryStream(world.subscriptionId)) ?? []
  let state: Deliveries = initialDeliveries(world.own())
  for (const row of rows.slice(0, upTo)) {
    const event = deliveryEvent({ ...row, data: JSON.parse(row.data), meta: JSON.parse(row.meta) })
    if (event.type === 'DeliveriesAttempted') {
      state = evolveDeliveries(state, event)
      continue
    }
    // Others say the state whole: it must be what the attempts made of it, with the cursor further on at most.
    const said = evolveDeliveries(state, event)
    const { cursor } = event.data.state
    expect(cursor.sequence).toBe(state.cursor.sequence)
    expect(comparePositions(cursor.after, state.cursor.after)).toBeGreaterThanOrEqual(0)
    state = { ...state, cursor, revision: event.revision, token: event.data.token, sinceSnapshot: 0 }
    expect(said).toEqual(state)
  }
  return state
}

/** A store in front of another, in which appends to delivery logs go wrong as a test says. */
const faulty = (store: EventStore, fault: (append: () => Promise<unknown>) => Promise<void>): EventStore => ({
  ...store,
  async append(stream, events, options) {
    if (stream.startsWith('delivery-')) await fault(() => store.append(stream, events, options))
    return store.append(stream, events, options)
  },
})

describe('a delivery log', () => {
  test('remembers what was delivered, what is to be tried again, and where the cursor stands', async () => {
    const {
      world,
      journal,
      all: [one, two, three],
    } = await sent(0, 4, 3)
    await journal.record(anAttempt(three))
    expect(journal.state.cursor).toEqual({ after: world.own().startAfter, sequence: 1 })
    await journal.record(anAttempt(one), anAttempt(two, { result: 'failed', nextAt: 9_000 }))

    const state = await world.deliveries.load(world.own())
    expect(state).toEqual(journal.state)
    expect(state.cursor).toEqual({ after: three.position, sequence: 4 })
    expect(state.token).toBe(3)
    expect([...state.open.values()]).toEqual([
      expect.objectContaining({
        deliveryId: two.deliveryId,
        sequence: 2,
        attempt: 1,
        nextAt: 9_000,
        status: 503,
      }),
    ])
    expect(state).toMatchObject({ failuresInARow: 1, firstFailureAt: 2_000, lastSuccessAt: 3_000 })
    expect(state.counts).toEqual({ delivered: 2, failed: 1, exhausted: 0, skipped: 0 })
    expect([1, 2, 3, 4].map((sequence) => wasAttempted(state, sequence))).toEqual([true, true, true, false])

    await journal.record(anAttempt(two, { attempt: 2, at: 9_000 }))
    expect(journal.state.open.size).toBe(0)
    expect(journal.state).toMatchObject({ failuresInARow: 0, firstFailureAt: null, lastSuccessAt: 9_000 })
  })

  test('is the same read from its newest snapshot as from its beginning, at whatever event it ends', async () => {
    const ends = fc.constantFrom<DeliveryAttempt['result']>('delivered', 'failed', 'exhausted', 'skipped')
    const history = fc.array(
      fc.record({
        /** Which of those that are in flight ends, and how many end together. */
        picks: fc.array(fc.tuple(fc.nat(7), ends), { minLength: 1, maxLength: 6 }),
        afterwards: fc.constantFrom('go on', 'go on', 'go on', 'taken over', 'advanced'),
      }),
      { minLength: 1, maxLength: 12 },
    )
    await fc.assert(
      fc.asyncProperty(history, async (turns) => {
        const world = await aDeliveryWorld()
        await world.signals(30)
        const all = await world.prepared()
        let token = 0
        let journal = await world.deliveries.take(world.own(), token, 'first')
        for (const { picks, afterwards } of turns) {
          const records = new Map<number, DeliveryAttempt>()
          for (const [offset, result] of picks) {
            const sequence = journal.state.cursor.sequence + offset
            const delivery = all[sequence - 1]
            if (delivery === undefined || journal.state.finishedAbove.has(sequence)) continue
            records.set(sequence, anAttempt(delivery, { result }))
          }
          const retried = [...journal.state.open.keys()].filter((sequence) => sequence % 2 === 0)
          for (const sequence of retried) {
            const delivery = all[sequence - 1]
            if (delivery !== undefined) records.set(sequence, anAttempt(delivery, { attempt: 2 }))
          }
          if (records.size > 0) await journal.record(...records.values())
          if (afterwards === 'taken over') journal = await world.deliveries.take(world.own(), ++token, 'next')
          if (afterwards === 'advanced')
            await journal.advance({ ...journal.state.cursor, after: world.head() })
        }
        const length = world.log.byStream.get(deliveryStream(world.subscriptionId))?.length ?? 0
        const state = foldAll(world)
        expect(await readDeliveries(world.store, world.own())).toEqual(state)
        for (let end = 0; end <= length; end++) expectConsistent(foldAll(world, end), all)
      }),
      { numRuns: 60 },
    )
  })

  test('writes a snapshot now and then, so that little is read to go on', async () => {
    const { world, journal, all } = await sent(0, 600)
    for (const delivery of all) await journal.record(anAttempt(delivery))
    let read = 0
    const counting = {
      async *read(...from: Parameters<EventStore['read']>) {
        for await (const event of world.store.read(...from)) {
          read += 1
          yield event
        }
      },
    }
    const state = await readDeliveries(counting, world.own())
    expect(state).toEqual(foldAll(world))
    expect(state.cursor.sequence).toBe(601)
    expect(read).toBeLessThanOrEqual(257)
  })

  test('records what comes together in few appends, in the order it came', async () => {
    const world = await aDeliveryWorld()
    await world.signals(500)
    const all = await world.prepared()
    let appends = 0
    const store = faulty(world.store, async () => {
      appends += 1
    })
    const journal = await world.open({ store }).take(world.own(), 1, 'here')
    const states = await Promise.all(all.map((delivery) => journal.record(anAttempt(delivery))))
    expect(states.at(-1)?.counts.delivered).toBe(500)
    expect(appends).toBeLessThan(8)
    expect(foldAll(world)).toEqual(journal.state)
  })
})

/** Invariants of every state: nothing below the cursor is lost, nothing is open and finished. */
function expectConsistent(state: Deliveries, all: readonly PreparedDelivery[]): void {
  for (const sequence of state.finishedAbove.keys()) {
    expect(sequence).toBeGreaterThan(state.cursor.sequence)
    expect(state.open.has(sequence)).toBe(false)
  }
  expect(wasAttempted(state, state.cursor.sequence)).toBe(false)
  for (const delivery of state.open.values())
    expect(delivery.deliveryId).toBe(all[delivery.sequence - 1]?.deliveryId)
  const attempted = all.filter(({ sequence }) => wasAttempted(state, sequence)).length
  const { delivered, exhausted, skipped } = state.counts
  expect(delivered + exhausted + skipped + state.open.size).toBe(attempted)
}

describe('a holder', () => {
  test('that another has replaced can record nothing, and is told so', async () => {
    const {
      world,
      journal: former,
      all: [one, two],
    } = await sent(0, 2)
    await former.record(anAttempt(one))
    const newer = await world.open().take(world.own(), 2, 'newer')
    expect(newer.state.cursor.sequence).toBe(2)

    const late = former.record(anAttempt(two))
    const later = former.record(anAttempt(two))
    const lost = expect.objectContaining({ code: 'lease_lost', message: expect.stringContaining('token 2') })
    await expect(late).rejects.toEqual(lost)
    await expect(later).rejects.toEqual(lost)
    await expect(former.advance({ after: world.head(), sequence: 2 })).rejects.toEqual(lost)
    expect(former.isLost).toBe(true)
    await expect(world.open().take(world.own(), 1, 'former')).rejects.toEqual(lost)
    await newer.record(anAttempt(two))
    expect(foldAll(world).counts.delivered).toBe(2)
  })

  test('takes over between two appends of the former one: one of them wins, nothing is lost', async () => {
    const { world, journal: former, all } = await sent(0, 40)
    const ends = all.map((delivery) => former.record(anAttempt(delivery)).catch((error: unknown) => error))
    const newer = await world.open().take(world.own(), 2, 'newer')
    const recorded = (await Promise.all(ends)).filter((end) => !(end instanceof ServiceError)).length
    expect(newer.state.counts.delivered).toBe(recorded)
    expect((await readDeliveries(world.store, world.own())).counts.delivered).toBe(recorded)
  })

  test('repeats an append whose outcome is unknown, and records it once', async () => {
    const world = await aDeliveryWorld()
    await world.signals(1)
    const [one] = (await world.prepared()) as [PreparedDelivery]
    const problems = ['append_unknown', 'store_unavailable', 'append_unknown'] as const
    let tries = 0
    const store = faulty(world.store, async (append) => {
      const problem = problems[tries++ - 1]
      if (problem === 'append_unknown') await append()
      if (problem !== undefined) throw new ServiceError(problem)
    })
    const journal = await world.open({ store }).take(world.own(), 1, 'here')
    await journal.record(anAttempt(one))
    expect(tries).toBe(5)
    expect(foldAll(world).counts.delivered).toBe(1)
    expect(foldAll(world)).toEqual(journal.state)
  })

  test('gives up waiting for the log when its process stops, and says what the log said', async () => {
    const world = await aDeliveryWorld()
    await world.signals(1)
    const [one] = (await world.prepared()) as [PreparedDelivery]
    const stopping = new AbortController()
    let isDown = false
    const store = faulty(world.store, async () => {
      if (!isDown) return
      stopping.abort()
      throw new ServiceError('store_full')
    })
    const journal = await world.open({ store, signal: stopping.signal }).take(world.own(), 1, 'here')
    isDown = true
    await expect(journal.record(anAttempt(one))).rejects.toEqual(
      expect.objectContaining({ code: 'store_full' }),
    )
    expect(journal.isLost).toBe(false)
  })

  test('is told of a record that cannot be written; those beside it are recorded', async () => {
    const {
      world,
      journal,
      all: [one, two, three],
    } = await sent(0, 3)
    const ends = await Promise.allSettled([
      journal.record(anAttempt(one)),
      journal.record(
        anAttempt(two, { detail: { sealed: 'x'.repeat(LIMITS.webhookSealedAnswerCharacters + 1) } }),
      ),
      journal.record(anAttempt(three)),
    ])
    expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(foldAll(world).counts.delivered).toBe(2)
    expect(wasAttempted(journal.state, 2)).toBe(false)
  })

  test('is refused more open deliveries than can be kept', async () => {
    const world = await aDeliveryWorld()
    const most = LIMITS.webhookOpenDeliveries + LIMITS.webhookAttemptsAtOnce
    await world.signals(most + 1)
    const all = await world.prepared()
    const journal = await world.deliveries.take(world.own(), 1, 'here')
    const failed = all.map((delivery) => anAttempt(delivery, { result: 'failed' }))
    const ends = await Promise.allSettled(failed.map((record) => journal.record(record)))
    expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(most)
    // All of them fit into one event that says the state whole.
    expect((await world.open().take(world.own(), 2, 'next')).state.open.size).toBe(most)
  })
})

describe('a cursor', () => {
  test('moves on through an empty stretch, but never past what was not attempted', async () => {
    const world = await aDeliveryWorld()
    await world.signals(1)
    const journal = await world.deliveries.take(world.own(), 1, 'here')
    await journal.advance({ after: world.head(), sequence: 2 })
    expect(journal.state.cursor.sequence).toBe(1)
    const [one] = (await world.prepared()) as [PreparedDelivery]
    await journal.record(anAttempt(one))
    await world.verdict({ call: 'HOLD' })
    const { after } = journal.state.cursor
    await journal.advance({ after: world.head(), sequence: 2 })
    expect(comparePositions(journal.state.cursor.after, after)).toBeGreaterThan(0)
    const before = journal.state
    await journal.advance({ after, sequence: 2 })
    expect(journal.state).toBe(before)
  })

  test('that its owner moves goes there once; what was open is skipped, and no number is used twice', async () => {
    const world = await aDeliveryWorld()
    await world.signals(5)
    const all = await world.prepared()
    const [one, two, , four] = all as [PreparedDelivery, PreparedDelivery, PreparedDelivery, PreparedDelivery]
    const journal = await world.deliveries.take(world.own(), 1, 'here')
    await journal.record(
      anAttempt(one),
      anAttempt(two, { result: 'failed' }),
      anAttempt(four, { result: 'failed' }),
    )
    const data = { subscriptionId: world.subscriptionId, from: 'since' as const, after: one.position }
    await world.append(subscriptionStream(anId(1)), { definition: SubscriptionResumed, data })
    const seen = await world.deliveries.load(world.own())
    expect(seen.cursor).toEqual({ after: one.position, sequence: 5 })

    await journal.move(world.own())
    const { revision } = journal.state
    await journal.move(world.own())
    expect(journal.state).toMatchObject({ revision, cursor: seen.cursor, counts: { skipped: 2 } })
    expect(journal.state.open.size).toBe(0)
    const next = await world.open().take(world.own(), 2, 'next')
    expect(next.state.cursor).toEqual(seen.cursor)
    expect(next.state.revision).toBe(Number(revision) + 1)
    // What was under way meanwhile ends under its old number, and is not taken up again.
    await next.record(anAttempt(two, { result: 'failed', attempt: 2 }))
    expect(next.state.open.size).toBe(0)
    expect(next.state.cursor).toEqual(seen.cursor)
  })

  test('that is moved while nobody holds it is moved by who takes it', async () => {
    const world = await aDeliveryWorld()
    await world.signals(3)
    const data = { subscriptionId: world.subscriptionId, from: 'now' as const, after: world.head() }
    await world.append(subscriptionStream(anId(1)), { definition: SubscriptionResumed, data })
    const journal = await world.deliveries.take(world.own(), 1, 'here')
    expect(journal.state.cursor).toEqual({ after: data.after, sequence: 1 })
  })
})

test('what was given up waits again once, its tries begin anew, and the cursor stays', async () => {
  const world = await aDeliveryWorld()
  await world.signals(4)
  const [one, two, three] = (await world.prepared()) as [PreparedDelivery, PreparedDelivery, PreparedDelivery]
  const journal = await world.deliveries.take(world.own(), 1, 'here')
  // The third was given up before the cursor could pass it.
  const attempts = [anAttempt(one), anAttempt(three, { result: 'exhausted', attempt: 9 })]
  await journal.record(...attempts)
  const ofAll = { since: 0, open: journal.state.open }
  const { found, isWhole } = await findExhausted(world.store, world.subscriptionId, ofAll)
  expect([found.map(({ sequence }) => sequence), isWhole]).toEqual([[3], true])
  await journal.recover(found, 8)
  const state = await world.deliveries.load(world.own())
  expect(state).toMatchObject({ cursor: { sequence: 2 }, recoveredBy: 8, finishedAbove: new Map() })
  expect(state.open.get(3)).toMatchObject({ attempt: 0, nextAt: world.now })
  expect(
    (await findExhausted(world.store, world.subscriptionId, { ...ofAll, open: state.open })).found,
  ).toEqual([])
  expect((await journal.recover(found, 8)).revision).toBe(state.revision)
  await journal.record(anAttempt(two), anAttempt(three))
  expect(await world.deliveries.load(world.own())).toMatchObject({ cursor: { sequence: 4 }, open: new Map() })
  expect((await findExhausted(world.store, world.subscriptionId, ofAll)).found).toEqual([])
})

test('failures are counted until they are forgiven', async () => {
  const { world, all, journal } = await sent(1, 2)
  await journal.record(anAttempt(all[1], { result: 'failed', at: 90_000 }))
  expect(journal.state).toMatchObject({ failuresInARow: 1, firstFailureAt: 90_000 })
  expect((await journal.forgiveFailures()).failuresInARow).toBe(0)
  expect((await world.deliveries.load(world.own())).firstFailureAt).toBeNull()
})
