import { randomBytes } from 'node:crypto'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { BASE } from '../../contracts/chain.ts'
import { decodeEvent, EVENT_CATALOGUE, type EventType } from '../../contracts/event-catalogue.ts'
import { type EventDefinition, newEvent } from '../../contracts/event-definition.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { PaymentAnswer } from '../../contracts/payment-answers.ts'
import { createRefunder } from '../payments/index.ts'
import { payments as paymentsProjection } from '../payments/state/payments.ts'
import {
  anAuthorization,
  encoded,
  NOW_S,
  nonceNumber,
  payerNumber,
  paymentV1,
  signAuthorization,
  signInOf,
} from '../payments/testing/sign-payment.ts'
import { sleep } from '../runtime/async/sleep.ts'
import { uuidV7 } from '../runtime/ids/uuid.ts'
import { PAY_TO, type PaidService, startPaidService } from './testing/paid-service.fixture.ts'

const payer = payerNumber(91)
const BODY = '{"coin":"BTC"}'
const TRANSACTION = `0x${'7a'.repeat(32)}`

let service: PaidService
let now: number
let ending: AbortController
let refunding: Promise<void>

beforeEach(async () => {
  now = NOW_S * 1_000
  // Nobody is trusted: every answer waits for its money, which comes when the test says so.
  service = await startPaidService({ now: () => now, caps: { payer: 0n, total: 0n } })
  ending = new AbortController()
  const refunder = createRefunder({
    on: BASE,
    store: service.store,
    reader: service.projector.reader(paymentsProjection),
    wallet: undefined,
    dailyCap: 0n,
    newId,
    now: () => now,
    sleep,
    report: () => undefined,
    timing: { pollMs: 10 },
  })
  refunding = refunder.run(ending.signal)
})
afterEach(async () => {
  ending.abort()
  await refunding
  await service.stop()
})

const newId = (): string => uuidV7(now, randomBytes(10))

let nonces = 0
async function aPayment(): Promise<string> {
  const authorization = anAuthorization(payer, {
    nonce: nonceNumber(++nonces),
    validBefore: BigInt(Math.floor(now / 1_000) + 300),
    payTo: PAY_TO,
  })
  return encoded(paymentV1(authorization, await signAuthorization(payer, authorization)))
}

/** @param secret that a refusal told, once the payment was handed over */
const ask = (payment: string, signal?: AbortSignal, secret?: string, signIn?: string): Promise<Response> =>
  fetch(`${service.url}/x402/get_trade_call`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-payment': payment,
      ...(secret !== undefined && { 'payment-secret': secret }),
      ...(signIn !== undefined && { 'sign-in-with-x': signIn }),
    },
    body: BODY,
    ...(signal && { signal }),
  })

async function typesOf(): Promise<string[]> {
  const types: string[] = []
  for await (const event of service.store.readAll()) types.push(decodeEvent(event).type)
  return types
}
const untilRecorded = (type: EventType): Promise<void> =>
  expect.poll(async () => (await typesOf()).includes(type), { timeout: 10_000, interval: 10 }).toBe(true)

/** The settler's last events: the money has come, and nothing can undo it. */
async function settle(): Promise<void> {
  let claim: { stream: string; paymentId: string } | undefined
  for await (const recorded of service.store.readAll()) {
    const event = decodeEvent(recorded)
    if (event.type === 'PaymentClaimed') claim = { stream: event.stream, paymentId: event.data.paymentId }
  }
  const { stream, paymentId } = claim ?? expect.fail('nothing was claimed')
  const block = { blockNumber: 7, blockHash: `0x${'bb'.repeat(32)}` }
  const facts = [
    ['SettlementConfirmed', { transaction: TRANSACTION, ...block, by: 'own' }],
    ['SettlementFinalised', { transaction: TRANSACTION, blockNumber: 7 }],
  ] as const
  for (const [type, data] of facts) {
    const definition: EventDefinition = EVENT_CATALOGUE[type]
    const meta = { correlationId: 'test', actor: 'settler' }
    const event = newEvent(definition, { id: newId(), data: { paymentId, ...data }, meta })
    await service.store.append(stream, [event], { expected: 'any' })
  }
}

