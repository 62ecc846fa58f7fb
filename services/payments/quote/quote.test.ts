import { BatchEvmScheme, CompositeEvmScheme } from '@circle-fin/x402-batching/client'
import { decodePaymentRequiredHeader, decodePaymentResponseHeader } from '@x402/core/http'
import { PaymentRequiredV2Schema, PaymentRequirementsV1Schema } from '@x402/core/schemas'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { wrapFetchWithPayment as wrapV2, x402Client } from '@x402/fetch'
import { describe, expect, test } from 'vitest'
import { PaymentRequirementsSchema } from 'x402/types'
import { decodeXPaymentResponse, wrapFetchWithPayment as wrapV1 } from 'x402-fetch'
import { BASE } from '../../../contracts/domain/chain.ts'
import type { JsonObject } from '../../../contracts/infra/json.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { TOOLS } from '../../../contracts/tools/tool-catalogue.ts'
import type { Offered, VerifiedPayment } from '../payments.ts'
import { readPayment } from '../reading/read-payment.ts'
import { receiptOf } from '../receipt.ts'
import { PAY_TO, payerNumber } from '../testing/sign-payment.ts'
import { openRecovery } from '../verification/recover-signer.ts'
import { verifyPayment } from '../verification/verify-payment.ts'
import { makeQuote, NOT_CONFIGURED } from './quote.ts'

const offered: Offered = {
  product: 'get_trade_call',
  price: 20_000n,
  url: 'https://signals.example/x402/get_trade_call',
  description: TOOLS.get_trade_call.description,
  example: { request: { coin: 'BTC', timeframe: '1h' }, answer: { call: 'BUY', confidence: 56 } },
}
const terms = { on: BASE, payTo: PAY_TO, offersGateway: true }
const quote = makeQuote(terms, offered, 'payment_required')
const payer = payerNumber(11)
const recovery = await openRecovery({ report: () => expect.unreachable('the fast way is right here') })

describe('a quote', () => {
  test('in version 1 is what its clients parse, strictly, and offers the chain alone', () => {
    const { x402Version, error, accepts } = quote.body as { accepts: JsonObject[]; [name: string]: unknown }
    expect({ x402Version, error }).toEqual({ x402Version: 1, error: 'payment_required' })
    expect(accepts).toHaveLength(1)
    expect(PaymentRequirementsSchema.parse(accepts[0])).toEqual(accepts[0])
    expect(PaymentRequirementsV1Schema.parse(accepts[0])).toMatchObject({ network: 'base' })
    expect(accepts[0]).toEqual({
      scheme: 'exact',
      network: 'base',
      maxAmountRequired: '20000',
      resource: offered.url,
      description: offered.description,
      mimeType: 'application/json',
      payTo: PAY_TO,
      maxTimeoutSeconds: 300,
      asset: BASE.usdc,
      extra: { name: 'USD Coin', version: '2' },
    })
  })

  test('in version 2 is what its clients parse, and offers the chain first', () => {
    const required = decodePaymentRequiredHeader(quote.header)
    expect(PaymentRequiredV2Schema.parse(required)).toEqual(required)
    const common = { scheme: 'exact', network: 'eip155:8453', amount: '20000', asset: BASE.usdc }
    expect(required.accepts).toEqual([
      {
        ...common,
        payTo: PAY_TO,
        maxTimeoutSeconds: 300,
        extra: { name: 'USD Coin', version: '2' },
      },
      {
        ...common,
        payTo: PAY_TO,
        maxTimeoutSeconds: 604_900,
        extra: { name: 'GatewayWalletBatched', version: '1', verifyingContract: BASE.gateway },
      },
    ])
    expect(required.resource).toMatchObject({
      url: offered.url,
      description: offered.description,
      mimeType: 'application/json',
    })
    expect(required.extensions).toMatchObject({
      bazaar: {
        info: {
          input: { type: 'http', method: 'POST', bodyType: 'json', body: offered.example.request },
          output: { type: 'json', example: offered.example.answer },
        },
        schema: { $schema: 'https://json-schema.org/draft/2020-12/schema' },
      },
    })
  })

  test('may leave out the gateway', () => {
    const { header } = makeQuote({ ...terms, offersGateway: false }, offered, 'payment_required')
    expect(decodePaymentRequiredHeader(header).accepts).toHaveLength(1)
  })

  test('without a recipient offers nothing, in both versions, and says why', () => {
    const { body, header } = makeQuote(
      { ...terms, payTo: undefined, offersGateway: true },
      offered,
      'payment_required',
    )
    expect(body).toEqual({ x402Version: 1, error: NOT_CONFIGURED, accepts: [] })
    const required = JSON.parse(Buffer.from(header, 'base64').toString()) as JsonObject
    expect(required).toMatchObject({ x402Version: 2, error: NOT_CONFIGURED, accepts: [] })
  })
})

