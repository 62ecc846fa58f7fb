import { randomBytes } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ownerAccountsContract } from '../../contracts/domain/owner-accounts.contract.ts'
import type { OwnerAccounts } from '../../contracts/domain/owner-accounts.ts'
import { SubjectKeyCreated } from '../../contracts/events/account-events.ts'
import { newEvent } from '../../contracts/events/event-definition.ts'
import { subjectStream } from '../../contracts/events/streams.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { sleep } from '../runtime/async/sleep.ts'
import { uuidV7 } from '../runtime/ids/uuid.ts'
import { createAccountIndex } from './account-index.ts'
import { createSubscriberAccounts } from './subscriber-accounts.ts'
import { aWorld, codeOf, ORIGIN, type Process, type World } from './testing/accounts.fixture.ts'

const EMAIL = 'ada@example.com'
const uuid = (n: number): string => `019abcde-7c00-7001-8000-${String(n).padStart(12, '0')}`

let world: World
let process: Process
let ending: AbortController
let subscribers: OwnerAccounts

const start = (): OwnerAccounts =>
  createSubscriberAccounts({
    store: world.store(),
    index: createAccountIndex(process.projector),
    newId: () => uuidV7(world.now, randomBytes(10)),
    random: randomBytes,
    deriveSecret: () => Buffer.alloc(32, 7),
    now: () => world.now,
    sleep,
    signal: ending.signal,
  })

beforeEach(async () => {
  world = aWorld()
  process = await world.start({ deriveSecret: () => Buffer.alloc(32, 7) })
  ending = new AbortController()
  subscribers = start()
})
afterEach(async () => {
  ending.abort()
  await world.closeAll()
})

describe('what is sealed for an account', () => {
  test('is not in the log', async () => {
    const { accountId } = await world.signIn(process.accounts, EMAIL)
    await subscribers.sealFor(accountId, 'url of 1', 'https://secret', ORIGIN)
    expect(world.text()).not.toContain('https://secret')
  })

  test('between an erasure and the taking of a slot leaves no key behind', async () => {
    // Opened without an address: its key is made by the first sealing, here in a process that is slow to append it.
    const { accountId } = await process.accounts.createKey({}, { label: '' }, ORIGIN)
    const owner = { accountId, generation: 0 }
    await process.accounts.erase(accountId, ORIGIN)
    const late = newEvent(SubjectKeyCreated, {
      id: uuid(1),
      data: { ...owner, wrappedKey: 'v1.wrapped' },
      meta: ORIGIN,
    })
    await world.store().append(subjectStream(accountId, 0), [late], { expected: 'no-stream' })
    expect(world.text()).toContain('wrappedKey')
    expect(await codeOf(subscribers.takeSlot(owner, uuid(1), ORIGIN))).toBe('account_unknown')
    expect(world.text()).not.toContain('wrappedKey')
  })
})

test('a plan is seen for as long as it lasts', async () => {
  const { accountId } = await world.signIn(process.accounts, EMAIL)
  const tierOf = async (id: string) => (await subscribers.standing(id)).tier
  const tiers = [await tierOf(accountId)]
  await process.accounts.startPlan(accountId, { tier: 'starter', source: 'operator' }, ORIGIN)
  tiers.push(await tierOf(accountId))
  world.now += 31 * 86_400_000
  expect([...tiers, await tierOf(accountId)]).toEqual(['free', 'starter', 'free'])
  const other = await world.signIn(process.accounts, EMAIL.replace('@', '+2@'))
  expect(await subscribers.standing(other.accountId)).toEqual(await subscribers.standing(accountId))
})

describe('slots', () => {
  test('are never more than the plan allows, however many processes take them at once', async () => {
    const { accountId } = await process.accounts.createKey({}, { label: '' }, ORIGIN)
    const [one, other] = [start(), start()]
    const owner = { accountId, generation: 0 }
    const outcomes = await Promise.all(
      Array.from({ length: 12 }, (_, n) => codeOf((n % 2 ? one : other).takeSlot(owner, uuid(n), ORIGIN))),
    )
    expect(outcomes.filter((code) => code === 'none')).toHaveLength(LIMITS.subscriptionsOnFree)
    expect(outcomes.filter((code) => code === 'limit_reached')).toHaveLength(12 - LIMITS.subscriptionsOnFree)
    expect((await subscribers.slots(accountId)).current).toHaveLength(LIMITS.subscriptionsOnFree)
  })
})

ownerAccountsContract(async () => ({
  owners: subscribers,
  open: async (person) => (await world.signIn(process.accounts, `${person}@example.com`)).accountId,
  erase: (accountId) => process.accounts.erase(accountId, ORIGIN),
  limit: LIMITS.subscriptionsOnFree,
  [Symbol.asyncDispose]: async () => undefined,
}))
