import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { registerBatchScheme } from '@circle-fin/x402-batching/client'
import { ExactEvmScheme } from '@x402/evm'
import { wrapFetchWithPaymentFromConfig, wrapFetchWithPayment as wrapV2, x402Client } from '@x402/fetch'
import type { Hex } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { wrapFetchWithPayment as wrapV1 } from 'x402-fetch'
import type { PaymentAnswer } from '../../contracts/answers/payment.ts'
import { BASE } from '../../contracts/domain/chain.ts'
import { decodeEvent } from '../../contracts/events/event-catalogue.ts'
import { START } from '../../contracts/infra/position.ts'
import { PRICES, type Product } from '../../contracts/tools/prices.ts'
import { createChain } from '../payments/chain/create-chain.ts'
import { evolvePayment, type Payment } from '../payments/payment.ts'
import { type PaymentsRow, payments as paymentsProjection } from '../payments/payments-projection.ts'
import { createFacilitator } from '../payments/settlement/facilitator.ts'
import { createSettler } from '../payments/settlement/settler.ts'
import {
  type ServedFacilitator,
  serveReferenceFacilitator,
} from '../payments/testing/chain/reference-facilitator.ts'
import { missingChain, startTestChain, type TestChain } from '../payments/testing/chain/test-chain.ts'
import { sleep } from '../runtime/async/sleep.ts'
import { uuidV7 } from '../runtime/ids/uuid.ts'
import { ADA, PAY_TO, type PaidService, startPaidService } from './testing/paid-service.fixture.ts'

const REQUESTS: Readonly<Record<Product, object>> = {
  get_trade_call: { coin: 'BTC', timeframe: '1h' },
  get_market_regime: { coin: 'BTC' },
  scan_trade_calls: { top_n: 5 },
  scan_funding_arb: {},
  'plans/starter': {},
  'plans/pro': {},
}
const PRODUCTS = Object.keys(REQUESTS) as Product[]
/** The first balance of a payer, millionths of a USDC. */
const FUNDS = 100_000_000n
const QUICK = {
  retryMs: 20,
  retryMaxMs: 80,
  restMs: 0,
  gatherMs: 5,
  pollMs: 10,
  receiptMs: 2_000,
  finalityMs: 30,
}
const run = promisify(execFile)

/** A gateway that credits whatever it is asked to settle, once per nonce. */
interface Gateway {
  readonly server: Server
  readonly settled: { readonly nonce: string; readonly signature: string }[]
}

interface SettleRequest {
  readonly paymentPayload: {
    readonly payload: {
      readonly signature: string
      readonly authorization: { readonly nonce: string; readonly from: string }
    }
  }
}