/** Answers as a server would: with the quote, and then with what the payment is worth. */
function sellingFetch(price = 20_000n) {
  const sold: { verified: VerifiedPayment; bytes: number }[] = []
  const selling: typeof fetch = async (input, init) => {
    const rawHeaders = [...new Request(input, init).headers].flat()
    const presented = readPayment(rawHeaders, BASE)
    if (presented === undefined) {
      // Beside what x402 says stands what the service says to everybody.
      const body = {
        ...quote.body,
        code: 'payment_required',
        message: 'pay',
        next_step: 'sign',
        request_id: 'r',
      }
      return Response.json(body, { status: 402, headers: { 'PAYMENT-REQUIRED': quote.header } })
    }
    const verified = await verifyPayment(presented, price, { payTo: PAY_TO, recovery })
    sold.push({ verified, bytes: Math.max(...rawHeaders.map((text) => text.length)) })
    return Response.json({ call: 'BUY' })
  }
  return { selling, sold }
}

const clientV2 = () => new x402Client().register('eip155:8453', new ExactEvmScheme(payer))

describe('clients as they are', () => {
  test('x402-fetch pays in version 1', async () => {
    const { selling, sold } = sellingFetch()
    const answer = await wrapV1(selling, payer)(offered.url, { method: 'POST' })
    expect(await answer.json()).toEqual({ call: 'BUY' })
    expect(sold[0]?.verified).toMatchObject({
      protocol: 1,
      rail: 'direct',
      payer: payer.address.toLowerCase(),
    })
  })

  test('@x402/fetch pays in version 2, on the chain', async () => {
    const { selling, sold } = sellingFetch()
    const answer = await wrapV2(selling, clientV2())(offered.url, { method: 'POST' })
    expect(await answer.json()).toEqual({ call: 'BUY' })
    expect(sold[0]?.verified).toMatchObject({
      protocol: 2,
      rail: 'direct',
      payer: payer.address.toLowerCase(),
    })
  })

  test("Circle's client pays through the gateway", async () => {
    const { selling, sold } = sellingFetch()
    const scheme = new CompositeEvmScheme(new BatchEvmScheme(payer), new ExactEvmScheme(payer))
    const isGateway = (offer: { extra: Record<string, unknown> }) =>
      offer.extra.name === 'GatewayWalletBatched'
    const client = new x402Client((_, offers) => offers.find(isGateway) ?? expect.unreachable('not offered'))
    client.register('eip155:8453', scheme as never).setSpendControls(false)
    const answer = await wrapV2(selling, client)(offered.url, { method: 'POST' })
    expect(await answer.json()).toEqual({ call: 'BUY' })
    expect(sold[0]?.verified).toMatchObject({ protocol: 2, rail: 'gateway', value: 20_000n })
  })

  test('send a header that leaves room for all others in what Node reads', async () => {
    const { selling, sold } = sellingFetch()
    await wrapV2(selling, clientV2())(offered.url, { method: 'POST' })
    expect(sold[0]?.bytes).toBeLessThan(LIMITS.paymentHeaderBytes / 4)
  })

  test('whose payment is for less are told, and pay nothing', async () => {
    const { selling, sold } = sellingFetch(50_000n)
    await expect(wrapV1(selling, payer)(offered.url)).rejects.toMatchObject({ code: 'payment_refused' })
    expect(sold).toEqual([])
  })
})

describe('a receipt', () => {
  const transaction = `0x${'7a'.repeat(32)}`
  const payment = { transaction, payer: payer.address.toLowerCase(), value: '20000' }
  const receipt = (state: string, protocol: 1 | 2) =>
    receiptOf({ ...payment, state } as Parameters<typeof receiptOf>[0], { on: BASE, protocol })

  test('is read by clients of version 1', () => {
    const { name, value } = receipt('confirmed', 1) ?? expect.unreachable('confirmed is settled')
    expect(name).toBe('X-PAYMENT-RESPONSE')
    expect(decodeXPaymentResponse(value)).toEqual({
      success: true,
      transaction,
      network: 'base',
      payer: payment.payer,
    })
  })

  test('is read by clients of version 2', () => {
    const { name, value } = receipt('final', 2) ?? expect.unreachable('final is settled')
    expect(name).toBe('PAYMENT-RESPONSE')
    expect(decodePaymentResponseHeader(value)).toEqual({
      success: true,
      transaction,
      network: 'eip155:8453',
      payer: payment.payer,
      amount: '20000',
    })
  })

  test.each(['owed', 'settling', 'broadcast', 'unknown', 'uncollectable'])('is not given for %s', (state) => {
    expect(receipt(state, 1)).toBeUndefined()
    expect(receipt(state, 2)).toBeUndefined()
  })
})
