import { beforeEach, describe, expect, test } from 'vitest'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { EventStore } from '../../log/event-store.ts'
import { planWindow } from './balance.ts'
import { aDebit, aWorld, NOON, PAYER, type World } from './testing/ledger.fixture.ts'

let world: World
beforeEach(() => {
  world = aWorld()
})

const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'no error',
    (error: unknown) => (error instanceof ServiceError ? error.code : String(error)),
  )

/** A store whose appends fail in turn with these, after the append where the name says so. */
function failing(store: EventStore, faults: (string | undefined)[]): EventStore {
  return {
    ...store,
    async append(...append) {
      const fault = faults.shift()
      if (fault === undefined) return store.append(...append)
      if (fault === 'lost-answer') await store.append(...append)
      throw new ServiceError(
        fault === 'store_full' || fault === 'store_unavailable' ? fault : 'append_unknown',
      )
    },
  }
}

describe('debits', () => {
  test('are counted one after the other, and hold their answers', async () => {
    const ledger = world.ledger()
    const debited = await Promise.all(['a', 'b', 'c'].map((name) => ledger.debit(PAYER, aDebit(name), NOON)))
    expect(debited.map(({ balance }) => balance.used)).toEqual([1, 2, 3])
    expect(debited.map(({ answer }) => answer)).toEqual([
      '{"answer":"a"}',
      '{"answer":"b"}',
      '{"answer":"c"}',
    ])
    expect(world.events().map(({ data }) => [data.used, data.usedToday])).toEqual([
      [1, 1],
      [2, 2],
      [3, 3],
    ])
    expect(world.events().map(({ stream }) => stream)).toEqual(Array(3).fill(`quota-${PAYER.id}.2026-11`))
  })

  test('that wait together share an append', async () => {
    const appends: number[] = []
    const store: EventStore = {
      ...world.store,
      append: (stream, events, options) => {
        appends.push(events.length)
        return world.store.append(stream, events, options)
      },
    }
    const ledger = world.ledger({ store })
    await Promise.all(Array.from({ length: 60 }, (_, n) => ledger.debit(PAYER, aDebit(`${n}`), NOON)))
    expect(appends.length).toBeLessThanOrEqual(2)
    expect(world.events()).toHaveLength(60)
  })

  test('with long answers are spread over appends that the log takes', async () => {
    const pro = { ...PAYER, tier: 'pro' } as const
    const long = 'ä'.repeat(200_000)
    const ledger = world.ledger()
    const debited = await Promise.all([1, 2, 3, 4].map((n) => ledger.debit(pro, aDebit(`${n}${long}`), NOON)))
    expect(debited.map(({ balance }) => balance.used)).toEqual([1, 2, 3, 4])
  })

  test('are allowed to the limit and not beyond, and only those beyond are refused', async () => {
    const ledger = world.ledger()
    const outcomes = await Promise.all(
      Array.from({ length: 130 }, (_, n) => codeOf(ledger.debit(PAYER, aDebit(`${n}`), NOON))),
    )
    expect(outcomes.filter((code) => code === 'no error')).toHaveLength(100)
    expect(outcomes.filter((code) => code === 'quota_exhausted')).toHaveLength(30)
    expect(world.events()).toHaveLength(100)
  })

  test('one that cannot be an event is refused alone', async () => {
    const ledger = world.ledger()
    const outcomes = await Promise.all(
      ['a', 'x'.repeat(300_000), 'b'].map((text) => codeOf(ledger.debit(PAYER, aDebit(text), NOON))),
    )
    expect(outcomes).toEqual(['no error', 'event_invalid', 'no error'])
    expect(world.events().map(({ data }) => data.used)).toEqual([1, 2])
  })

  test('go on where another process, or the one before a restart, left off', async () => {
    const [first, second] = [world.ledger(), world.ledger()]
    await first.debit(PAYER, aDebit('a'), NOON)
    await second.debit(PAYER, aDebit('b'), NOON)
    expect((await first.debit(PAYER, aDebit('c'), NOON)).balance).toMatchObject({ used: 3, revision: 2 })
    expect((await world.ledger().debit(PAYER, aDebit('d'), NOON)).balance.used).toBe(4)
  })

  test('of another window are counted apart, also while the one before is not over', async () => {
    const ledger = world.ledger()
    const next = { ...PAYER, tier: 'starter', window: planWindow(NOON, NOON + 1_000_000) } as const
    const debited = await Promise.all(
      [PAYER, next, PAYER, next].map((payer, n) => ledger.debit(payer, aDebit(`${n}`), NOON)),
    )
    expect(debited.map(({ balance }) => balance.used)).toEqual([1, 1, 2, 2])
  })

  test('past as many as may wait are turned away', async () => {
    const held = Promise.withResolvers<void>()
    const store: EventStore = {
      ...world.store,
      append: async (...append) => {
        await held.promise
        return world.store.append(...append)
      },
    }
    const pro = { ...PAYER, tier: 'pro' } as const
    const ledger = world.ledger({ store })
    const begun = ledger.debit(pro, aDebit('first'), NOON)
    const waiting = Array.from({ length: LIMITS.debitsWaiting }, () =>
      codeOf(ledger.debit(pro, aDebit('x'), NOON)),
    )
    await new Promise((resolve) => setImmediate(resolve))
    const more = Array.from({ length: 300 }, () => codeOf(ledger.debit(pro, aDebit('x'), NOON)))
    expect(await Promise.race([more[299], begun])).toBe('rate_limited')
    held.resolve()
    const codes = await Promise.all([...waiting, ...more])
    const accepted = codes.filter((code) => code === 'no error').length
    expect(accepted + 1).toBe(world.events().length)
    expect(codes.every((code) => code === 'no error' || code === 'rate_limited')).toBe(true)
  })
})

