import { randomBytes } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { SubjectKeyCreated } from '../../contracts/account-events.ts'
import { newEvent } from '../../contracts/event-definition.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { subjectStream } from '../../contracts/streams.ts'
import { sleep } from '../platform/async/sleep.ts'
import { uuidV7 } from '../platform/ids/uuid.ts'
import { createAccountIndex } from './account-index.ts'
import { createSubscriberAccounts, type SubscriberAccounts } from './subscriber-accounts.ts'
import { aWorld, codeOf, ORIGIN, type Process, type World } from './testing/accounts.fixture.ts'

const EMAIL = 'ada@example.com'
const uuid = (n: number): string => `019abcde-7c00-7001-8000-${String(n).padStart(12, '0')}`

let world: World
let process: Process
let ending: AbortController
let subscribers: SubscriberAccounts

const start = (): SubscriberAccounts =>
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
  test('opens for its purpose and its account only, and is not in the log', async () => {
    const { accountId } = await world.signIn(process.accounts, EMAIL)
    const { generation, sealed } = await subscribers.sealFor(accountId, 'url of 1', 'https://secret', ORIGIN)
    const open = (purpose: string, owner = accountId) =>
      subscribers.unsealFor({ accountId: owner, generation }, [{ purpose, sealed }])
    expect(await open('url of 1')).toEqual(['https://secret'])
    expect(await codeOf(open('url of 2'))).toBe('internal_error')
    const other = await world.signIn(process.accounts, 'bob@example.com')
    expect(await codeOf(open('url of 1', other.accountId))).toBe('internal_error')
    expect(world.text()).not.toContain('https://secret')
  })

  test('cannot be opened by anybody once the account is erased, nor by its next owner', async () => {
    const { accountId } = await world.signIn(process.accounts, EMAIL)
    const { generation, sealed } = await subscribers.sealFor(accountId, 'p', 'text', ORIGIN)
    await process.accounts.erase(accountId, ORIGIN)
    const opening = () => codeOf(subscribers.unsealFor({ accountId, generation }, [{ purpose: 'p', sealed }]))
    expect(await opening()).toBe('account_unknown')
    await world.signIn(process.accounts, EMAIL)
    expect(await opening()).toBe('account_unknown')
  })

  test('is nothing where there is no account', async () => {
    expect(await codeOf(subscribers.sealFor(uuid(1), 'p', 'text', ORIGIN))).toBe('account_unknown')
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

describe('slots', () => {
  test('are never more than the plan allows, however many processes take them at once', async () => {
    const { accountId } = await process.accounts.createKey({}, { label: '' }, ORIGIN)
    const [one, other] = [start(), start()]
    const owner = { accountId, generation: 0 }
    const outcomes = await Promise.all(
      Array.from({ length: 12 }, (_, n) => codeOf((n % 2 ? one : other).takeSlot(owner, uuid(n), ORIGIN))),
    )
    expect(outcomes.filter((code) => code === 'none')).toHaveLength(LIMITS.subscriptionsOnFree)
    expect(outcomes.filter((code) => code === 'too_many_subscriptions')).toHaveLength(
      12 - LIMITS.subscriptionsOnFree,
    )
    expect((await subscribers.slots(accountId)).current).toHaveLength(LIMITS.subscriptionsOnFree)
  })

  test('of an erased account are told apart from those of the next', async () => {
    const { accountId } = await world.signIn(process.accounts, EMAIL)
    await subscribers.takeSlot({ accountId, generation: 0 }, uuid(1), ORIGIN)
    await process.accounts.erase(accountId, ORIGIN)
    await world.signIn(process.accounts, EMAIL)
    await subscribers.takeSlot({ accountId, generation: 1 }, uuid(2), ORIGIN)
    const ids = (slots: readonly { subscriptionId: string }[]) =>
      slots.map(({ subscriptionId }) => subscriptionId)
    const { current, former } = await subscribers.slots(accountId)
    expect([ids(current), ids(former)]).toEqual([[uuid(2)], [uuid(1)]])
    await subscribers.freeSlot(accountId, uuid(1), ORIGIN)
    expect((await subscribers.slots(accountId)).former).toEqual([])
  })
})

test('erased accounts are told: those of the past, and each that follows', async () => {
  const first = await world.signIn(process.accounts, EMAIL)
  const second = await world.signIn(process.accounts, 'bob@example.com')
  await process.accounts.erase(first.accountId, ORIGIN)
  const told: string[] = []
  const following = (async () => {
    for await (const accountId of start().erasedAccounts()) told.push(accountId)
  })()
  await expect.poll(() => told).toContain(first.accountId)
  await process.accounts.erase(second.accountId, ORIGIN)
  await expect.poll(() => told).toContain(second.accountId)
  ending.abort()
  await following
})
