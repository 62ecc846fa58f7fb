import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ServiceError } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Accounts } from '../accounts.ts'
import { aWorld, codeOf, NOON, ORIGIN, type World } from '../testing/accounts.fixture.ts'

const EMAIL = 'ada@example.com'
const bearer = (key: string): string => `Bearer ${key}`

let world: World
let accounts: Accounts
beforeEach(async () => {
  world = aWorld()
  accounts = (await world.start()).accounts
})
afterEach(() => world.closeAll())

const confirm = (code: string, email = EMAIL, change: object = {}) =>
  accounts.confirmSignIn({ email, code, label: 'bot', ...change }, ORIGIN)

const outcomeOf = async (key: string, of = accounts): Promise<string> =>
  (await of.identify(bearer(key))).outcome

const wrong = (code: string): string => (code === '000000' ? '000001' : '000000')

describe('signing in', () => {
  test('opens an account by the code that was mailed, with a key that works at once', async () => {
    const { key, keyId, accountId, tier } = await world.signIn(accounts, EMAIL)
    expect(await accounts.identify(bearer(key))).toEqual({
      outcome: 'OK',
      accountId,
      keyId,
      tier: 'free',
      window: { id: '2026-11', from: Date.UTC(2026, 10, 1), to: Date.UTC(2026, 11, 1) },
    })
    expect(tier).toBe('free')
    expect(await accounts.show(accountId)).toMatchObject({
      email: EMAIL,
      tier: 'free',
      openedAt: NOON,
      keys: [{ keyId, label: 'sign-in' }],
    })
  })

  test('again gives another key of the same account, however the address is spelled', async () => {
    const first = await world.signIn(accounts, EMAIL)
    await accounts.requestSignIn(' ADA@Example.com ', ORIGIN)
    const second = await confirm(world.codeFor(EMAIL), 'Ada@EXAMPLE.com')
    expect(second.accountId).toBe(first.accountId)
    expect(second.key).not.toBe(first.key)
    expect([await outcomeOf(first.key), await outcomeOf(second.key)]).toEqual(['OK', 'OK'])
  })

  test('does the same for an address with an account and for one without', async () => {
    await world.signIn(accounts, EMAIL)
    world.now += 1
    const trace = async (email: string) => {
      const before = world.log.rows.length
      const mails = world.mails.length
      expect(await accounts.requestSignIn(email, ORIGIN)).toBeUndefined()
      const events = world.log.rows
        .slice(before)
        .map(({ type, data }) => [type, Object.keys(JSON.parse(data))])
      const mail = world.mails[mails]
      const text = mail?.text.replace(/\d{6}/, 'CODE')
      const refusals = [
        await confirm(wrong(world.codeFor(email)), email).catch(String),
        await confirm(wrong(world.codeFor(email)), email, { revoke: ORIGIN.actor }).catch(String),
      ]
      return { events, count: world.mails.length - mails, text, refusals }
    }
    expect(await trace(EMAIL)).toEqual(await trace('nobody@example.com'))
    // Neither has asked for a code since.
    const late = async (email: string) => {
      world.now += LIMITS.signInCodeMs
      return confirm('123456', email).catch((error: ServiceError) => [
        error.code,
        error.message,
        error.details,
      ])
    }
    expect(await late(EMAIL)).toEqual(await late('nobody@example.com'))
    expect(await late(EMAIL)).toEqual(await late('never-seen@example.com'))
  })

  test('takes a code once: of two at a time one gets a key', async () => {
    await accounts.requestSignIn(EMAIL, ORIGIN)
    const code = world.codeFor(EMAIL)
    const other = (await world.start()).accounts
    const outcomes = await Promise.all(
      [accounts, other, accounts, other].map((one) =>
        codeOf(one.confirmSignIn({ email: EMAIL, code, label: '' }, ORIGIN)),
      ),
    )
    expect(outcomes.toSorted()).toEqual(['none', ...Array<string>(3).fill('sign_in_refused')])
    expect(world.log.rows.filter(({ type }) => type === 'KeyIssued')).toHaveLength(1)
  })

  test('counts wrong codes also when many come at a time, and then takes not even the right one', async () => {
    await accounts.requestSignIn(EMAIL, ORIGIN)
    const code = world.codeFor(EMAIL)
    const tries = Array.from({ length: 12 }, () => codeOf(confirm(wrong(code))))
    expect(new Set(await Promise.all(tries))).toEqual(new Set(['sign_in_refused']))
    expect(world.log.rows.filter(({ type }) => type === 'SignInFailed')).toHaveLength(LIMITS.signInTries)
    expect(await codeOf(confirm(code))).toBe('sign_in_refused')
  })

  test('sends no more codes to an address than it may, and says nothing of it', async () => {
    for (let n = 0; n < LIMITS.signInsPerHour + 3; n++) await accounts.requestSignIn(EMAIL, ORIGIN)
    expect(world.mails).toHaveLength(LIMITS.signInsPerHour)
    expect(await codeOf(confirm(world.codeFor(EMAIL)))).toBe('none')
  })

  test('with an address that is none is refused', async () => {
    expect(await codeOf(accounts.requestSignIn('ada@example.com, eve@example.org', ORIGIN))).toBe(
      'invalid_request',
    )
    expect(await codeOf(confirm('123456', 'ada'))).toBe('invalid_request')
    expect(world.log.rows).toEqual([])
  })

  test('goes on when a mail cannot be sent; the operator is told, without the address', async () => {
    const { accounts: mute } = await world.start({
      mailer: {
        send: () => Promise.reject(new Error('550 no such user <ada@example.com>')),
        close: async () => undefined,
      },
    })
    await mute.requestSignIn('bob@example.com', ORIGIN)
    expect(world.reports).toHaveLength(1)
    expect(world.reports[0]).toMatch(/^a mail could not be sent .*sign-in of account/)
    expect(world.reports[0]).not.toContain('bob@')
  })
})
