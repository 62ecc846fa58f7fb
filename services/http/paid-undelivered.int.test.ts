import { randomBytes } from 'node:crypto'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { PaymentAnswer } from '../../contracts/answers/payment.ts'
import { DAY_MS } from '../../contracts/domain/timeframes.ts'
import { decodeEvent, EVENT_CATALOGUE, type EventType } from '../../contracts/events/event-catalogue.ts'
import { type EventDefinition, newEvent } from '../../contracts/events/event-definition.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { appendNext } from '../../testing/append-next.ts'
import {
  anAuthorization,
  encoded,
  NOW_S,
  nonceNumber,
  payerNumber,
  paymentV1,
  signAuthorization,
} from '../payments/testing/sign-payment.ts'
import { uuidV7 } from '../runtime/ids/uuid.ts'
import { PAY_TO, type PaidService, startPaidService } from './testing/paid-service.fixture.ts'

const payer = payerNumber(91)
const BODY = '{"coin":"BTC"}'
const TRANSACTION = `0x${'7a'.repeat(32)}`

let service: PaidService
let now: number

beforeEach(async () => {
  now = NOW_S * 1_000
  // Nobody is trusted: every answer waits for its money, which comes when the test says so.
  service = await startPaidService({ now: () => now, caps: { payer: 0n, total: 0n } })
})
afterEach(() => service.stop())

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
const ask = (payment: string, signal?: AbortSignal, secret?: string): Promise<Response> =>
  fetch(`${service.url}/x402/get_trade_call`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-payment': payment,
      ...(secret !== undefined && { 'payment-secret': secret }),
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
    ['SettlementConfirmed', { transaction: TRANSACTION, ...block, by: 'facilitator' }],
    ['SettlementFinalised', { transaction: TRANSACTION, blockNumber: 7 }],
  ] as const
  for (const [type, data] of facts) {
    const definition: EventDefinition = EVENT_CATALOGUE[type]
    const meta = { correlationId: 'test', actor: 'settler' }
    const event = newEvent(definition, { id: newId(), data: { paymentId, ...data }, meta })
    await appendNext(service.store, stream, [event])
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

test('an answer that was not delivered in time stays open to its payer for good, and costs nothing more', async () => {
  const payment = await aPayment()
  const { code, details } = await askInVain(payment)
  expect(code).toBe('payment_pending')
  await settle()
  now += 365 * DAY_MS
  expect((await ask(payment)).status).toBe(403)
  const secret = details.payment_secret
  const answers = await Promise.all([ask(payment, undefined, secret), ask(payment, undefined, secret)])
  expect(answers.map(({ status }) => status)).toEqual([200, 200])
  const status = await statusOf(details.status_url)
  expect(status).toMatchObject({ state: 'final', refunded_usdc: '0.00' })
  expect((await typesOf()).filter((type) => type === 'PaymentClaimed')).toHaveLength(1)
})