describe('a log that does not confirm', () => {
  test('is asked again with the same ids: what happened is counted once', async () => {
    const ledger = world.ledger({
      store: failing(world.store, ['lost-answer', 'unknown', 'store_unavailable']),
    })
    const debited = await ledger.debit(PAYER, aDebit('a'), NOON)
    expect(debited).toMatchObject({ answer: '{"answer":"a"}', isReplay: false, balance: { used: 1 } })
    expect(world.events()).toHaveLength(1)
  })

  test('for too long: the refusal says that it is not known and to repeat it with the key, which then gets the stored answer', async () => {
    const faults = ['lost-answer', ...Array<string>(200).fill('unknown')]
    const ledger = world.ledger({ store: failing(world.store, faults) })
    const refused = ledger.debit(PAYER, aDebit('a', { key: 'k' }), NOON)
    await expect(refused).rejects.toThrow(/same Idempotency-Key/)
    expect(await codeOf(refused)).toBe('outcome_unknown')
    expect(world.now - NOON).toBeLessThan(LIMITS.appendSettleMs + 1_000)
    faults.length = 0
    expect(await ledger.debit(PAYER, aDebit('b', { key: 'k' }), NOON)).toMatchObject({
      answer: '{"answer":"a"}',
      isReplay: true,
      balance: { used: 1 },
    })
    expect(world.events()).toHaveLength(1)
  })

  test('that takes nothing refuses within the time, and nothing is charged', async () => {
    const faults = Array<string>(200).fill('store_unavailable')
    const ledger = world.ledger({ store: failing(world.store, faults) })
    expect(await codeOf(ledger.debit(PAYER, aDebit('a'), NOON))).toBe('store_unavailable')
    expect(world.now - NOON).toBeLessThan(LIMITS.appendWaitMs + 1_000)
    faults.length = 0
    expect((await ledger.debit(PAYER, aDebit('b'), NOON)).balance.used).toBe(1)
  })

  test('turns calls away before they are computed while it is away', async () => {
    const away = Promise.withResolvers<void>()
    const ledger = world.ledger({
      store: failing(world.store, Array<string>(3).fill('store_unavailable')),
      sleep: async () => {
        world.now += 300
        await away.promise
      },
    })
    await ledger.look(PAYER, 'get_trade_call', NOON)
    const debit = ledger.debit(PAYER, aDebit('a'), NOON)
    await new Promise((resolve) => setImmediate(resolve))
    await expect(ledger.look(PAYER, 'get_trade_call', NOON)).rejects.toThrow(/nothing is computed/)
    away.resolve()
    await debit
    await ledger.look(PAYER, 'get_trade_call', NOON)
  })
})

describe('a look', () => {
  test('refuses who has nothing left, and says what to do', async () => {
    const ledger = world.ledger({ payPerCall: (tool) => `/x402/${tool}` })
    for (let n = 0; n < 100; n++) await ledger.debit(PAYER, aDebit(`${n}`), NOON)
    const error = await ledger.look(PAYER, 'get_trade_call', NOON).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({
      code: 'quota_exhausted',
      details: {
        exhausted: 'day',
        limit: 200,
        used: 100,
        resets_at: '2026-11-22T00:00:00.000Z',
        window_resets_at: '2026-12-01T00:00:00.000Z',
        retry_after_s: 43_200,
        daily: { limit: 100, used: 100, remaining: 0, resets_at: '2026-11-22T00:00:00.000Z' },
        plans: [
          { tier: 'starter', calls: 10_000, days: 30, price_usdc: '9.99', buy_at: '/x402/plans/starter' },
          { tier: 'pro', calls: 100_000, days: 30, price_usdc: '49.00', buy_at: '/x402/plans/pro' },
        ],
        pay_per_call: '/x402/get_trade_call',
      },
      nextStep: expect.stringMatching(/buy a plan.*, or pay per call/),
    })
    await ledger.look(PAYER, 'get_trade_call', NOON + 43_200_000)
  })
})

test('of many payers the longest unused are forgotten, and read again when they come back', async () => {
  const ledger = world.ledger()
  const payers = Array.from({ length: LIMITS.payersKept + 10 }, (_, n) => ({ ...PAYER, id: `payer-${n}` }))
  for (const payer of payers) await ledger.debit(payer, aDebit('a'), NOON)
  expect((await ledger.debit({ ...PAYER, id: 'payer-0' }, aDebit('b'), NOON)).balance.used).toBe(2)
})

test('a payer whose debit is under way is not forgotten for many others: no other is decided beside it', async () => {
  const held = Promise.withResolvers<void>()
  let [underWay, most] = [0, 0]
  const store: EventStore = {
    ...world.store,
    async append(...append) {
      if (!append[0].includes(PAYER.id)) return world.store.append(...append)
      most = Math.max(most, ++underWay)
      await held.promise
      underWay -= 1
      return world.store.append(...append)
    },
  }
  const ledger = world.ledger({ store })
  const first = ledger.debit(PAYER, aDebit('a'), NOON)
  for (let n = 0; n < LIMITS.payersKept + 10; n++) {
    await ledger.balance({ ...PAYER, id: `payer-${n}` })
  }
  const more = ['b', 'c'].map((answer) => ledger.debit(PAYER, aDebit(answer), NOON))
  // They would begin their appends at once, were there another queue for them.
  await ledger.balance({ ...PAYER, id: 'one more' })
  held.resolve()
  expect((await Promise.all([first, ...more])).map(({ balance }) => balance.used)).toEqual([1, 2, 3])
  expect(most).toBe(1)
})
