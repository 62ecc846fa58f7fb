import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isServiceError, ServiceError } from '../../../contracts/errors.ts'
import { PLAN_LIMITS } from '../../../contracts/plans.ts'
import type { EventStore } from '../../log/event-store.ts'
import { freeWindow, type Payer } from './balance.ts'
import { aDebit, aWorld, NOON, PAYER, type World } from './testing/ledger.fixture.ts'

const PRO: Payer = { ...PAYER, tier: 'pro' }
const LIMIT = PLAN_LIMITS.free.callsPerDay ?? PLAN_LIMITS.free.callsPerWindow

/** A log of one process, each of whose appends waits for a step of the test. */
function held(world: World) {
  const waiting: { readonly count: number; readonly go: () => void; fail(error: unknown): void }[] = []
  const store: EventStore = {
    ...world.store,
    isExclusive: true,
    async append(stream, events, options) {
      await new Promise<void>((go, fail) => waiting.push({ count: events.length, go, fail }))
      return world.store.append(stream, events, options)
    },
  }
  return { store, waiting, counts: () => waiting.map(({ count }) => count) }
}

const names = (from: number, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `call ${from + index}`)

const answersIn = (world: World): string[] =>
  world.events().map(({ data }) => (JSON.parse(data.answer) as { answer: string }).answer)

test('where nobody else appends, a second append of a payer is under way behind the first, in order', async () => {
  const world = aWorld()
  const { store, waiting, counts } = held(world)
  const ledger = world.ledger({ store })
  const call = (name: string) => ledger.debit(PRO, aDebit(name), NOON)
  const first = call('call 0')
  await setImmediate()
  const others = names(1, 60).map(call)
  await setImmediate()
  expect(counts()).toEqual([1, 24])
  waiting.shift()?.go()
  expect((await first).balance.used).toBe(1)
  await setImmediate()
  expect(counts()).toEqual([24])
  others.push(call('call 61'))
  expect(counts()).toEqual([24, 37])
  waiting.shift()?.go()
  waiting.shift()?.go()
  const used = (await Promise.all(others)).map(({ balance }) => balance.used)
  expect(used).toEqual(names(2, 61).map((_, index) => index + 2))
  expect(answersIn(world)).toEqual(names(0, 62))
})

test.each([
  ['over a log that others append to', { isExclusive: false }],
  ['where one has an idempotency key', { key: 'a key' }],
  ['in front of the limit of the day', { payer: PAYER, before: LIMIT - 10 }],
])('nothing goes ahead %s', async (_, { isExclusive = true, key, payer = PRO, before = 0 }: Case) => {
  const world = aWorld()
  const { store, waiting, counts } = held(world)
  for (const name of names(0, before)) await world.ledger().debit(payer, aDebit(name), NOON)
  const ledger = world.ledger({ store: { ...store, isExclusive } })
  const call = (name: string) => ledger.debit(payer, aDebit(name), NOON)
  const all = [call('first')]
  await setImmediate()
  if (key !== undefined) all.push(ledger.debit(payer, aDebit('with a key', { key }), NOON))
  all.push(...names(0, 30).map(call))
  const ended = Promise.allSettled(all)
  await setImmediate()
  expect(counts()).toEqual([1])
  for (let turn = 0; turn < 10; turn++) {
    for (const { go } of waiting.splice(0)) go()
    await setImmediate()
  }
  const refused = (await ended).filter(({ status }) => status === 'rejected').length
  expect(refused).toBe(before > 0 ? 21 : 0)
})

interface Case {
  readonly isExclusive?: boolean
  readonly key?: string
  readonly payer?: Payer
  readonly before?: number
}

test('what was appended behind one that failed is decided again, and is counted once', async () => {
  const world = aWorld()
  const { store, waiting } = held(world)
  const ledger = world.ledger({ store })
  const call = (name: string) => ledger.debit(PRO, aDebit(name), NOON)
  const first = call('first')
  await setImmediate()
  const others = names(0, 24).map(call)
  await setImmediate()
  waiting.shift()?.fail(new ServiceError('event_invalid', { message: 'a test' }))
  // It finds another end of its stream than it was decided from.
  waiting.shift()?.go()
  await expect(first).rejects.toMatchObject({ code: 'event_invalid' })
  while (waiting.length === 0) await setImmediate()
  waiting.shift()?.go()
  expect((await Promise.all(others)).map(({ balance }) => balance.used)).toEqual(
    names(1, 24).map((_, index) => index + 1),
  )
  expect(answersIn(world)).toEqual(names(0, 24))
})

const FAULTS = ['none', 'none', 'busy', 'lost-before', 'lost-after'] as const

test('appends ahead meet any faults: every debit is answered, every answer debited, in order, none beyond the limit', async () => {
  const wave = fc.record({
    calls: fc.nat(40),
    key: fc.option(fc.nat(2), { freq: 5 }),
    turns: fc.nat(12),
  })
  await fc.assert(
    fc.asyncProperty(
      fc.array(wave, { minLength: 1, maxLength: 6 }),
      fc.array(fc.constantFrom(...FAULTS), { maxLength: 30 }),
      fc.constantFrom<Payer>(PAYER, PRO, { ...PAYER, window: freeWindow(NOON) }),
      async (waves, faults, payer) => {
        const world = aWorld()
        const store: EventStore = {
          ...world.store,
          isExclusive: true,
          async append(stream, events, options) {
            const fault = faults.shift() ?? 'none'
            await setImmediate()
            if (fault === 'busy') throw new ServiceError('store_unavailable')
            if (fault === 'lost-before') throw new ServiceError('append_unknown')
            const result = await world.store.append(stream, events, options)
            if (fault === 'lost-after') throw new ServiceError('append_unknown')
            return result
          },
        }
        const ledger = world.ledger({ store })
        const asked: string[] = []
        const answered: string[] = []
        const all: Promise<void>[] = []
        const call = async (name: string, key?: string): Promise<void> => {
          asked.push(name)
          try {
            const { answer, isReplay } = await ledger.debit(
              payer,
              aDebit(name, key === undefined ? {} : { key }),
              NOON,
            )
            if (!isReplay) answered.push((JSON.parse(answer) as { answer: string }).answer)
          } catch (error) {
            if (!isServiceError(error)) throw error
          }
        }
        for (const { calls, key, turns } of waves) {
          if (key !== null) all.push(call(`with key ${asked.length}`, `key ${key}`))
          all.push(...names(asked.length, calls).map((name) => call(name)))
          for (let turn = 0; turn < turns; turn++) await setImmediate()
        }
        await Promise.all(all)
        const events = world.events()
        const inLog = answersIn(world)
        // One whose outcome nobody learnt may be in the log.
        expect(inLog).toEqual(expect.arrayContaining(answered))
        expect(new Set(inLog).size).toBe(inLog.length)
        expect(inLog).toEqual(asked.filter((name) => inLog.includes(name)))
        let used = 0
        for (const { data } of events) {
          used += 1
          expect(data).toMatchObject({ used, usedToday: used })
          expect(used).toBeLessThanOrEqual(PLAN_LIMITS[payer.tier].callsPerWindow)
          expect(used).toBeLessThanOrEqual(PLAN_LIMITS[payer.tier].callsPerDay ?? used)
        }
      },
    ),
    { numRuns: 300 },
  )
})
