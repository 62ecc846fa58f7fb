import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { LIMITS } from '../../contracts/limits.ts'
import type { Accounts } from './accounts.ts'
import { aWorld, CLIENT, codeOf, NOON, ORIGIN, type World } from './testing/accounts.fixture.ts'

const EMAIL = 'ada@example.com'

let world: World
let accounts: Accounts
beforeEach(async () => {
  world = aWorld()
  accounts = (await world.start()).accounts
})
afterEach(() => world.closeAll())

async function begin(of = accounts) {
  await of.requestSignIn({ email: EMAIL, client: CLIENT }, ORIGIN)
  const begun = await of.beginSession({ email: EMAIL, code: world.codeFor(EMAIL) }, ORIGIN)
  // Mails to one mailbox are limited; time goes on between two sign-ins.
  world.now += LIMITS.signInMailboxMs
  return begun
}
const outcomeOf = async (secret: string, of = accounts): Promise<string> =>
  (await of.identify(`Session ${secret}`)).outcome

describe('a session', () => {
  test('applies from the answer that tells it in every process, and not as an API key', async () => {
    const { secret, accountId } = await begin()
    const other = (await world.start()).accounts
    for (const process of [accounts, other])
      expect(await process.identify(`Session ${secret}`)).toMatchObject({
        outcome: 'OK',
        accountId,
        isSession: true,
        tier: 'free',
      })
    expect((await accounts.identify(`Bearer ${secret}`)).outcome).toBe('UNKNOWN')
    const { key } = await accounts.issueKey(accountId, 'bot', ORIGIN)
    expect((await accounts.identify(`Session ${key}`)).outcome).not.toBe('OK')
    expect(world.text()).not.toContain(secret)
    expect(secret).not.toContain(accountId)
  })

  test('is forged by nobody: each change of its text is refused', async () => {
    const { secret } = await begin()
    for (let at = 0; at < secret.length; at++) {
      const changed = `${secret.slice(0, at)}${secret[at] === 'A' ? 'B' : 'A'}${secret.slice(at + 1)}`
      expect([at, await outcomeOf(changed)]).not.toEqual([at, 'OK'])
    }
  })

  test('needs none of the room for keys', async () => {
    const { accountId } = await begin()
    for (let n = 0; n < LIMITS.keysPerAccount; n++) await accounts.issueKey(accountId, `${n}`, ORIGIN)
    expect(await codeOf(accounts.issueKey(accountId, 'one more', ORIGIN))).toBe('limit_reached')
    expect(await outcomeOf((await begin()).secret)).toBe('OK')
  })

  test('ends seven days after the sign-in, to the millisecond', async () => {
    const { secret } = await begin()
    world.now = NOON + LIMITS.sessionMs - 1
    expect(await outcomeOf(secret)).toBe('OK')
    world.now += 1
    expect(await outcomeOf(secret)).toBe('UNKNOWN')
  })

  test('ends at both processes where all are ended, and one that begins afterwards holds', async () => {
    const [one, two] = [await begin(), await begin()]
    const other = (await world.start()).accounts
    for (const { secret } of [one, two]) expect(await outcomeOf(secret, other)).toBe('OK')
    await accounts.endSessions(one.accountId, ORIGIN)
    for (const { secret } of [one, two]) {
      expect(await outcomeOf(secret)).toBe('UNKNOWN')
      await expect.poll(() => outcomeOf(secret, other)).toBe('UNKNOWN')
    }
    expect(world.text()).toContain('ended by test')
    world.now += 1
    expect(await outcomeOf((await begin()).secret)).toBe('OK')
  })

  test('ends with its account, and none is left to that of the same address', async () => {
    const { secret, accountId } = await begin()
    await accounts.erase(accountId, ORIGIN)
    expect(await outcomeOf(secret)).toBe('UNKNOWN')
    expect(await codeOf(accounts.endSessions(accountId, ORIGIN))).toBe('account_unknown')
    const again = await begin()
    expect(again.accountId).toBe(accountId)
    expect([await outcomeOf(again.secret), await outcomeOf(secret)]).toEqual(['OK', 'UNKNOWN'])
  })

  test('is not begun by a wrong code, and a code begins one', async () => {
    await accounts.requestSignIn({ email: EMAIL, client: CLIENT }, ORIGIN)
    const code = world.codeFor(EMAIL)
    const wrong = { email: EMAIL, code: code.startsWith('0') ? '11111-11111' : '00000-00000' }
    expect(await codeOf(accounts.beginSession(wrong, ORIGIN))).toBe('sign_in_refused')
    await accounts.beginSession({ email: EMAIL, code }, ORIGIN)
    expect(await codeOf(accounts.beginSession({ email: EMAIL, code }, ORIGIN))).toBe('sign_in_refused')
  })
})
