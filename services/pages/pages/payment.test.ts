import { expect, test } from 'vitest'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import type { Accounts } from '../../accounts/index.ts'
import { createServer } from '../../composition/server.ts'
import { NO_PAYMENTS } from '../../http/testing/no-payments.ts'
import { serverOptions } from '../../http/testing/server-options.fixture.ts'
import { JUST_CLAIMED, type Payment } from '../../payments/payment.ts'

const ID = '019abcde-7c00-7001-8000-00000000000a'
const TRANSACTION = `0x${'cd'.repeat(32)}`
const PAYMENT: Payment = {
  ...JUST_CLAIMED,
  paymentId: ID,
  stream: 'payment-x',
  state: 'final',
  rail: 'direct',
  product: 'get_trade_call',
  payer: `0x${'ab'.repeat(20)}`,
  value: '20000',
  accountId: null,
  isServedFirst: true,
  validBeforeS: 1_800_000_000,
  claimedAtMs: Date.UTC(2026, 10, 21),
  changedAtMs: Date.UTC(2026, 10, 21),
  attempts: 1,
  transaction: TRANSACTION,
}

test('a payment is a page for the holder of its id, and nothing for others', async () => {
  const app = await createServer(
    serverOptions({
      accounts: {
        accounts: { identify: async () => ({ outcome: 'ABSENT' }) } as unknown as Accounts,
        quotaOf: () => Promise.reject(new Error('no quota here')),
        signInRequests: { take: async () => undefined },
        signInTries: { take: async () => undefined },
        clientDocuments: { take: async () => undefined },
      },
      payments: {
        ...NO_PAYMENTS,
        async showPayment(id) {
          if (id === ID) return PAYMENT
          throw new ServiceError('not_found', { message: `There is no payment ${id}.` })
        },
      },
    }),
  )
  const shown = await app.inject(`/account/payments/${ID}`)
  expect(shown.statusCode).toBe(200)
  for (const part of ['<h1>0.02 USDC for get_trade_call', TRANSACTION, PAYMENT.payer])
    expect(shown.body).toContain(part)
  expect((await app.inject(`/account/payments/${ID.replace('a', 'b')}`)).statusCode).toBe(404)
  expect((await app.inject('/account/payments/..%2f..%2foperator')).statusCode).toBeGreaterThanOrEqual(400)
  await app.close()
})