/** Asks, and lets the time pass in which a request waits for its money. */
async function askInVain(payment: string): Promise<{ code: string; details: Record<string, string> }> {
  const answer = ask(payment)
  await untilRecorded('PaymentClaimed')
  now += LIMITS.settlementWaitMs
  const response = await answer
  expect(response.status).toBe(503)
  return (await response.json()) as { code: string; details: Record<string, string> }
}
const statusOf = async (url: string | undefined): Promise<PaymentAnswer> =>
  (await (await fetch(url ?? '')).json()) as PaymentAnswer

test('what was paid and not answered becomes a credit, which pays for the next answer', async () => {
  const payment = await aPayment()
  const { code, details } = await askInVain(payment)
  expect(code).toBe('payment_pending')
  await settle()
  const status = () => statusOf(details.status_url)
  expect(await status()).toMatchObject({ refund: null })
  now += LIMITS.refundAfterMs
  await expect.poll(async () => (await status()).state, { timeout: 10_000 }).toBe('refunded')
  expect(await status()).toMatchObject({
    refund: { as: 'credit', state: 'done', amount_usdc: '0.02', cause: 'answer_not_given', why: 'no_wallet' },
    credit_left_usdc: '0.02',
  })
  // An agent that speaks MCP alone reads the same.
  const read = async (id: string | undefined) => {
    const params = { uri: `signal://payments/${id}` }
    const message = { jsonrpc: '2.0', id: 1, method: 'resources/read', params }
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(`${service.url}/mcp`, {
      method: 'POST',
      headers,
      body: JSON.stringify(message),
    })
    return (await response.json()) as { result?: { contents: { text: string }[] }; error?: { data: unknown } }
  }
  const { result } = await read(details.payment_id)
  expect(JSON.parse(result?.contents[0]?.text ?? '')).toEqual(await status())
  expect(await read('019abcde-7c00-7001-8000-00000000000a')).toMatchObject({
    error: { data: { code: 'payment_unknown' } },
  })
  // The answer is not given besides.
  const again = await ask(payment, undefined, details.payment_secret)
  expect([again.status, await again.json()]).toMatchObject([409, { code: 'payment_refunded' }])
  const next = await ask(await aPayment())
  expect([next.status, await next.json()]).toMatchObject([
    200,
    { _service: { payment: { state: 'credited' } } },
  ])
  await expect.poll(async () => (await status()).credit_left_usdc).toBe('0.00')
  expect(await typesOf()).not.toContain('SettlementRequested')
})

test('who asks again in time has the answer, and nothing is given back', async () => {
  const payment = await aPayment()
  const { details } = await askInVain(payment)
  await settle()
  expect((await ask(payment)).status).toBe(403)
  const secret = details.payment_secret
  const answers = await Promise.all([ask(payment, undefined, secret), ask(payment, undefined, secret)])
  expect(answers.map(({ status }) => status)).toEqual([200, 200])
  now += 10 * LIMITS.refundAfterMs
  for (let looks = 0; looks < 10; looks++) await sleep(20, ending.signal)
  expect(await statusOf(details.status_url)).toMatchObject({ state: 'final', refund: null })
  const types = await typesOf()
  expect(types.filter((type) => type === 'AnswerGiven')).toHaveLength(1)
  expect(types).not.toContain('RefundBegun')
})

test('who goes away while its answer waits is given nothing back', async () => {
  const payment = await aPayment()
  const leaving = new AbortController()
  const gone = ask(payment, leaving.signal).catch(() => 'gone')
  await untilRecorded('PaymentClaimed')
  leaving.abort()
  expect(await gone).toBe('gone')
  await sleep(50, ending.signal)
  now += LIMITS.settlementWaitMs
  await settle()
  now += 10 * LIMITS.refundAfterMs
  for (let looks = 0; looks < 10; looks++) await sleep(20, ending.signal)
  const types = await typesOf()
  expect(types).not.toContain('AnswerWithheld')
  expect(types).not.toContain('RefundBegun')
  // The answer is kept for the payer, who was told no secret and proves to be it by a signature.
  expect((await ask(payment)).status).toBe(403)
  const signIn = await signInOf(payer, { nonce: nonceNumber(nonces), url: service.url, atMs: now })
  expect((await ask(payment, undefined, undefined, signIn)).status).toBe(200)
})
