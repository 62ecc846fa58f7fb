import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { HOUR_MS } from '../../contracts/domain/timeframes.ts'
import { isServiceError } from '../../contracts/errors/errors.ts'
import { EVENT_CATALOGUE } from '../../contracts/events/event-catalogue.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { createAccountLog, PER_HOUR } from './account-log.ts'
import type { Accounts } from './accounts.ts'
import type { AppCommand } from './oauth/decide-apps.ts'
import { aWorld, CLIENT, codeOf, ORIGIN, partsOf, type World } from './testing/accounts.fixture.ts'

const EMAIL = 'ada@example.com'

let world: World
let accounts: Accounts
beforeEach(async () => {
  world = aWorld()
  accounts = (await world.start()).accounts
})
afterEach(() => world.closeAll())

const countOf = (type: string): number => world.log.rows.filter((row) => row.type === type).length

/** Issues a key and revokes it, as often as the account lets it. */
async function churn(accountId: string, times: number, of = accounts): Promise<string[]> {
  const outcomes: string[] = []
  for (let n = 0; n < times; n++) {
    try {
      const { keyId } = await of.issueKey(accountId, '', ORIGIN)
      await of.revokeKey(accountId, keyId, ORIGIN)
      outcomes.push('done')
    } catch (error) {
      outcomes.push(isServiceError(error) ? error.code : String(error))
    }
  }
  return outcomes
}

describe('an hour of an account', () => {
  test('takes so many keys, over two processes together, and says when the next is taken', async () => {
    const { accountId } = await world.signIn(accounts, EMAIL)
    const other = (await world.start()).accounts
    // The key of the sign-in counts, too.
    const free = LIMITS.accountEventsPerHour - 1
    const outcomes = [...(await churn(accountId, 20)), ...(await churn(accountId, 200, other))]
    expect(outcomes.filter((outcome) => outcome === 'done')).toHaveLength(free)
    expect(new Set(outcomes.slice(free))).toEqual(new Set(['rate_limited']))
    expect(countOf('KeyIssued')).toBe(LIMITS.accountEventsPerHour)
    world.now += HOUR_MS / 4
    await expect(accounts.issueKey(accountId, '', ORIGIN)).rejects.toMatchObject({
      code: 'rate_limited',
      message: expect.stringContaining(`${LIMITS.accountEventsPerHour} events KeyIssued`),
      details: { retry_after_s: (3 * HOUR_MS) / 4 / 1_000 },
    })
    world.now += (3 * HOUR_MS) / 4
    expect(await codeOf(accounts.issueKey(accountId, '', ORIGIN))).toBe('none')
  })

  test('is known to a process that starts in the middle of it', async () => {
    const { accountId } = await world.signIn(accounts, EMAIL)
    await churn(accountId, LIMITS.accountEventsPerHour)
    const late = (await world.start()).accounts
    expect(await codeOf(late.issueKey(accountId, '', ORIGIN))).toBe('rate_limited')
  })

  test('of one kind of event that is used up lets others pass: the owner signs in, and revokes the stolen key', async () => {
    const { accountId, key, keyId } = await world.signIn(accounts, EMAIL)
    await churn(accountId, LIMITS.accountEventsPerHour)
    await accounts.requestSignIn({ email: EMAIL, client: CLIENT }, ORIGIN)
    const { secret } = await accounts.beginSession({ email: EMAIL, code: world.codeFor(EMAIL) }, ORIGIN)
    expect((await accounts.identify(`Session ${secret}`)).outcome).toBe('OK')
    await accounts.revokeKey(accountId, keyId, ORIGIN)
    expect((await accounts.identify(`Bearer ${key}`)).outcome).toBe('UNKNOWN')
    await accounts.erase(accountId, ORIGIN)
  })

  test('takes every plan that was paid for', async () => {
    const { accountId } = await world.signIn(accounts, EMAIL)
    await churn(accountId, LIMITS.accountEventsPerHour)
    const payments = Array.from({ length: 5 * LIMITS.accountEventsPerHour }, (_, n) => `payment ${n}`)
    for (const paymentId of payments) {
      await accounts.buyPlan(accountId, { tier: 'starter', paymentId, claimedAtMs: world.now }, ORIGIN)
    }
    expect(countOf('PlanStarted')).toBe(payments.length)
  })

  test('takes so many tokens of one program, and leaves the others theirs', async () => {
    const { accountId } = await world.signIn(accounts, EMAIL)
    const signal = new AbortController().signal
    const parts = { ...partsOf(world), store: world.store(), signal, onChange: () => undefined }
    const log = createAccountLog(parts)
    const run = (command: AppCommand) => log.execute(accountId, ORIGIN, () => [command])
    const hash = (n: number) => n.toString(16).padStart(64, '0')
    const { now } = world
    const grants = ['019abcde-7c00-7001-8000-0000000000a1', '019abcde-7c00-7001-8000-0000000000a2']
    const asked = { clientHash: grants[0] ?? '', redirectHash: hash(0), codeHash: hash(0), now }
    const challenge = 'c'.repeat(43)
    for (const grantId of grants) {
      const app = { app: 'v1.sealed', method: 'none', scopes: ['calls'] } as const
      await run({ kind: 'AuthorizeApp', grantId, ...app, ...asked, challenge })
      await run({ kind: 'ExchangeCode', grantId, ...asked, challenge, refreshHash: hash(0) })
    }
    const refresh = (grantId: string, n: number) => {
      const { clientHash } = asked
      return codeOf(
        run({ kind: 'RefreshApp', grantId, clientHash, usedHash: hash(n), refreshHash: hash(n + 1), now }),
      )
    }
    const outcomes = []
    for (let n = 0; n < LIMITS.accountEventsPerHour; n++) outcomes.push(await refresh(grants[0] ?? '', n))
    expect(outcomes.slice(-2)).toEqual(['none', 'rate_limited'])
    expect(await refresh(grants[1] ?? '', 0)).toBe('none')
    // What was refused used nothing up: the token is still good in the next hour.
    world.now += HOUR_MS
    expect(await refresh(grants[0] ?? '', LIMITS.accountEventsPerHour - 1)).toBe('none')
  })
})

