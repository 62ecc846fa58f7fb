import type { FastifyInstance, InjectOptions } from 'fastify'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { createServer } from '../../composition/server.ts'
import { JUST_CLAIMED, type Payment } from '../../payments/payment.ts'
import { NO_PAYMENTS } from '../testing/no-payments.ts'
import { serverOptions } from '../testing/server-options.fixture.ts'
import type { AccountsPluginOptions } from './accounts.ts'
import type { OperatorRoutesOptions } from './operator.ts'

const TOKEN = 'operator-token-for-tests'
const ID = '019abcde-7c00-7001-8000-00000000000a'
const PAYER = `0x${'ab'.repeat(20)}`
const TRANSACTION = `0x${'cd'.repeat(32)}`
const ORIGIN = { correlationId: 'request', actor: 'operator' }

const paymentOf = (paymentId: string): Payment => ({
  ...JUST_CLAIMED,
  paymentId,
  stream: 'payment-x',
  state: 'uncollectable',
  rail: 'direct',
  product: 'get_trade_call',
  payer: PAYER,
  value: '20000',
  accountId: null,
  isServedFirst: true,
  validBeforeS: 1_800_000_000,
  claimedAtMs: Date.UTC(2026, 10, 21),
  changedAtMs: Date.UTC(2026, 10, 21),
  attempts: 1,
  reason: 'expired',
})

let app: FastifyInstance
let asked: unknown[][]
let rows: readonly Payment[]
let refuse: ServiceError | undefined

const record =
  <Answer>(name: string, answer: () => Answer) =>
  async (...given: unknown[]): Promise<Answer> => {
    asked.push([name, ...given])
    if (refuse !== undefined) throw refuse
    return answer()
  }

beforeEach(async () => {
  asked = []
  rows = []
  refuse = undefined
  const paymentAdmin: NonNullable<OperatorRoutesOptions['payments']>['paymentAdmin'] &
    NonNullable<AccountsPluginOptions['payments']>['paymentAdmin'] = {
    listOwn: () => [],
    list: record('list', () => rows),
    show: record('show', () => paymentOf(ID)),
    refund: record('refund', () => paymentOf(ID)),
  }
  app = await createServer(
    serverOptions({ operatorToken: TOKEN, payments: { ...NO_PAYMENTS, paymentAdmin } }),
  )
})
afterEach(() => app.close())

const ask = (method: InjectOptions['method'], url: string, payload?: object, token = TOKEN) =>
  app.inject({
    method: method ?? 'GET',
    url,
    headers: { authorization: `Bearer ${token}` },
    ...(payload && { payload }),
  })

test.each([
  ['GET', '/operator/payments'],
  ['GET', `/operator/payments/${ID}`],
  ['POST', `/operator/payments/${ID}/refund`],
] as const)('%s %s is the operator’s', async (method, url) => {
  for (const response of [
    await ask(method, url, {}, 'sk_live_x'),
    await app.inject({ method, url, payload: {} }),
  ]) {
    expect([response.statusCode, response.json().code]).toEqual([401, 'unauthorized'])
  }
  expect(asked).toEqual([])
})

describe('the list', () => {
  test('comes in pages, and a full one has a next', async () => {
    rows = [paymentOf(ID), paymentOf(ID.replace('a', 'b'))]
    const full = await ask(
      'GET',
      `/operator/payments?limit=2&state=uncollectable&payer=${PAYER.toUpperCase().replace('X', 'x')}`,
    )
    expect(asked).toEqual([['list', { limit: 2, state: 'uncollectable', payer: PAYER }]])
    expect(full.json()).toMatchObject({
      next: ID.replace('a', 'b'),
      payments: [{ id: ID, state: 'uncollectable', reason: 'expired', amount_usdc: '0.02' }, {}],
    })
    const last = await ask('GET', `/operator/payments?limit=3&after=${ID}`)
    expect(last.json().next).toBeNull()
    expect(asked[1]).toEqual(['list', { limit: 3, after: ID }])
  })

  test.each(['limit=0', 'limit=101', 'state=paid', 'payer=0x1', 'after=x', 'colour=red'])(
    '%s is refused',
    async (query) => {
      const response = await ask('GET', `/operator/payments?${query}`)
      expect([response.statusCode, response.json().code, asked]).toEqual([400, 'invalid_request', []])
    },
  )
})

test('a payment is shown', async () => {
  const response = await ask('GET', `/operator/payments/${ID}`)
  expect(response.json()).toMatchObject({ id: ID, next_step: expect.stringContaining('reason') })
  refuse = new ServiceError('not_found')
  expect((await ask('GET', `/operator/payments/${ID}`)).statusCode).toBe(404)
})

describe('a refund', () => {
  const refund = (change: object = {}) =>
    ask('POST', `/operator/payments/${ID}/refund`, {
      transaction: TRANSACTION.toUpperCase().replace('X', 'x'),
      usdc: '0.02',
      reason: ' outage ',
      ...change,
    })

  test('is recorded in millionths', async () => {
    expect((await refund()).statusCode).toBe(200)
    expect((await refund({ usdc: '12.000001' })).statusCode).toBe(200)
    expect(asked).toEqual([
      ['refund', ID, { transaction: TRANSACTION, value: 20_000n, reason: 'outage' }, ORIGIN],
      ['refund', ID, { transaction: TRANSACTION, value: 12_000_001n, reason: 'outage' }, ORIGIN],
    ])
  })

  test.each([
    { usdc: '0' },
    { usdc: '-1' },
    { usdc: '0.0000001' },
    { usdc: 0.02 },
    { usdc: '1e3' },
    { transaction: '0x12' },
    { reason: ' ' },
    { reason: 'x'.repeat(201) },
    { more: 1 },
  ])('with %j is not', async (change) => {
    const response = await refund(change)
    expect([response.statusCode, response.json().code, asked]).toEqual([400, 'invalid_request', []])
  })

  test('that cannot be is told so', async () => {
    refuse = new ServiceError('state_conflict', { message: 'nothing was paid' })
    const response = await refund()
    expect([response.statusCode, response.json().message]).toEqual([409, 'nothing was paid'])
  })
})
