import { z } from 'zod'
import type { ErrorCode } from '../../../contracts/errors.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import { serviceBlockSchema } from '../../../contracts/service-block.ts'
import { TOOLS, type ToolName } from '../../../contracts/tools/tool-catalogue.ts'
import { PAID_PRODUCTS, type PaidTier } from '../../tool-calls/index.ts'
import type { Operation } from '../openapi/operation.ts'

/** The refusals of a request that pays; the first two come with an offer. */
const PAID_ERRORS = [
  'payment_required',
  'payment_refused',
  'payment_malformed',
  'payment_mismatch',
  'payment_unproven',
  'payment_pending',
  'payments_unavailable',
  'invalid_content_type',
  'key_unknown',
  'key_unverifiable',
  'store_unavailable',
] as const satisfies readonly ErrorCode[]

/** The refusals of tools, which charge nothing. */
const TOOL_ERRORS = [
  'insufficient_history',
  'unknown_exchange',
  'unknown_coin',
  'unknown_timeframe',
  'stale_market_data',
  'series_loading',
  'engine_unavailable',
  'venue_unavailable',
] as const satisfies readonly ErrorCode[]

const PAYMENT_HEADERS = {
  'X-PAYMENT': 'The payment: base64 of JSON, version 1 or 2 of x402',
  'PAYMENT-SIGNATURE': 'The same, as version 2 names it; both only with the same payment',
  'Payment-Secret': '`_service.payment.secret` of the first answer, to have it again',
  'SIGN-IN-WITH-X': 'A fresh signature of the payer, to have an answer again that was lost',
}

/** Names of a product in the ids and summaries of its operations. */
const NAMES: Readonly<Record<ToolName | PaidTier, readonly [payId: string, offerId: string, words: string]>> =
  {
    get_trade_call: ['payTradeCall', 'offerTradeCall', 'a trade call'],
    get_market_regime: ['payMarketRegime', 'offerMarketRegime', 'a market regime'],
    scan_trade_calls: ['payTradeScan', 'offerTradeScan', 'a scan of trade calls'],
    scan_funding_arb: ['payFundingScan', 'offerFundingScan', 'a scan of funding'],
    starter: ['buyStarter', 'offerStarter', 'the starter plan'],
    pro: ['buyPro', 'offerPro', 'the pro plan'],
  }

/** The operations at the path of a product: the paid `POST`, and `GET` for its offer. */
export interface PaidOperations {
  readonly pay: Operation
  readonly offer: Operation
}

export const toolOperations = (name: ToolName): PaidOperations => ({
  pay: paidTool(name),
  offer: offerOf(name),
})

export const planOperations = (tier: PaidTier): PaidOperations => ({
  pay: boughtPlan(tier),
  offer: offerOf(tier),
})

const paidTool = (name: ToolName): Operation => ({
  tag: 'payments',
  key: 'optional',
  id: NAMES[name][0],
  summary: `${TOOLS[name].title}, paid for by itself`,
  description: `${TOOLS[name].description} Without a payment, and without a key that has calls left, the answer is an offer: status 402, for version 1 of x402 in the body, for version 2 in the header PAYMENT-REQUIRED. The same authorization with the same request has the same answer again, for its payer.`,
  errors: [...PAID_ERRORS, ...TOOL_ERRORS],
  headers: PAYMENT_HEADERS,
  body: TOOLS[name].request,
  bodyExample: PAID_PRODUCTS[name].example.request,
  answers: {
    200: {
      description: TOOLS[name].title,
      content: {
        'application/json': z.intersection(TOOLS[name].response, z.object({ _service: serviceBlockSchema })),
      },
    },
  },
})

/** The operation of `GET`, and of `HEAD` without the body: indexers look for offers that way. */
const offerOf = (product: keyof typeof NAMES): Operation => ({
  tag: 'payments',
  key: 'none',
  id: NAMES[product][1],
  summary: `What ${NAMES[product][2]} costs: the offer that POST makes without a payment`,
  description: 'The answer is always 402. HEAD has the same headers and no body.',
  errors: ['payment_required', 'payments_unavailable'],
  answers: {
    402: {
      description: '`payment_required`: the offer',
      content: { 'application/json': offerSchema },
    },
  },
})

const offerSchema = z.object({
  x402Version: z.int(),
  accepts: z.array(z.record(z.string(), z.json())).describe('Empty where nothing can be paid for'),
  error: z.string(),
  code: z.string(),
  message: z.string(),
  next_step: z.string(),
  request_id: z.string(),
})

const boughtPlanSchema = z.object({
  plan: z.enum(['starter', 'pro']),
  days: z.int().positive(),
  account_id: z.uuid(),
  from: z.iso.datetime(),
  to: z.iso.datetime(),
  _service: serviceBlockSchema,
})

const boughtPlan = (tier: PaidTier): Operation => ({
  tag: 'payments',
  key: 'required',
  id: NAMES[tier][0],
  summary: `The ${tier} plan for 30 days, for the account of the key`,
  description:
    'The same handshake as for a tool. The plan begins once the payment is settled; until then the answer is `payment_pending`, and the same request asks again.',
  errors: [...PAID_ERRORS, 'unauthorized', 'account_unknown', 'plan_conflict', 'plan_ended'],
  headers: PAYMENT_HEADERS,
  body: z.object({}).describe('Nothing to say; may be left out'),
  bodyExample: {} satisfies JsonObject,
  answers: {
    200: { description: 'The plan that was bought', content: { 'application/json': boughtPlanSchema } },
  },
})
