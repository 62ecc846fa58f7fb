import { beforeEach, describe, expect, test } from 'vitest'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { freeWindow } from './balance.ts'
import { aDebit, aWorld, NOON, PAYER, type World } from './testing/ledger.fixture.ts'
import { logIndex } from './testing/log-index.fixture.ts'

let world: World
beforeEach(() => {
  world = aWorld()
})

const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'no error',
    (error: unknown) => (error instanceof ServiceError ? error.code : String(error)),
  )

describe('an idempotency key', () => {
  const key = {
    idempotencyHash: aDebit('', { key: 'k' }).idempotencyHash ?? '',
    requestHash: aDebit('').requestHash,
  }

  test('is answered with what it was answered first, and not charged again', async () => {
    const ledger = world.ledger()
    expect(await ledger.find(PAYER, key)).toBeUndefined()
    await ledger.debit(PAYER, aDebit('a', { key: 'k' }), NOON)
    await ledger.debit(PAYER, aDebit('other'), NOON)
    const again = { answer: '{"answer":"a"}', isReplay: true, balance: { used: 2 } }
    expect(await ledger.find(PAYER, key)).toMatchObject(again)
    expect(await ledger.debit(PAYER, aDebit('b', { key: 'k' }), NOON)).toMatchObject(again)
    expect(world.events()).toHaveLength(2)
  })

  test('of two that wait together is counted once', async () => {
    const ledger = world.ledger()
    const [first, second] = await Promise.all(
      ['a', 'b'].map((answer) => ledger.debit(PAYER, aDebit(answer, { key: 'k' }), NOON)),
    )
    expect([first?.answer, second?.answer]).toEqual(['{"answer":"a"}', '{"answer":"a"}'])
    expect([first?.isReplay, second?.isReplay]).toEqual([false, true])
  })

  test('is known after a restart, in another process, and over the turn of a window', async () => {
    await world.ledger().debit(PAYER, aDebit('a', { key: 'k' }), NOON)
    const december = { ...PAYER, window: freeWindow(Date.UTC(2026, 11, 1)) }
    for (const ledger of [world.ledger(), world.ledger()]) {
      expect(await ledger.find(december, key)).toMatchObject({
        answer: '{"answer":"a"}',
        balance: { used: 0 },
      })
    }
    expect(
      (await world.ledger().debit(december, aDebit('b', { key: 'k' }), Date.UTC(2026, 11, 1))).isReplay,
    ).toBe(true)
    expect(world.events()).toHaveLength(1)
  })

  test('is known though the index was behind when it was looked for', async () => {
    await world.ledger().debit(PAYER, aDebit('a', { key: 'k' }), NOON)
    let folded = 0
    const ledger = world.ledger({
      index: logIndex(world.log, () => folded),
      sleep: async () => {
        folded = 1
      },
    })
    expect(await ledger.find(PAYER, key)).toMatchObject({ answer: '{"answer":"a"}' })
  })

  test('is refused where the index does not come, and nothing is charged', async () => {
    await world.ledger().debit(PAYER, aDebit('a', { key: 'k' }), NOON)
    const ledger = world.ledger({ index: logIndex(world.log, () => 0) })
    await expect(ledger.find(PAYER, key)).rejects.toThrow(/cannot be told yet/)
    expect(await codeOf(ledger.debit(PAYER, aDebit('b', { key: 'k' }), NOON))).toBe('store_unavailable')
    expect(world.events()).toHaveLength(1)
  })

  test('for another request is refused', async () => {
    const ledger = world.ledger()
    await ledger.debit(PAYER, aDebit('a', { key: 'k' }), NOON)
    const other = 'f'.repeat(64)
    expect(await codeOf(ledger.find(PAYER, { ...key, requestHash: other }))).toBe('idempotency_mismatch')
    const debit = aDebit('b', { key: 'k', requestHash: other })
    expect(await codeOf(world.ledger().debit(PAYER, debit, NOON))).toBe('idempotency_mismatch')
  })

  test('of one payer says nothing about that of another', async () => {
    const ledger = world.ledger()
    await ledger.debit(PAYER, aDebit('a', { key: 'k' }), NOON)
    const other = { ...PAYER, id: 'anon-1' }
    expect(await ledger.debit(other, aDebit('b', { key: 'k' }), NOON)).toMatchObject({ isReplay: false })
  })

  test('is found when so many came after it that memory has let it go', async () => {
    const pro = { ...PAYER, tier: 'pro' } as const
    const ledger = world.ledger()
    await ledger.debit(pro, aDebit('a', { key: 'k' }), NOON)
    const many = Array.from({ length: 2 * LIMITS.idempotencyKeysKept }, (_, n) =>
      ledger.debit(pro, aDebit(`${n}`, { key: `later ${n}` }), NOON),
    )
    await Promise.all(many)
    expect((await ledger.debit(pro, aDebit('b', { key: 'k' }), NOON)).answer).toBe('{"answer":"a"}')
  })
})
