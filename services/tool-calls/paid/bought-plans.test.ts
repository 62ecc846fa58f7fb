import { afterEach, beforeEach, expect, test } from 'vitest'
import { BASE } from '../../../contracts/domain/chain.ts'
import { DAY_MS } from '../../../contracts/domain/timeframes.ts'
import type { JsonObject } from '../../../contracts/infra/json.ts'
import { PRICES } from '../../../contracts/tools/prices.ts'
import { hurry } from '../../../testing/time/hurry.fixture.ts'
import type { Accounts } from '../../accounts/index.ts'
import { aWorld, codeOf, ORIGIN, type World } from '../../accounts/testing/accounts.fixture.ts'
import { readPaidBody } from '../../http/routes/x402.ts'
import { startProjector } from '../../log/projector/projector.ts'
import { openRowTables } from '../../log/projector/row-tables.ts'
import {
  createPaymentAdmin,
  createPaymentIndex,
  createPayments,
  createSettler,
  type PaymentAdmin,
} from '../../payments/index.ts'
import { payments as paymentsProjection } from '../../payments/payments-projection.ts'
import type { Facilitator } from '../../payments/settlement/facilitator.ts'
import { RICH_CHAIN } from '../../payments/testing/rich-chain.ts'
import {
  anAuthorization,
  encoded,
  nonceNumber,
  PAY_TO,
  payerNumber,
  paymentV1,
  signAuthorization,
} from '../../payments/testing/sign-payment.ts'
import { openRecovery } from '../../payments/verification/recover-signer.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import { createPaidCalls, type PaidCalls, type PaidTier, planSalesOf, startPaidPlan } from '../index.ts'

const EMAIL = 'eve@example.com'
const payer = payerNumber(77)

let world: World
let accounts: Accounts
let paid: PaidCalls
let admin: PaymentAdmin
/** Whether the facilitator answers with success. */
let isSettling: boolean
/** Reports to the operator. */
let reports: string[]
const closings: (() => Promise<unknown>)[] = []

const HASH = `0x${'ab'.repeat(32)}` as const
/** Nonces of payments that are on the chain. */
const settled = new Set<string>()
/** A facilitator in this process: every payment is good, and moved when it is asked for. */
const facilitator: Facilitator = {
  async settle({ nonce }) {
    if (!isSettling) return { kind: 'unknown', reason: 'away' }
    settled.add(nonce)
    return { kind: 'settled', transaction: HASH }
  },
  verify: async () => ({ kind: 'valid' }),
  findTransfer: async () => undefined,
  problem: async () => undefined,
}

beforeEach(async () => {
  world = aWorld()
  isSettling = true
  reports = []
  const process = await world.start()
  accounts = process.accounts
  const store = world.store()
  let ids = 0
  const newId = (): string => `0190a000-0000-7000-8000-${String(++ids).padStart(12, '0')}`
  const tables = openRowTables(':memory:', 'log')
  const projector = startProjector({ store, tables, projections: [paymentsProjection], sleep })
  await projector.caughtUp()
  const index = createPaymentIndex(projector)
  const now = (): number => world.now
  const payments = createPayments({
    on: BASE,
    proofKey: Buffer.alloc(32, 9),
    store,
    index,
    chain: RICH_CHAIN,
    payTo: PAY_TO,
    offersGateway: false,
    taking: ['direct'],
    caps: { payer: 1_000_000n, total: 50_000_000n },
    recovery: await openRecovery({ report: () => {} }),
    newId,
    now,
    elapsed: now,
    sleep: hurry,
  })
  const ending = new AbortController()
  const { signal } = ending
  admin = createPaymentAdmin({ on: BASE, store, index, newId, now: Date.now, sleep, signal })
  const settler = createSettler({
    on: BASE,
    store,
    reader: projector.reader(paymentsProjection),
    chain: {
      ...RICH_CHAIN,
      blockTime: async () => Math.floor(now() / 1_000),
      outcomeOf: async ({ nonce }) =>
        settled.has(nonce)
          ? { kind: 'paid', transaction: HASH, blockNumber: 1, blockHash: HASH }
          : { kind: 'unused' },
      finalBlock: async () => 1,
      blockHash: async () => HASH,
    },
    facilitator,
    onPaid: (payment) =>
      startPaidPlan(accounts, payment, (event, { paymentId }) => reports.push(`${event} ${paymentId}`)),
    newId,
    now,
    sleep,
    report: () => {},
    timing: { retryMs: 5, retryMaxMs: 20 },
  })
  const running = settler.run(signal)
  closings.push(async () => {
    ending.abort()
    await Promise.all([running, payments.close(), projector.close()])
  })
  paid = createPaidCalls({
    calls: { call: () => Promise.reject(new Error('no tools here')) },
    payments,
    identify: accounts.identify,
    answer: () => Promise.reject(new Error('no tools here')),
    plans: planSalesOf(accounts),
    market: 'simulated',
    version: '1.2.3',
    publicUrl: () => 'https://signals.example.com',
  })
})
afterEach(async () => {
  await Promise.all(closings.splice(0).map((close) => close()))
  await world.closeAll()
})

