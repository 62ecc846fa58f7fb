import type { FastifyInstance } from 'fastify'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { paymentsAnswerSchema } from '../../../contracts/answers/payment.ts'
import type { Accounts } from '../../accounts/index.ts'
import { createServer } from '../../composition/server.ts'
import { JUST_CLAIMED, type Payment } from '../../payments/payment.ts'
import { NO_PAYMENTS } from '../testing/no-payments.ts'
import { serverOptions } from '../testing/server-options.fixture.ts'

const ADA = '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55'
const HOSTILE = '"><script>alert(1)</script>'
const idOf = (n: number): string => `019abcde-7c00-7001-8000-${String(n).padStart(12, '0')}`
const paymentOf = (n: number): Payment => ({
  ...JUST_CLAIMED,
  paymentId: idOf(n),
  stream: 'payment-x',
  state: n % 2 === 0 ? 'final' : 'uncollectable',
  rail: 'direct',
  product: 'plans/starter',
  payer: `0x${'ab'.repeat(20)}`,
  value: '9990000',
  accountId: ADA,
  isServedFirst: false,
  validBeforeS: 1_800_000_000,
  claimedAtMs: Date.UTC(2026, 10, 21),
  changedAtMs: Date.UTC(2026, 10, 21),
  attempts: 1,
  transaction: n % 2 === 0 ? `0x${'cd'.repeat(32)}` : null,
  blockNumber: n % 2 === 0 ? 17 : null,
  reason: n % 2 === 0 ? null : HOSTILE,
})

/** Payments of Ada, newest first. */
const ALL = [5, 4, 3, 2, 1].map(paymentOf)
let app: FastifyInstance

beforeEach(async () => {
  const window = { id: '2026-11', from: 0, to: 1 }
  const identify = async (authorization: string | undefined) =>
    authorization === 'Bearer sk_ada' || authorization === 'Session ses_ada'
      ? { outcome: 'OK', accountId: ADA, keyId: idOf(99), tier: 'free', window }
      : { outcome: authorization === undefined ? 'ABSENT' : 'UNKNOWN' }
  const view = {
    accountId: ADA,
    email: 'ada@example.com',
    tier: 'free',
    openedAt: 0,
    plan: undefined,
    nextPlans: [],
    keys: [],
    payer: { id: ADA, tier: 'free', window },
  }
  const quota = { remaining: 3, limit: 200, used: 197, resets_at: '2026-12-01T00:00:00.000Z', daily: null }
  const attempts = { take: async () => undefined }
  app = await createServer(
    serverOptions({
      payments: {
        ...NO_PAYMENTS,
        paymentAdmin: {
          ...NO_PAYMENTS.paymentAdmin,
          listOwn: (accountId, { after, limit }) =>
            accountId === ADA
              ? ALL.filter(({ paymentId }) => after === undefined || paymentId < after).slice(0, limit)
              : [],
        },
      },
      usage: async () => ({
        tier: 'free',
        window: { id: '2026-11', from: '2026-11-01T00:00:00.000Z', to: '2026-12-01T00:00:00.000Z' },
        quota,
        days: [],
        debits: [],
        next: null,
      }),
      accounts: {
        accounts: {
          identify,
          show: async () => view,
          oauth: { apps: async () => [] },
        } as unknown as Accounts,
        quotaOf: async () => quota,
        signInRequests: attempts,
        signInTries: attempts,
        clientDocuments: attempts,
      },
    }),
  )
})
afterEach(() => app.close())

const get = (query: string, authorization?: string) =>
  app.inject({ url: `/api/payments${query}`, headers: authorization === undefined ? {} : { authorization } })

test('tells an account its payments page by page, and nobody else', async () => {
  const seen: string[] = []
  for (let after = ''; ; ) {
    const answer = paymentsAnswerSchema.parse((await get(`?limit=2${after}`, 'Bearer sk_ada')).json())
    seen.push(...answer.payments.map(({ id }) => id))
    if (answer.next === null) break
    after = `&after=${answer.next}`
  }
  expect(seen).toEqual(ALL.map(({ paymentId }) => paymentId))
  expect((await get('')).statusCode).toBe(401)
  expect((await get('', 'Bearer sk_eve')).statusCode).toBe(401)
  expect((await get('?limit=0', 'Bearer sk_ada')).statusCode).toBe(400)
  expect((await get('?after=x', 'Bearer sk_ada')).statusCode).toBe(400)
})

test('the account page shows each with what its state means, and reasons as text', async () => {
  const { body, statusCode } = await app.inject({
    url: '/account',
    headers: { accept: 'text/html', host: 'localhost', cookie: '__Host-session=ses_ada' },
  })
  expect(statusCode).toBe(200)
  expect(body).toContain('plan starter')
  expect(body).toContain('it is paid, for good')
  expect(body).toContain('block 17')
  expect(body).toContain('&lt;script&gt;')
  expect(body).not.toContain('<script>alert')
})
