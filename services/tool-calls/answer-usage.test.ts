import { expect, test } from 'vitest'
import { usageAnswerSchema } from '../../contracts/answers/account.ts'
import { ServiceError } from '../../contracts/errors/errors.ts'
import { debits, type Projection, rowsInMemory } from '../../projections/index.ts'
import type { Identity, UsageSource } from '../accounts/index.ts'
import { aDebit, aWorld, NOON, PAYER, type World } from '../accounts/quota/testing/ledger.fixture.ts'
import { answerUsage } from './answer-usage.ts'

/** The rows of a log, as the read model gives them. */
function usageOf(world: World): UsageSource {
  const rows = rowsInMemory()
  for (const event of world.events()) (debits as unknown as Projection).fold(rows, event)
  return {
    range({ prefix, limit }) {
      const keys = [...rows.entries.keys()].filter((key) => key.startsWith(prefix))
      return keys
        .toSorted()
        .toReversed()
        .slice(0, limit)
        .map((key) => ({ key, row: rows.entries.get(key) }))
    },
  }
}

const OK: Identity = {
  outcome: 'OK',
  accountId: PAYER.id,
  keyId: PAYER.id,
  tier: 'free',
  window: PAYER.window,
}

test('an account is told what it used, in pages, and nothing of others', async () => {
  const world = aWorld()
  const ledger = world.ledger()
  for (let n = 1; n <= 5; n++) {
    world.now += 1_000
    await ledger.debit(PAYER, aDebit(`${n}`), NOON)
    await ledger.debit({ ...PAYER, id: 'somebody-else' }, aDebit(`${n}`), NOON)
  }
  const answer = answerUsage({
    identify: async () => OK,
    ledger,
    source: usageOf(world),
    now: () => world.now,
  })
  const first = await answer('Bearer key', { limit: 2 })
  expect(usageAnswerSchema.parse(first)).toEqual(first)
  expect(first).toMatchObject({
    tier: 'free',
    window: { id: '2026-11', from: '2026-11-01T00:00:00.000Z', to: '2026-12-01T00:00:00.000Z' },
    quota: { used: 5, limit: 200, remaining: 95 },
    days: [{ day: '2026-11-21', calls: 5, tools: { get_trade_call: 5 } }],
    debits: [{ used: 5, at: '2026-11-21T12:00:05.000Z' }, { used: 4 }],
  })
  const second = await answer('Bearer key', { limit: 2, after: first.next ?? '' })
  const third = await answer('Bearer key', { limit: 2, after: second.next ?? '' })
  expect([...second.debits, ...third.debits].map(({ used }) => used)).toEqual([3, 2, 1])
  expect(third.next).toBeNull()
  expect((await answer('Bearer key', { limit: 5 })).next).toBeNull()
})

test.each(['nonsense', '2026-11', '2026-11/x', '../account/3', '2026-11/3/4'])(
  'a cursor %j is none',
  async (after) => {
    const world = aWorld()
    const answer = answerUsage({
      identify: async () => OK,
      ledger: world.ledger(),
      source: usageOf(world),
      now: () => world.now,
    })
    await expect(answer('Bearer key', { limit: 1, after })).rejects.toMatchObject({ code: 'invalid_request' })
  },
)

test.each([
  ['ABSENT', 'unauthorized'],
  ['MALFORMED', 'unauthorized'],
  ['UNKNOWN', 'key_unknown'],
  ['INDETERMINATE', 'key_unverifiable'],
] as const)('nobody else is: %s', async (outcome, code) => {
  const world = aWorld()
  const identity = { outcome, reason: 'away' } as Identity
  const answer = answerUsage({
    identify: async () => identity,
    ledger: world.ledger(),
    source: usageOf(world),
    now: () => world.now,
  })
  const error = await answer(undefined, { limit: 1 }).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(ServiceError)
  expect(error).toMatchObject({ code })
})