/** Why an hour takes every one of these. */
const UNLIMITED = {
  'ends what began, and each beginning is counted':
    'KeyRevoked SessionsEnded AppEnded SubscriptionSlotFreed AccountErased',
  'comes with a SignInConfirmed, or from the operator': 'AccountOpened',
  'was paid for, or comes from the operator': 'PlanStarted PlanEnded',
  'is bounded by the codes that are good at a time, so that a stranger refuses nobody': 'SignInRequested',
}

test('every event of an account has a limit, or a reason to have none', () => {
  const catalogued = Object.values(EVENT_CATALOGUE).filter(({ stream }) => stream === 'account-{account}')
  expect(Object.keys(PER_HOUR).toSorted()).toEqual(catalogued.map(({ type }) => type).toSorted())
  const unlimited = Object.entries(PER_HOUR).flatMap(([type, perHour]) =>
    perHour === Number.POSITIVE_INFINITY ? [type] : [],
  )
  expect(unlimited.toSorted()).toEqual(Object.values(UNLIMITED).join(' ').split(' ').toSorted())
})

/** The limit of an account's events in each other stream; null where it can cause none. */
const ELSEWHERE: Readonly<Record<string, string | null>> = {
  'subscription-{subscription}': 'hourly limits of its own, held beside the subscriptions',
  'delivery-{subscription}': 'signals, and deliveries sent again, which are counted by the hour',
  'subject-{account}.{generation}': 'openings of the account',
  'quota-{account}.{window}': 'the quota of calls',
  'chat-{account}.{window}': 'the quota of chats',
  'payment-{chain}.{contract}.{payer}.{nonce}': 'money',
  'store-identity': null,
  'store-losses': null,
  'store-market-clock': null,
  'store-market-runs': null,
  'verdict-{exchange}.{coin}.{timeframe}': null,
  'outcome-{exchange}.{coin}.{timeframe}': null,
  'model-{version}': null,
  'monitored-{exchange}': null,
  'scan-{exchange}.universe': null,
  'scan-{exchange}.{timeframe}': null,
  'sealed-{exchange}': null,
  'log-checkpoints': null,
  'log-keys': null,
  'lease-{group}': null,
}

test('of every other stream it is said what bounds an account there', () => {
  const streams = new Set(Object.values(EVENT_CATALOGUE).map(({ stream }) => stream))
  streams.delete('account-{account}')
  expect(Object.keys(ELSEWHERE).toSorted()).toEqual([...streams].toSorted())
})