let nonces = 0
/** A payment header for a plan at this moment. */
async function headerFor(tier: PaidTier): Promise<string> {
  const authorization = anAuthorization(payer, {
    nonce: nonceNumber(++nonces),
    value: PRICES[`plans/${tier}`],
    validBefore: BigInt(Math.floor(world.now / 1_000) + 300),
  })
  return encoded(paymentV1(authorization, await signAuthorization(payer, authorization)))
}

async function buy(
  tier: PaidTier,
  key: string,
  header: string,
  signal = new AbortController().signal,
): Promise<JsonObject> {
  const outcome = await paid.plans.buy(tier, {
    body: readPaidBody([], Buffer.alloc(0)),
    rawHeaders: ['X-PAYMENT', header],
    authorization: `Bearer ${key}`,
    address: '192.0.2.1',
    requestId: 'request-1',
    signal: () => signal,
  })
  if (outcome.kind === 'offer') throw outcome.refusal
  return outcome.body
}
const begun = (): number => world.log.rows.filter(({ type }) => type === 'PlanStarted').length
const tierOf = async (key: string): Promise<unknown> => {
  const identity = await accounts.identify(`Bearer ${key}`)
  return identity.outcome === 'OK' ? identity.tier : identity.outcome
}
async function refundNewest(): Promise<void> {
  const [payment] = await admin.list({ limit: 1 })
  if (payment === undefined) throw new Error('there is no payment')
  const { paymentId, value } = payment
  const sent = { transaction: `0x${'cd'.repeat(32)}`, value: BigInt(value), reason: 'asked' } as const
  await admin.refund(paymentId, sent, ORIGIN)
}
/** Waits for what the settler does by itself, in its time. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) {
    world.now += 5
    await sleep(5, new AbortController().signal)
  }
}

test('a payment begins one plan, however often its account is erased and opened again', async () => {
  const first = await world.signIn(accounts, EMAIL)
  const header = await headerFor('pro')
  const bought = await buy('pro', first.key, header)
  expect(await buy('pro', first.key, header)).toMatchObject({ from: bought['from'], to: bought['to'] })
  expect(await tierOf(first.key)).toBe('pro')
  for (let lives = 0; lives < 2; lives++) {
    world.now += DAY_MS
    await accounts.erase(first.accountId, ORIGIN)
    const again = await world.signIn(accounts, EMAIL)
    expect(again.accountId).toBe(first.accountId)
    expect(await codeOf(buy('pro', again.key, header))).toBe('state_conflict')
    expect(await tierOf(again.key)).toBe('free')
  }
  expect(begun()).toBe(1)
})

test('a payment is remembered over any number of others', async () => {
  const { key, accountId } = await world.signIn(accounts, EMAIL)
  const header = await headerFor('starter')
  await buy('starter', key, header)
  const paymentId = (n: number): string => `018f0000-0000-7000-8000-${String(n).padStart(12, '0')}`
  for (let n = 1; n <= 60; n++) {
    world.now += 31 * DAY_MS
    const other = { tier: 'starter', paymentId: paymentId(n), claimedAtMs: world.now } as const
    await accounts.buyPlan(accountId, other, ORIGIN)
  }
  world.now += 31 * DAY_MS
  await buy('starter', key, header)
  expect(begun()).toBe(61)
  expect(await tierOf(key)).toBe('free')
})

test('what was paid for an account that is gone begins nothing in the next one, and the operator is told', async () => {
  isSettling = false
  const first = await world.signIn(accounts, EMAIL)
  const header = await headerFor('pro')
  const gone = new AbortController()
  const buying = codeOf(buy('pro', first.key, header, gone.signal))
  await until(() => world.log.rows.some(({ type }) => type === 'SettlementUnknown'))
  gone.abort()
  expect(await buying).toBe('payment_pending')
  world.now += 1_000
  await accounts.erase(first.accountId, ORIGIN)
  const again = await world.signIn(accounts, EMAIL)
  isSettling = true
  await until(() => reports.length > 0)
  const [payment] = await admin.list({ limit: 1 })
  expect(new Set(reports)).toEqual(new Set([`plan_not_begun ${payment?.paymentId}`]))
  await until(() => world.log.rows.some(({ type }) => type === 'SettlementConfirmed'))
  expect(await codeOf(buy('pro', again.key, header))).toBe('account_unknown')
  expect(begun()).toBe(0)
})

test('a refunded payment begins nothing', async () => {
  const { key } = await world.signIn(accounts, EMAIL)
  const header = await headerFor('starter')
  await buy('starter', key, header)
  await refundNewest()
  expect(await codeOf(buy('starter', key, header))).toBe('state_conflict')
  expect(begun()).toBe(1)
})

test('a cheaper plan is not sold while a dearer one has not ended, and a dearer one takes its place', async () => {
  const { key } = await world.signIn(accounts, EMAIL)
  await buy('starter', key, await headerFor('starter'))
  await buy('pro', key, await headerFor('pro'))
  await buy('pro', key, await headerFor('pro'))
  expect(await codeOf(buy('starter', key, await headerFor('starter')))).toBe('plan_conflict')
  expect(await tierOf(key)).toBe('pro')
  world.now += 59 * DAY_MS
  expect(await tierOf(key)).toBe('pro')
  world.now += 2 * DAY_MS
  await buy('starter', key, await headerFor('starter'))
  expect(await tierOf(key)).toBe('starter')
})
