import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { LIMITS } from '../../contracts/limits.ts'
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

describe('the operator', () => {
  test('opens accounts with and without an address, with a plan and a key in one', async () => {
    const { key, accountId, tier } = await accounts.createKey({}, { label: 'mine', tier: 'pro' }, ORIGIN)
    expect(tier).toBe('pro')
    expect(await accounts.identify(bearer(key))).toMatchObject({ outcome: 'OK', accountId, tier: 'pro' })
    expect(await accounts.show(accountId)).toMatchObject({ email: null, keys: [{ label: 'mine' }] })

    const ada = await accounts.createKey({ email: EMAIL }, { label: '' }, ORIGIN)
    expect((await world.signIn(accounts, EMAIL)).accountId).toBe(ada.accountId)
    expect((await accounts.show(ada.accountId)).email).toBe(EMAIL)
    const more = await accounts.createKey({ accountId: ada.accountId }, { label: '' }, ORIGIN)
    expect(more.accountId).toBe(ada.accountId)
    expect(await accounts.accountOfKey(more.keyId)).toBe(ada.accountId)
    expect(await accounts.list({ limit: 100 })).toEqual([accountId, ada.accountId].toSorted())

    const unknown = '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55'
    expect(await codeOf(accounts.createKey({ accountId: unknown }, { label: '' }, ORIGIN))).toBe(
      'account_unknown',
    )
    expect(await codeOf(accounts.accountOfKey(unknown))).toBe('not_found')
    await accounts.erase(accountId, ORIGIN)
    expect(await accounts.list({ limit: 100 })).toEqual([ada.accountId])
  })

  test('lists accounts page by page, however many were erased between them', async () => {
    const ids: string[] = []
    for (let n = 0; n < 230; n++) ids.push((await accounts.createKey({}, { label: '' }, ORIGIN)).accountId)
    ids.sort()
    const erased = new Set(ids.slice(20, 210))
    for (const id of erased) await accounts.erase(id, ORIGIN)
    const listed: string[] = []
    for (let after: string | undefined; ; ) {
      const page = await accounts.list({ after, limit: 7 })
      listed.push(...page)
      after = page.at(-1)
      if (page.length < 7) break
    }
    expect(listed).toEqual(ids.filter((id) => !erased.has(id)))
  })

  test('gets no account by halves: with too many keys there is no plan either', async () => {
    const { accountId } = await accounts.createKey({}, { label: '' }, ORIGIN)
    for (let n = 1; n < LIMITS.keysPerAccount; n++) await accounts.issueKey(accountId, '', ORIGIN)
    expect(await codeOf(accounts.createKey({ accountId }, { label: '', tier: 'pro' }, ORIGIN))).toBe(
      'too_many_keys',
    )
    expect((await accounts.show(accountId)).tier).toBe('free')
  })
})
