import { type CallToolResult, Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { PaymentPayload, PaymentRequired } from '@x402/core/types'
import { ExactEvmScheme } from '@x402/evm'
import { x402Client } from '@x402/fetch'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type PaidService, startPaidService } from './testing/paid-service.fixture.ts'

const NAME = 'get_trade_call'
const ARGUMENTS = { coin: 'BTC', timeframe: '1h' }
const MODES = { modern: { pin: '2026-07-28' }, legacy: 'legacy' } as const

let service: PaidService
let clients: Client[]
beforeAll(async () => {
  clients = []
  service = await startPaidService()
})
afterAll(async () => {
  await Promise.all(clients.map((client) => client.close()))
  await service.stop()
})

/** The official client of payments, with an account that nobody has seen. */
const newPayer = (): x402Client =>
  new x402Client().register('eip155:*', new ExactEvmScheme(privateKeyToAccount(generatePrivateKey())))

async function connect(mode: (typeof MODES)[keyof typeof MODES]): Promise<Client> {
  const client = new Client({ name: 'payer', version: '1.0.0' }, { versionNegotiation: { mode } })
  clients.push(client)
  await client.connect(new StreamableHTTPClientTransport(new URL(`${service.url}/mcp`)))
  return client
}

const call = async (
  client: Client,
  payment?: unknown,
  args: object = ARGUMENTS,
  name = NAME,
): Promise<CallToolResult> =>
  client.callTool({
    name,
    arguments: { ...args },
    ...(payment !== undefined && { _meta: { 'x402/payment': payment } }),
  })

const requiredIn = ({ structuredContent }: CallToolResult): PaymentRequired =>
  structuredContent as PaymentRequired

async function overHttp(payment: PaymentPayload, body: object = ARGUMENTS, name = NAME) {
  const response = await fetch(`${service.url}/x402/${name}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'payment-signature': Buffer.from(JSON.stringify(payment)).toString('base64'),
    },
    body: JSON.stringify(body),
  })
  return { status: response.status, answer: (await response.json()) as Record<string, unknown> }
}

describe.each(Object.entries(MODES))('official clients of MCP and of x402, %s era', (_, mode) => {
  test('are told the price, pay it, and have the same answer over HTTP', async () => {
    const client = await connect(mode)
    const offered = await call(client)
    expect(offered.isError).toBe(true)
    expect(offered.content).toEqual([{ type: 'text', text: JSON.stringify(requiredIn(offered)) }])
    expect(requiredIn(offered)).toMatchObject({ x402Version: 2, code: 'quota_exhausted' })
    const payment = await newPayer().createPaymentPayload(requiredIn(offered))
    const paid = await call(client, payment)
    expect(paid.isError).toBe(false)
    const { serial, _service: block } = paid.structuredContent as Record<string, unknown>
    expect(block).toMatchObject({ payment: { amount_usdc: '0.02', state: 'owed' }, quota: null })
    const { status, answer } = await overHttp(payment)
    expect([status, answer.serial]).toEqual([200, serial])
    expect((await call(client, payment)).structuredContent).toMatchObject({ serial })
  })

  test('have over MCP what was paid for over HTTP', async () => {
    const client = await connect(mode)
    const required = requiredIn(await call(client))
    const payment = await newPayer().createPaymentPayload(required)
    const { answer } = await overHttp(payment)
    expect((await call(client, payment)).structuredContent).toMatchObject({ serial: answer.serial })
  })

  test('pay the same, once, for a tool by the name that others give it', async () => {
    const alias = 'get_trade_signal'
    const client = await connect(mode)
    const required = requiredIn(await call(client, undefined, ARGUMENTS, alias))
    expect(required.accepts).toEqual(requiredIn(await call(client)).accepts)
    const payment = await newPayer().createPaymentPayload(required)
    const paid = await call(client, payment, ARGUMENTS, alias)
    const { serial, _service: block } = paid.structuredContent as Record<string, unknown>
    expect(block).toMatchObject({ tool: NAME, payment: { amount_usdc: '0.02' } })
    const before = await claims()
    expect((await overHttp(payment, ARGUMENTS, alias)).answer.serial).toBe(serial)
    expect((await call(client, payment)).structuredContent).toMatchObject({ serial })
    expect(await claims()).toBe(before)
  })

  test('cannot use what was used for another request, or on another network, or for less', async () => {
    const client = await connect(mode)
    const required = requiredIn(await call(client))
    const payment = await newPayer().createPaymentPayload(required)
    await overHttp(payment)
    const codeOf = async (given: unknown, args?: object) =>
      (await call(client, given, args)).structuredContent as { code?: string; error?: string }
    expect(await codeOf(payment, { coin: 'ETH' })).toMatchObject({ code: 'payment_mismatch' })
    const elsewhere = { ...payment, accepted: { ...payment.accepted, network: 'eip155:1' } }
    expect(await codeOf(elsewhere)).toMatchObject({ code: 'payment_refused', error: 'invalid_network' })
    const dearer = { coin: 'BTC', timeframe: '1m' }
    const another = await newPayer().createPaymentPayload(required)
    expect(await codeOf(another, dearer)).toMatchObject({
      code: 'payment_refused',
      error: 'invalid_exact_evm_payload_authorization_value_mismatch',
      accepts: [{ amount: '50000' }, { amount: '50000' }],
    })
    for (const broken of [7, 'x', [], null])
      expect(await codeOf(broken)).toMatchObject({ code: 'payment_malformed' })
  })
})

/** Payments that are in the log. */
async function claims(): Promise<number> {
  let count = 0
  for await (const _ of service.store.readAll({ filter: { types: ['PaymentClaimed'] } })) count += 1
  return count
}

test('a client that knows offers as results has them so', async () => {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'payer', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': { extensions: { 'org.x402/payment': {} } },
  }
  const params = { name: NAME, arguments: ARGUMENTS, _meta: meta }
  const response = await fetch(`${service.url}/mcp`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': NAME,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
  })
  expect(await response.json()).toMatchObject({
    result: {
      resultType: 'payment_required',
      paymentRequired: { x402Version: 2, accepts: [{ amount: '20000' }, {}] },
    },
  })
})