async function startGateway(): Promise<Gateway> {
  const settled: Gateway['settled'] = []
  const server = createServer((request, response) => {
    const answer = (body: object): void => void response.end(JSON.stringify(body))
    if (request.url?.endsWith('/supported') === true)
      return answer({ kinds: [], extensions: [], signers: {} })
    const settle = async (): Promise<void> => {
      const { paymentPayload } = JSON.parse(await text(request)) as SettleRequest
      const { signature, authorization } = paymentPayload.payload
      settled.push({ nonce: authorization.nonce, signature })
      const transaction = `transfer-${settled.length}`
      answer({ success: true, transaction, network: BASE.network, payer: authorization.from })
    }
    settle().catch((error: unknown) => response.destroy(error as Error))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { server, settled }
}

describe.skipIf(missingChain !== undefined)(`paid calls on a chain (${missingChain ?? 'anvil'})`, () => {
  let chain: TestChain
  let gateway: Gateway
  let facilitator: ServedFacilitator
  let service: PaidService
  let settling: Promise<void>
  const ending = new AbortController()

  beforeAll(async () => {
    ;[chain, gateway] = await Promise.all([startTestChain(), startGateway()])
    facilitator = await serveReferenceFacilitator(chain.rpcUrl, await chain.gasWallet())
    const view = createChain({ on: BASE, rpcUrl: chain.rpcUrl, elapsed: () => performance.now() })
    // Plans are dear: a payer is known for more than one answer here.
    service = await startPaidService({ chain: view, caps: { payer: 1_000_000n, total: 500_000_000n } })
    const gatewayPort = (gateway.server.address() as AddressInfo).port
    const settler = createSettler({
      on: BASE,
      store: service.store,
      reader: service.projector.reader<PaymentsRow>(paymentsProjection),
      chain: view,
      facilitator: createFacilitator({ on: BASE, url: facilitator.url, publicUrl: () => service.url }),
      gateway: createFacilitator({
        on: BASE,
        url: `http://127.0.0.1:${gatewayPort}`,
        publicUrl: () => service.url,
      }),
      onPaid: ({ paymentId, product }) => service.startPlan(paymentId, product),
      newId: () => uuidV7(Date.now(), randomBytes(10)),
      now: Date.now,
      sleep,
      report: () => undefined,
      timing: QUICK,
    })
    settling = settler.run(ending.signal)
  }, 60_000)
  afterAll(async () => {
    ending.abort()
    await settling
    await service.stop()
    gateway.server.close()
    facilitator.close()
    await chain.stop()
  })

  const request = (product: Product) => ({
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: 'Bearer key' },
    body: JSON.stringify(REQUESTS[product]),
  })
  /** A tool is asked without a key: one with calls left would pay instead. */
  const asked = (product: Product) => {
    const { headers, ...rest } = request(product)
    const { Authorization, ...open } = headers
    return { ...rest, headers: product.startsWith('plans/') ? { ...open, Authorization } : open }
  }
  const urlOf = (product: Product): string => `${service.url}/x402/${product}`

  /** Every payment of the log. */
  async function logged(): Promise<Payment[]> {
    const byStream = new Map<string, Payment>()
    for await (const recorded of service.store.readAll({ filter: { streamPrefixes: ['payment-'] } })) {
      const payment = evolvePayment(byStream.get(recorded.stream), decodeEvent(recorded))
      if (payment !== undefined) byStream.set(recorded.stream, payment)
    }
    return [...byStream.values()]
  }

  /** Resolves when every payment of a payer has its money, by what the log says. */
  async function settled(payer: string): Promise<Payment[]> {
    const isPaid = ({ state }: Payment): boolean => state === 'confirmed' || state === 'final'
    const own = async () => (await logged()).filter((payment) => payment.payer === payer.toLowerCase())
    const found = new AbortController()
    const filter = { streamPrefixes: ['payment-'] }
    for await (const item of service.store.subscribe({ after: START, filter, signal: found.signal })) {
      if (item.kind === 'checkpoint') continue
      const payments = await own()
      if (payments.length > 0 && payments.every(isPaid)) return payments
    }
    return expect.fail('the subscription ended')
  }

  type Bought = { readonly answer: Record<string, unknown>; readonly payment: PaymentAnswer }
  async function bought(response: Response): Promise<Bought> {
    const answer = (await response.json()) as Record<string, unknown>
    expect([response.status, answer.code]).toEqual([200, undefined])
    const { _service: said } = answer
    const { payment } = said as { payment: { status_url: string } }
    return { answer, payment: (await (await fetch(payment.status_url)).json()) as PaymentAnswer }
  }

  test.each([
    { version: 1, client: 'x402-fetch' },
    { version: 2, client: '@x402/fetch' },
  ])(
    'version $version: $client buys every tool and both plans, and the chain says what the log says',
    async ({ version }) => {
      const payer = await chain.payer(FUNDS)
      const before = await chain.balanceOf(PAY_TO)
      const buy =
        version === 1
          ? wrapV1(fetch, payer, 50_000_000n)
          : wrapFetchWithPaymentFromConfig(fetch, {
              schemes: [{ network: BASE.network, client: new ExactEvmScheme(payer) }],
              spendControls: { maxAmountPerPayment: '$50' },
            })
      for (const product of PRODUCTS) {
        const response = await buy(urlOf(product), asked(product))
        const { answer, payment } = await bought(response)
        expect(payment).toMatchObject({ product, payer: payer.address.toLowerCase(), rail: 'direct' })
        if (!product.startsWith('plans/')) {
          expect(answer).toMatchObject({ tool: product, request: REQUESTS[product] })
          expect(payment.is_served_first).toBe(true)
          continue
        }
        expect(answer).toMatchObject({ plan: product.slice(6), days: 30, account_id: ADA })
        expect([payment.is_served_first, ['confirmed', 'final']]).toEqual([
          false,
          expect.arrayContaining([payment.state]),
        ])
        const receipt = response.headers.get(version === 1 ? 'x-payment-response' : 'payment-response')
        const told = JSON.parse(Buffer.from(receipt ?? '', 'base64').toString()) as Record<string, unknown>
        expect(told).toMatchObject({ success: true, transaction: payment.transaction })
        expect(service.plans.get(payment.id)).toMatchObject({ tier: product.slice(6) })
      }
      const payments = await settled(payer.address)
      const sum = PRODUCTS.reduce((total, product) => total + PRICES[product], 0n)
      expect(payments.map(({ value }) => BigInt(value)).reduce((one, two) => one + two)).toBe(sum)
      expect(await chain.balanceOf(payer.address)).toBe(FUNDS - sum)
      expect((await chain.balanceOf(PAY_TO)) - before).toBe(sum)
    },
  )

  test('the high-frequency price is quoted, signed and moved', async () => {
    const payer = await chain.payer(FUNDS)
    const buy = wrapV1(fetch, payer)
    const body = JSON.stringify({ coin: 'BTC', timeframe: '1m' })
    await bought(await buy(urlOf('get_trade_call'), { ...asked('get_trade_call'), body }))
    await settled(payer.address)
    expect(await chain.balanceOf(payer.address)).toBe(FUNDS - 50_000n)
  })

  test('Circle’s client pays the second rail: settled first, and nothing moves on the chain', async () => {
    const payer = privateKeyToAccount(generatePrivateKey())
    // The payer prefers its balance at the gateway.
    const client = new x402Client((_, accepts) => {
      const offer = accepts.find(
        ({ extra }) => (extra as { verifyingContract?: string }).verifyingContract === BASE.gateway,
      )
      return offer ?? expect.fail('the gateway is not offered')
    }).setSpendControls(false)
    registerBatchScheme(client, { signer: payer, networks: [BASE.network] })
    const { payment } = await bought(
      await wrapV2(fetch, client)(urlOf('get_trade_call'), asked('get_trade_call')),
    )
    expect(payment).toMatchObject({
      rail: 'gateway',
      is_served_first: false,
      transaction: expect.stringContaining('transfer-'),
    })
    expect(gateway.settled).toHaveLength(1)
  })

  test('who has no money is told so by the chain, and nothing is computed', async () => {
    const payer = await chain.payer(19_999n)
    const before = service.computed.length
    const response = await wrapV1(fetch, payer)(urlOf('get_trade_call'), asked('get_trade_call'))
    expect([response.status, ((await response.json()) as { error: string }).error]).toEqual([
      402,
      'insufficient_funds',
    ])
    expect(service.computed).toHaveLength(before)
    expect(await chain.balanceOf(payer.address)).toBe(19_999n)
  })

  describe('docs/examples/pay.ts', () => {
    const folder = mkdtempSync(join(tmpdir(), 'pay-'))
    afterAll(() => rmSync(folder, { recursive: true }))
    const file = join(import.meta.dirname, '../../docs/examples/pay.ts')
    const pay = async (key: Hex, ...args: string[]): Promise<string> => {
      const environment = { PATH: process.env.PATH, PAYER_KEY: key, SIGNAL_URL: service.url }
      return (await run(process.execPath, [file, ...args], { env: environment })).stdout
    }
    const fundedKey = async (): Promise<Hex> => {
      const key = generatePrivateKey()
      await chain.mint(privateKeyToAccount(key).address, FUNDS)
      return key
    }

    test('pays for an answer', async () => {
      const key = await fundedKey()
      const answer = JSON.parse(await pay(key, 'get_trade_call', '{"coin":"ETH"}')) as object
      expect(answer).toMatchObject({
        request: { coin: 'ETH' },
        _service: { payment: { amount_usdc: '0.02' } },
      })
      await settled(privateKeyToAccount(key).address)
    })

    test('signs for curl, as the documentation shows', async () => {
      const key = await fundedKey()
      const body = '{"coin":"BTC"}'
      const post = ['-sS', urlOf('get_trade_call'), '-H', 'Content-Type: application/json', '-d', body]
      const offer = join(folder, 'offer.txt')
      await run('curl', [...post, '-D', offer, '-o', join(folder, 'offer.json')])
      const payment = (await pay(key, 'sign', offer)).trim()
      const paying = [...post, '-H', `PAYMENT-SIGNATURE: ${payment}`]
      const { stdout } = await run('curl', paying)
      expect(JSON.parse(stdout)).toMatchObject({ request: { coin: 'BTC' } })
      await settled(privateKeyToAccount(key).address)
      const { stdout: refused } = await run('curl', paying)
      expect(JSON.parse(refused)).toMatchObject({ code: 'payment_unproven' })
      const [, secret] = /"secret":"([^"]+)"/.exec(stdout) ?? []
      const { stdout: again } = await run('curl', [...paying, '-H', `Payment-Secret: ${secret}`])
      const [one, two] = [stdout, again].map((told) => (JSON.parse(told) as { serial: number }).serial)
      expect(two).toBe(one)
    })
  })
})
