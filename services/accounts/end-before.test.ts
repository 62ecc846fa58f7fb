import { afterEach, beforeEach, expect, test } from 'vitest'
import { LIMITS } from '../../contracts/limits.ts'
import type { Accounts } from './accounts.ts'
import { aWorld, CLIENT, ORIGIN, type World } from './testing/accounts.fixture.ts'

let world: World
let accounts: Accounts
beforeEach(async () => {
  world = aWorld()
  accounts = (await world.start()).accounts
})
afterEach(() => world.closeAll())

const outcomeOf = async (credential: string): Promise<string> => (await accounts.identify(credential)).outcome

test('what was issued before an instant ends in every account, and what is newer holds', async () => {
  const old = []
  for (let n = 0; n < LIMITS.accountRows; n++) {
    const made = await accounts.createKey({}, { label: 'old' }, ORIGIN)
    old.push(`Bearer ${made.key}`)
  }
  await accounts.requestSignIn({ email: 'ada@example.com', client: CLIENT }, ORIGIN)
  const code = world.codeFor('ada@example.com')
  const { secret, accountId } = await accounts.beginSession({ email: 'ada@example.com', code }, ORIGIN)
  old.push(`Session ${secret}`)
  world.now += 1_000
  const before = world.now
  const { key } = await accounts.issueKey(accountId, 'new', ORIGIN)

  const first = await accounts.endBefore(before, undefined, ORIGIN)
  expect(first.next).toBeDefined()
  const second = await accounts.endBefore(before, first.next, ORIGIN)
  expect(second.next).toBeUndefined()
  expect(first.keys + second.keys).toBe(LIMITS.accountRows)
  expect(new Set(await Promise.all(old.map(outcomeOf)))).toEqual(new Set(['UNKNOWN']))
  expect(await outcomeOf(`Bearer ${key}`)).toBe('OK')
  expect(await accounts.endBefore(before, first.next, ORIGIN)).toMatchObject({ keys: 0 })
  expect(world.log.rows.filter(({ type }) => type === 'SessionsEnded')).toHaveLength(1)
})
