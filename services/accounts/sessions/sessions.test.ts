import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { LIMITS } from '../../../contracts/limits.ts'
import { DAY_MS } from '../../../contracts/timeframes.ts'
import type { Accounts } from '../accounts.ts'
import { aWorld, CLIENT, codeOf, NOON, ORIGIN, type World } from '../testing/accounts.fixture.ts'

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
const typesOf = (type: string): number => world.log.rows.filter((row) => row.type === type).length

describe('a session', () => {
  test('applies from the answer that tells it, and not as an API key', async () => {
    const { secret, sessionId, accountId } = await begin()
    expect(await accounts.identify(`Session ${secret}`)).toMatchObject({
      outcome: 'OK',
      accountId,
      keyId: sessionId,
      tier: 'free',
    })
    expect((await accounts.identify(`Bearer ${secret}`)).outcome).toBe('UNKNOWN')
    const { key } = await accounts.issueKey(accountId, 'bot', ORIGIN)
    expect(await outcomeOf(key)).toBe('UNKNOWN')
    expect(world.text()).not.toContain(secret)
  })

  test('has room where there are ten keys, and takes none of theirs', async () => {
    const { accountId } = await begin()
    for (let n = 0; n < LIMITS.keysPerAccount; n++) await accounts.issueKey(accountId, `${n}`, ORIGIN)
    expect(await codeOf(accounts.issueKey(accountId, 'one more', ORIGIN))).toBe('too_many_keys')
    const { secret } = await begin()
    expect(await outcomeOf(secret)).toBe('OK')
  })

  test('gives way to a newer one where there are as many as there may be, the oldest first', async () => {
    const begun = []
    for (let n = 0; n <= LIMITS.sessionsPerAccount; n++) begun.push(await begin())
    const [first, second] = begun
    expect(await outcomeOf(first?.secret ?? '')).toBe('UNKNOWN')
    expect(await outcomeOf(second?.secret ?? '')).toBe('OK')
    expect(await accounts.sessions(first?.accountId ?? '')).toHaveLength(LIMITS.sessionsPerAccount)
    expect(world.text()).toContain('it gave way to a newer one')
  })

  test('ends after seven days without use, to the millisecond', async () => {
    const { secret, accountId } = await begin()
    world.now = NOON + LIMITS.sessionIdleMs - 1
    expect(await accounts.sessions(accountId)).toMatchObject([{ endsAt: world.now + 1 }])
    world.now += 1
    expect(await accounts.sessions(accountId)).toEqual([])
    expect(await outcomeOf(secret)).toBe('UNKNOWN')
  })

  test('that is used goes on for thirty days and no longer, and its use is recorded once a day', async () => {
    const { secret } = await begin()
    for (let hour = 0; hour < 30 * 24; hour++) {
      world.now = NOON + (hour * DAY_MS) / 24
      expect([hour, await outcomeOf(secret)]).toEqual([hour, 'OK'])
    }
    expect(typesOf('SessionSeen')).toBe(29)
    world.now = NOON + LIMITS.sessionMs
    expect(await outcomeOf(secret)).toBe('UNKNOWN')
  })

  test('is recorded as used once, however many ask at once in two processes', async () => {
    const { secret } = await begin()
    const other = (await world.start()).accounts
    world.now = NOON + DAY_MS
    await Promise.all(
      [accounts, other, accounts, other].map(async (of) => expect(await outcomeOf(secret, of)).toBe('OK')),
    )
    expect(typesOf('SessionSeen')).toBe(1)
  })

  test('goes on where its use cannot be recorded, and the operator is told', async () => {
    const { secret } = await begin()
    const store = world.store()
    const away = await world.start({
      store: { ...store, append: () => Promise.reject(new Error('the disk is gone')) },
    })
    world.now = NOON + DAY_MS
    expect(await outcomeOf(secret, away.accounts)).toBe('OK')
    expect(world.reports.join()).toContain('the use of a session could not be recorded')
  })

  test('that is ended ends at both processes, and the others with it where all are', async () => {
    const [one, two, three] = [await begin(), await begin(), await begin()]
    const other = (await world.start()).accounts
    for (const { secret } of [one, two, three]) expect(await outcomeOf(secret, other)).toBe('OK')
    await accounts.endSession(one.accountId, one.sessionId, ORIGIN)
    expect(await outcomeOf(one.secret)).toBe('UNKNOWN')
    await expect.poll(() => outcomeOf(one.secret, other)).toBe('UNKNOWN')
    await accounts.endOtherSessions(two.accountId, two.sessionId, ORIGIN)
    expect(await outcomeOf(three.secret)).toBe('UNKNOWN')
    expect(await outcomeOf(two.secret)).toBe('OK')
    expect((await accounts.sessions(two.accountId)).map(({ sessionId }) => sessionId)).toEqual([
      two.sessionId,
    ])
    expect(await codeOf(accounts.endSession(one.accountId, one.sessionId, ORIGIN))).toBe('not_found')
    expect(world.text()).toContain('ended by test')
  })

  test('of another account is not there to be ended', async () => {
    const { sessionId } = await begin()
    const { accountId } = await world.signIn(accounts, 'bob@example.com')
    expect(await codeOf(accounts.endSession(accountId, sessionId, ORIGIN))).toBe('not_found')
  })

  test('ends with its account, and none is left to that of the same address', async () => {
    const { secret, accountId } = await begin()
    await accounts.erase(accountId, ORIGIN)
    expect(await outcomeOf(secret)).toBe('UNKNOWN')
    expect(await codeOf(accounts.sessions(accountId))).toBe('account_unknown')
    const again = await begin()
    expect((await accounts.sessions(accountId)).map(({ sessionId }) => sessionId)).toEqual([again.sessionId])
    expect(await outcomeOf(secret)).toBe('UNKNOWN')
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
