import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { HOUR_MS } from '../../../contracts/domain/timeframes.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Accounts } from '../accounts.ts'
import { createOperatorMailer } from '../mail/operator-mailer.ts'
import { aWorld, CLIENT, codeOf, NOON, ORIGIN, type World } from '../testing/accounts.fixture.ts'

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

const WRONG = '00000-00000'

const from = (email: string, client = CLIENT) => ({ email, client })

test('without a mail server a code is shown to the operator alone', async () => {
  expect(accounts.hasNoMail).toBe(false)
  const shown: string[] = []
  const { accounts: own } = await world.start({ mailer: createOperatorMailer((text) => shown.push(text)) })
  expect(own.hasNoMail).toBe(true)
  const signInId = await own.requestSignIn(from(EMAIL), ORIGIN)
  const [code = ''] = /\b\w{5}-\w{5}\b/.exec(shown.join()) ?? []
  expect(await own.beginSession({ email: EMAIL, code, signInId }, ORIGIN)).toMatchObject({
    accountId: expect.any(String),
  })
})

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
    await accounts.requestSignIn(from(' ADA@Example.com '), ORIGIN)
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
      expect(await accounts.requestSignIn(from(email), ORIGIN)).toMatch(/^[0-9a-f-]{36}$/)
      const events = world.log.rows
        .slice(before)
        .map(({ type, data }) => [type, Object.keys(JSON.parse(data))])
      const mail = world.mails[mails]
      const text = mail?.text.replace(/[0-9A-Z]{5}-[0-9A-Z]{5}/, 'CODE')
      const refusals = [
        await confirm(WRONG, email).catch(String),
        await confirm(WRONG, email, { revoke: ORIGIN.actor }).catch(String),
      ]
      return { events, count: world.mails.length - mails, text, refusals }
    }
    expect(await trace(EMAIL)).toEqual(await trace('nobody@example.com'))
    // Neither has asked for a code since.
    const late = async (email: string) => {
      world.now += LIMITS.signInCodeMs
      return confirm(WRONG, email).catch((error: ServiceError) => [error.code, error.message, error.details])
    }
    expect(await late(EMAIL)).toEqual(await late('nobody@example.com'))
    expect(await late(EMAIL)).toEqual(await late('never-seen@example.com'))
  })

  test('takes a code once: of two at a time one gets a key', async () => {
    await accounts.requestSignIn(from(EMAIL), ORIGIN)
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

  test('takes a code as people type it', async () => {
    await accounts.requestSignIn(from(EMAIL), ORIGIN)
    const typed = ` ${world.codeFor(EMAIL).toLowerCase().replace('-', ' ').replaceAll('0', 'o').replaceAll('1', 'l')}`
    expect(await codeOf(confirm(typed))).toBe('none')
    expect(await codeOf(confirm('123456'))).toBe('invalid_request')
  })

  test('whatever others ask for and try, a code that came by mail is good', async () => {
    const signInId = await accounts.requestSignIn(from(EMAIL), ORIGIN)
    const code = world.codeFor(EMAIL)
    const others = await accounts.requestSignIn(from(EMAIL, 'mallory'), ORIGIN)
    const tries = Array.from({ length: 50 }, (_, n) =>
      codeOf(confirm(WRONG, EMAIL, n % 2 === 0 ? {} : { signInId: n % 4 === 1 ? signInId : others })),
    )
    expect(new Set(await Promise.all(tries))).toEqual(new Set(['sign_in_refused']))
    expect(await codeOf(confirm(code, EMAIL, { signInId: others }))).toBe('sign_in_refused')
    expect(await codeOf(confirm(code, EMAIL, { signInId }))).toBe('none')
  })

  test('who is sent no further code, because somebody has many sent, has a good one in the mailbox', async () => {
    let mails = 0
    for (let minute = 0; minute < 240; minute++) {
      for (let n = 0; n < 20; n++) await accounts.requestSignIn(from(EMAIL, `net-${minute}-${n}`), ORIGIN)
      mails = Math.max(mails, world.mails.length)
      // The owner, who asks as well, and is sent nothing: what came last is at most a quarter of an hour old.
      if (minute % 15 === 13) {
        await accounts.requestSignIn(from(EMAIL, 'owner'), ORIGIN)
        const { accountId } = await confirm(world.codeFor(EMAIL))
        const [key] = (await accounts.show(accountId)).keys
        await accounts.revokeKey(accountId, key?.keyId ?? '', ORIGIN)
      }
      world.now += 60_000
    }
    expect(mails).toBeLessThanOrEqual(4 * 4 * LIMITS.signInsPerMailbox)
  })

  test('from one address has a mailbox written to only so often, and says nothing of it', async () => {
    for (let minute = 0; minute < 60; minute += 5) {
      await accounts.requestSignIn(from(EMAIL), ORIGIN)
      world.now += 5 * 60_000
    }
    expect(world.mails).toHaveLength(LIMITS.signInsPerMailboxAndAddress)
  })

  test('counts the mailbox, however many addresses with a plus sign it has; accounts they are of their own', async () => {
    for (let n = 0; n < 20; n++)
      await accounts.requestSignIn(from(`ada+${n}@example.com`, `net-${n}`), ORIGIN)
    expect(world.mails.map(({ to }) => to)).toEqual([
      'ada+0@example.com',
      'ada+1@example.com',
      'ada+2@example.com',
    ])
    const first = await confirm(world.codeFor('ada+0@example.com'), 'ada+0@example.com')
    const second = await confirm(world.codeFor('ada+1@example.com'), 'ada+1@example.com')
    expect(first.accountId).not.toBe(second.accountId)
  })

  test('of very many addresses is held back with an alarm, but not for who has an account', async () => {
    await world.signIn(accounts, EMAIL)
    for (let n = 0; n < LIMITS.signInMailsPerHour + 50; n++)
      await accounts.requestSignIn(from(`victim-${n}@example.com`, `net-${n}`), ORIGIN)
    expect(world.mails).toHaveLength(LIMITS.signInMailsPerHour)
    expect(world.reports).toEqual([expect.stringContaining('sign-in mails are held back')])
    expect(world.outcomes.filter((outcome) => outcome === 'held')).toHaveLength(51)
    await world.signIn(accounts, EMAIL)
    world.now += HOUR_MS
    await world.signIn(accounts, 'victim-1049@example.com')
  })

  test('writes to a mailbox without an account only so often in a day, and to an owner as often as it lasts', async () => {
    await world.signIn(accounts, 'owner@example.com')
    const ask = async (email: string): Promise<number> => {
      world.mails.length = 0
      for (let hour = 0; hour < 8; hour++, world.now += HOUR_MS)
        for (let n = 0; n < 3; n++) await accounts.requestSignIn(from(email, `net-${hour}-${n}`), ORIGIN)
      return world.mails.length
    }
    expect(await ask('stranger@example.com')).toBe(LIMITS.signInsPerStranger)
    expect(await ask('owner@example.com')).toBe(24)
  })

  test('is limited also while the cache that processes share is away', async () => {
    const away = { increment: () => Promise.reject(new ServiceError('dependency_unavailable')) }
    const { accounts: alone } = await world.start({ cache: away })
    for (let n = 0; n < 10; n++) await alone.requestSignIn(from(EMAIL, `net-${n}`), ORIGIN)
    expect(world.mails).toHaveLength(LIMITS.signInsPerMailbox)
  })

  test('with an address that is none is refused', async () => {
    expect(await codeOf(accounts.requestSignIn(from('ada@example.com, eve@example.org'), ORIGIN))).toBe(
      'invalid_request',
    )
    expect(await codeOf(confirm(WRONG, 'ada'))).toBe('invalid_request')
    expect(world.log.rows).toEqual([])
  })

  test('goes on when a mail cannot be sent; the operator is told, without the address', async () => {
    const { accounts: mute } = await world.start({
      mailer: {
        send: () => Promise.reject(new Error('550 no such user <ada@example.com>')),
        close: async () => undefined,
      },
    })
    await mute.requestSignIn(from('bob@example.com'), ORIGIN)
    expect(world.reports).toHaveLength(1)
    expect(world.reports[0]).toMatch(/^a mail could not be sent .*sign-in of account/)
    expect(world.reports[0]).not.toContain('bob@')
  })
})
