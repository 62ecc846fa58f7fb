import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ServiceError } from '../../contracts/errors.ts'
import type { EventStore } from '../platform/event-store/event-store.ts'
import type { Accounts } from './accounts.ts'
import { aWorld, codeOf, ORIGIN, type World } from './testing/accounts.fixture.ts'

const EMAIL = 'ada@example.com'
const bearer = (key: string): string => `Bearer ${key}`

let world: World
let accounts: Accounts
beforeEach(async () => {
  world = aWorld()
  accounts = (await world.start()).accounts
})
afterEach(() => world.closeAll())

const outcomeOf = async (key: string, of = accounts): Promise<string> =>
  (await of.identify(bearer(key))).outcome

describe('erasing', () => {
  test('revokes the keys, forgets the address, and is seen by all', async () => {
    const { accountId, key } = await world.signIn(accounts, EMAIL)
    const other = (await world.start()).accounts
    expect(await outcomeOf(key, other)).toBe('OK')
    await accounts.erase(accountId, ORIGIN)
    expect(await outcomeOf(key)).toBe('UNKNOWN')
    await expect.poll(() => outcomeOf(key, other)).toBe('UNKNOWN')
    expect(await codeOf(accounts.show(accountId))).toBe('account_unknown')
    expect(await codeOf(accounts.erase(accountId, ORIGIN))).toBe('account_unknown')
    expect(world.text()).not.toContain('wrappedKey')
  })

  test('leaves the address free to sign in again: the same id, nothing of the old account', async () => {
    const first = await world.signIn(accounts, EMAIL)
    await accounts.startPlan(first.accountId, { tier: 'pro', source: 'operator' }, ORIGIN)
    await accounts.erase(first.accountId, ORIGIN)
    const second = await world.signIn(accounts, EMAIL)
    expect(second).toMatchObject({ accountId: first.accountId, tier: 'free' })
    expect(await accounts.show(second.accountId)).toMatchObject({
      email: EMAIL,
      keys: [{ keyId: second.keyId }],
    })
    expect(await outcomeOf(first.key)).toBe('UNKNOWN')
  })

  test('killed between its two steps is finished by the next process', async () => {
    const { accountId, key } = await world.signIn(accounts, EMAIL)
    const killed = Promise.withResolvers<void>()
    const dying = await world.start({ store: { ...world.store(), erase: () => killed.promise } })
    const erasing = dying.accounts.erase(accountId, ORIGIN)
    await expect.poll(() => outcomeOf(key)).toBe('UNKNOWN')
    expect(world.text()).toContain('wrappedKey')
    const next = await world.start()
    await expect.poll(() => world.text()).not.toContain('wrappedKey')
    expect(await outcomeOf(key, next.accounts)).toBe('UNKNOWN')
    killed.resolve()
    await erasing
  })

  test('that the store cannot finish is told, and finished later or when it is asked for again', async () => {
    const { accountId } = await world.signIn(accounts, EMAIL)
    let isAway = true
    const store = world.store()
    const erase: EventStore['erase'] = (stream) =>
      isAway ? Promise.reject(new ServiceError('store_unavailable')) : store.erase(stream)
    const shaky = await world.start({ store: { ...store, erase } })
    expect(await codeOf(shaky.accounts.erase(accountId, ORIGIN))).toBe('store_unavailable')
    expect(await codeOf(shaky.accounts.erase(accountId, ORIGIN))).toBe('store_unavailable')
    expect(world.reports.some((report) => report.startsWith('an erasure has to wait'))).toBe(true)
    isAway = false
    await expect.poll(() => world.text()).not.toContain('wrappedKey')
    expect(await codeOf(shaky.accounts.erase(accountId, ORIGIN))).toBe('account_unknown')
  })
})
