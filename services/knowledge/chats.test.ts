import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CHATS_PER_WINDOW } from '../../contracts/answers/knowledge.ts'
import { ServiceError } from '../../contracts/errors/errors.ts'
import type { EventStore } from '../log/event-store.ts'
import type { ChatLedger } from './chats.ts'
import {
  aChat,
  aChatWorld,
  CHATTER,
  type ChatWorld,
  IN_DECEMBER,
  logIndex,
  NOON,
  sha256,
} from './testing/chats.fixture.ts'

const LIMIT = CHATS_PER_WINDOW.free
const EXHAUSTED = expect.objectContaining({ code: 'CHAT_QUOTA_EXHAUSTED' })

const answered = (world: ChatWorld) => world.events().filter((event) => event.type === 'ChatAnswered')

async function use(ledger: ChatLedger, count: number): Promise<void> {
  for (let n = 0; n < count; n++) await ledger.count(CHATTER, aChat(`answer ${n}`), NOON)
}

describe('counting', () => {
  test('ends at the limit of the tier, and says when there is more', async () => {
    const world = aChatWorld()
    const ledger = world.ledger()
    await use(ledger, LIMIT - 1)
    expect(await ledger.requireRoom(CHATTER, NOON)).toBe(LIMIT - 1)
    expect(await ledger.count(CHATTER, aChat('last'), NOON)).toEqual({
      answer: '{"answer":"last"}',
      used: LIMIT,
      isReplay: false,
    })
    await expect(ledger.requireRoom(CHATTER, NOON)).rejects.toEqual(EXHAUSTED)
    await expect(ledger.count(CHATTER, aChat('more'), NOON)).rejects.toMatchObject({
      code: 'CHAT_QUOTA_EXHAUSTED',
      details: {
        limit: LIMIT,
        used: LIMIT,
        resets_at: '2026-12-01T00:00:00.000Z',
        retry_after_s: (CHATTER.window.to - NOON) / 1_000,
        plans: [
          { tier: 'starter', chats: 50 },
          { tier: 'pro', chats: 200 },
        ],
      },
    })
    expect(answered(world)).toHaveLength(LIMIT)
    // The next window begins with none used.
    expect(await ledger.requireRoom(IN_DECEMBER, IN_DECEMBER.window.from)).toBe(0)
  })

  test('goes on from the log in another process', async () => {
    const world = aChatWorld()
    await use(world.ledger(), 3)
    expect(await world.ledger().requireRoom(CHATTER, NOON)).toBe(3)
  })

  test('is never past the limit, however many ask at the same time in however many processes', async () => {
    const world = aChatWorld()
    const ledgers = [world.ledger(), world.ledger(), world.ledger()]
    const outcomes = await Promise.allSettled(
      Array.from({ length: 30 }, (_, n) =>
        (ledgers[n % 3] ?? world.ledger()).count(CHATTER, aChat(`answer ${n}`), NOON),
      ),
    )
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(LIMIT)
    expect(answered(world).map(({ data }) => (data as { used: number }).used)).toEqual(
      Array.from({ length: LIMIT }, (_, n) => n + 1),
    )
  })
})

describe('an idempotency key', () => {
  test('has the first answer for ever, in every process', async () => {
    const world = aChatWorld()
    const first = await world.ledger().count(CHATTER, aChat('first', { key: 'k' }), NOON)
    const second = await world.ledger().count(CHATTER, aChat('second', { key: 'k' }), NOON)
    expect(second).toEqual({ ...first, isReplay: true })
    expect(await world.ledger().find(CHATTER, aChat('', { key: 'k' }))).toEqual({ ...first, isReplay: true })
    expect(answered(world)).toHaveLength(1)
  })

  test('of another question is refused', async () => {
    const ledger = aChatWorld().ledger()
    await ledger.count(CHATTER, aChat('first', { key: 'k' }), NOON)
    const other = aChat('', { key: 'k', requestHash: sha256('another question') })
    await expect(ledger.find(CHATTER, other)).rejects.toMatchObject({ code: 'idempotency_mismatch' })
    await expect(ledger.count(CHATTER, other, NOON)).rejects.toMatchObject({ code: 'idempotency_mismatch' })
  })

  test('is known after the turn of the window, and its answer costs nothing there', async () => {
    const world = aChatWorld()
    await world.ledger().count(CHATTER, aChat('in November', { key: 'k' }), NOON)
    const late = await world
      .ledger()
      .count(IN_DECEMBER, aChat('in December', { key: 'k' }), IN_DECEMBER.window.from)
    expect(late).toEqual({ answer: '{"answer":"in November"}', used: 0, isReplay: true })
  })

  test('is not guessed about while the read model is behind', async () => {
    const world = aChatWorld()
    await world.ledger().count(CHATTER, aChat('in November', { key: 'k' }), NOON)
    const behind = world.ledger({ index: logIndex(world.log, () => 0) })
    await expect(behind.count(IN_DECEMBER, aChat('', { key: 'k' }), NOON)).rejects.toMatchObject({
      code: 'store_unavailable',
      message: expect.stringContaining('Nothing was counted'),
    })
    expect(answered(world)).toHaveLength(1)
  })

  test('used in both windows at once has one answer', async () => {
    const world = aChatWorld()
    const outcomes = await Promise.all([
      world.ledger().count(CHATTER, aChat('a', { key: 'k' }), NOON),
      world.ledger().count(IN_DECEMBER, aChat('b', { key: 'k' }), NOON),
    ])
    expect(new Set(outcomes.map(({ answer }) => answer)).size).toBe(1)
    expect(answered(world)).toHaveLength(1)
  })
})

