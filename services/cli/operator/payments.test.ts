import type { AddressInfo } from 'node:net'
import { PassThrough } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { createServer } from '../../composition/server.ts'
import { NO_PAYMENTS } from '../../http/testing/no-payments.ts'
import { serverOptions } from '../../http/testing/server-options.fixture.ts'
import { JUST_CLAIMED, type Payment } from '../../payments/payment.ts'
import { beginSignal, runSignal } from '../kit/run-signal.fixture.ts'

const TOKEN = 'operator-token-for-tests'
const PAYER = `0x${'ab'.repeat(20)}`
const TRANSACTION = `0x${'cd'.repeat(32)}`
const idOf = (n: number): string => `019abcde-7c00-7001-8000-${n.toString(16).padStart(12, '0')}`

const paymentOf = (n: number): Payment => ({
  ...JUST_CLAIMED,
  paymentId: idOf(n),
  stream: 'payment-x',
  state: 'confirmed',
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
  transaction: TRANSACTION,
  blockNumber: 7,
})

let app: FastifyInstance
let server: string
let asked: unknown[][]

beforeEach(async () => {
  asked = []
  const paymentAdmin = {
    listOwn: () => [],
    async list({ after, ...query }: { after?: string | undefined; limit: number }) {
      asked.push(['list', after, query])
      const first = after === undefined ? 0 : LIMITS.paymentRows
      const rows = after === undefined ? LIMITS.paymentRows : 3
      return Array.from({ length: rows }, (_, n) => paymentOf(first + n))
    },
    async show(id: string) {
      if (id === idOf(0)) return paymentOf(0)
      throw new ServiceError('not_found')
    },
    async refund(...given: unknown[]) {
      asked.push(['refund', ...given.slice(0, 2)])
      return { ...paymentOf(0), refunded: '20000', state: 'refunded' as const }
    },
  }
  app = await createServer(
    serverOptions({ operatorToken: TOKEN, payments: { ...NO_PAYMENTS, paymentAdmin } }),
  )
  await app.listen({ host: '127.0.0.1', port: 0 })
  server = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
})
afterEach(() => app.close())

const run = (...args: readonly string[]) => runSignal(...args, '--server', server, '--operator-token', TOKEN)

test('payments list writes all pages, a payment a line', async () => {
  const { code, out } = await run('payments', 'list', '--state', 'confirmed', '--payer', PAYER)
  const ids = out
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { id: string }).id)
  expect([code, ids]).toEqual([0, Array.from({ length: LIMITS.paymentRows + 3 }, (_, n) => idOf(n))])
  const query = { state: 'confirmed', payer: PAYER, limit: LIMITS.paymentRows }
  expect(asked).toEqual([
    ['list', undefined, query],
    ['list', idOf(LIMITS.paymentRows - 1), query],
  ])
})

test('a terminal has tables and lines of fields, a pipe JSON, and --json makes JSON of either', async () => {
  const onTerminal = async (...args: readonly string[]) => {
    const stdout = Object.assign(new PassThrough({ encoding: 'utf8' }), { isTTY: true })
    const flags = ['--server', server, '--operator-token', TOKEN]
    expect(await beginSignal([...args, ...flags], { stdout }).done).toBe(0)
    return String(stdout.read())
  }
  const piped = await run('payments', 'show', idOf(0))
  expect(JSON.parse(piped.out)).toMatchObject({ id: idOf(0), amount_usdc: '0.02' })
  const lines = await onTerminal('payments', 'show', idOf(0))
  expect(lines).toMatch(/^state +confirmed$/m)
  expect(lines).toMatch(/^reason +—$/m)
  const [head, first, ...rest] = (await onTerminal('payments', 'list')).trim().split('\n')
  expect(head).toMatch(/^id +state +product +amount usdc +payer +claimed at$/)
  expect(first).toMatch(new RegExp(`^${idOf(0)} {2}confirmed +get_trade_call +0\\.02 +${PAYER}`))
  expect(rest).toHaveLength(LIMITS.paymentRows + 2)
  expect(await onTerminal('payments', 'show', idOf(0), '--json')).toBe(piped.out)
  const unknown = await run('payments', 'show', idOf(1))
  expect([unknown.code === 0, unknown.err]).toEqual([false, expect.stringContaining('not_found')])
})

test('payments refund records what was sent back', async () => {
  const flags = ['--transaction', TRANSACTION, '--usdc', '0.02', '--reason', 'an outage']
  const { code, out } = await run('payments', 'refund', idOf(0), ...flags)
  expect([code, out]).toEqual([0, expect.stringContaining('"refunded_usdc":"0.02"')])
  expect(asked).toEqual([
    ['refund', idOf(0), { transaction: TRANSACTION, value: 20_000n, reason: 'an outage' }],
  ])
})

test.each([
  [['payments', 'show', '42'], 'payment_id is "42"'],
  [['payments', 'refund', idOf(0), '--transaction', '0x1', '--usdc', '1', '--reason', 'x'], '--transaction'],
  [['payments', 'refund', idOf(0), '--transaction', TRANSACTION, '--usdc', 'x', '--reason', 'x'], '--usdc'],
  [['payments', 'list', '--state', 'paid'], '--state'],
])('%j is a mistake, and nobody is asked', async (args, words) => {
  const { code, err } = await run(...args)
  expect([code, err, asked]).toEqual([2, expect.stringContaining(words), []])
})
