import { randomBytes } from 'node:crypto'
import { Agent, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { START } from '../../contracts/infra/position.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { anAuthorization, payerNumber, paymentV1 } from '../payments/testing/sign-payment.ts'
import { PAY_TO, type PaidService, startPaidService } from './testing/paid-service.fixture.ts'

/** Each costs the service the recovery of a signer. */
const FORGED = 10_000
const CONNECTIONS = 16
const HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n
const PLACE = 'SS'.repeat(65)

let service: PaidService
const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
beforeAll(async () => {
  service = await startPaidService()
})
afterAll(async () => {
  agent.destroy()
  await service.stop()
})

/** An authorization that is right but for its signature, which has the form of one. */
const template = JSON.stringify(
  paymentV1(
    anAuthorization(payerNumber(7), {
      payTo: PAY_TO,
      validBefore: BigInt(Math.floor(Date.now() / 1_000) + 300),
    }),
    `0x${PLACE}`,
  ),
)

function forged(): string {
  const s = BigInt(`0x${randomBytes(32).toString('hex')}`) % HALF_ORDER
  const signature = `${randomBytes(32).toString('hex')}${s.toString(16).padStart(64, '0')}1b`
  return Buffer.from(template.replace(PLACE, signature)).toString('base64')
}

/** The status of the answer. @param localAddress the address of the caller, 127.0.0.1 without it */
function send(payment: string, localAddress?: string): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const headers = { 'content-type': 'application/json', 'x-payment': payment }
  const from = localAddress === undefined ? { agent } : { localAddress }
  const options = { method: 'POST', port: service.port, path: '/x402/get_trade_call', headers, ...from }
  const sending = request(options, (response) => {
    text(response).then(() => resolve(response.statusCode ?? 0), reject)
  })
  sending.on('error', reject)
  sending.end('{"coin":"BTC"}')
  return promise
}

test(`${FORGED} forged signatures are refused, and nothing is computed or claimed`, {
  timeout: 60_000,
}, async () => {
  const statuses = new Map<number, number>()
  let left = FORGED
  const forge = async (): Promise<void> => {
    while (left-- > 0) {
      const status = await send(forged())
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, forge))
  expect(new Set(statuses.keys())).toEqual(new Set([402, 429]))
  // Past so many the address is not looked at any more, but for what is under way at that moment.
  const looked = statuses.get(402) ?? 0
  expect(looked).toBeGreaterThanOrEqual(LIMITS.paymentsRefusedPerAddress)
  expect(looked).toBeLessThan(LIMITS.paymentsRefusedPerAddress + CONNECTIONS)
  expect(service.computed).toEqual([])
  expect(await service.store.head()).toBe(START)
  // Somebody else's forgeries are no reason to refuse the payment of another address.
  expect(await send(forged())).toBe(429)
  expect(await send(forged(), '127.0.0.9')).toBe(402)
})