describe('a log that does not answer', () => {
  /** Fails the first appends: before they happen, or after. */
  const failing = (
    store: EventStore,
    faults: readonly ('before' | 'after' | 'busy' | 'none')[],
  ): EventStore => {
    const left = [...faults]
    return {
      ...store,
      async append(stream, events, options) {
        const fault = left.shift()
        if (fault === 'busy') throw new ServiceError('store_unavailable')
        if (fault === 'before') throw new ServiceError('append_unknown')
        const done = await store.append(stream, events, options)
        if (fault === 'after') throw new ServiceError('append_unknown')
        return done
      },
    }
  }

  test.each([[['after']], [['before']], [['busy', 'after', 'before']]] as const)(
    'after %j the chat is counted once',
    async (faults) => {
      const world = aChatWorld()
      const ledger = world.ledger({ store: failing(world.store, faults) })
      expect(await ledger.count(CHATTER, aChat('only'), NOON)).toMatchObject({ used: 1, isReplay: false })
      expect(answered(world)).toHaveLength(1)
    },
  )

  test('for long is told, and a repeated key is counted once', async () => {
    const world = aChatWorld()
    const lost = world.ledger({
      store: failing(world.store, ['after', ...Array.from({ length: 500 }, () => 'before' as const)]),
    })
    await expect(lost.count(CHATTER, aChat('first', { key: 'k' }), NOON)).rejects.toMatchObject({
      code: 'outcome_unknown',
      message: expect.stringContaining('same Idempotency-Key'),
    })
    const again = await world.ledger().count(CHATTER, aChat('second', { key: 'k' }), NOON)
    expect(again).toMatchObject({ answer: '{"answer":"first"}', used: 1, isReplay: true })
  })

  test('never makes a chat count twice or an account overdraw, in whatever order things go', async () => {
    const fault = fc.constantFrom('none' as const, 'busy' as const, 'before' as const, 'after' as const)
    const command = fc.record({ process: fc.nat(2), key: fc.option(fc.nat(4)) })
    await fc.assert(
      fc.asyncProperty(
        fc.array(command, { minLength: 1, maxLength: 24 }),
        fc.array(fault, { maxLength: 30 }),
        async (commands, faults) => {
          const world = aChatWorld()
          const store = failing(world.store, faults)
          const ledgers = [0, 1, 2].map(() => world.ledger({ store }))
          const outcomes = await Promise.allSettled(
            commands.map(async ({ process, key }, n) => {
              const ledger = ledgers[process] ?? world.ledger()
              const chat = aChat(`answer ${n}`, key === null ? {} : { key: `key ${key}` })
              return (await ledger.find(CHATTER, chat)) ?? ledger.count(CHATTER, chat, NOON)
            }),
          )
          const events = answered(world).map(
            ({ data }) => data as { used: number; idempotencyHash: string | null; answer: string },
          )
          expect(events.map(({ used }) => used)).toEqual(events.map((_, n) => n + 1))
          expect(events.length).toBeLessThanOrEqual(LIMIT)
          const keys = events.map(({ idempotencyHash }) => idempotencyHash).filter((hash) => hash !== null)
          expect(new Set(keys).size).toBe(keys.length)
          // Whoever was answered has an answer that is in the log; a new one counts once.
          const inLog = new Set(events.map(({ answer }) => answer))
          const told = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
          expect(told.every(({ answer }) => inLog.has(answer))).toBe(true)
          expect(told.filter(({ isReplay }) => !isReplay)).toHaveLength(events.length)
        },
      ),
      { numRuns: 60 },
    )
  })
})
