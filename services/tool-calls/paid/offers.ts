import type { PaymentBlock, ServiceBlock } from '../../../contracts/answers/service-block.ts'
import { formatUsdc } from '../../../contracts/domain/chain.ts'
import { PLAN_DAYS, PLAN_LIMITS } from '../../../contracts/domain/plans.ts'
import { grouped } from '../../../contracts/domain/statistics.ts'
import type { JsonObject } from '../../../contracts/infra/json.ts'
import type { Product } from '../../../contracts/tools/prices.ts'
import { TOOLS, type ToolName } from '../../../contracts/tools/tool-catalogue.ts'
import type { Payment, Payments } from '../../payments/index.ts'

/** The description of a product in its offer. */
export interface ProductWords {
  readonly description: string
  /** Short: clients send offers back inside a header. */
  readonly example: { readonly request: JsonObject; readonly answer: JsonObject }
}

const toolWords = (name: ToolName, request: JsonObject, answer: JsonObject): ProductWords => ({
  description: TOOLS[name].description,
  example: { request, answer },
})

const planWords = (tier: 'starter' | 'pro'): ProductWords => ({
  description: `${grouped(PLAN_LIMITS[tier].callsPerWindow)} tool calls in ${PLAN_DAYS} days for the account of the API key that is sent as \`Authorization: Bearer …\`.`,
  example: {
    request: {},
    answer: { plan: tier, days: PLAN_DAYS, account_id: '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55' },
  },
})

/** Everything that can be paid for, in the order in which it is listed. */
export const PAID_PRODUCTS: Readonly<Record<Product, ProductWords>> = {
  get_trade_call: toolWords(
    'get_trade_call',
    { coin: 'BTC', timeframe: '1h' },
    { call: 'BUY', confidence: 56, strength: 71, regime: 'TRENDING_UP', coin: 'BTC', timeframe: '1h' },
  ),
  get_market_regime: toolWords(
    'get_market_regime',
    { coin: 'BTC', timeframe: '4h' },
    { call: 'HOLD', confidence: 51, regime: 'RANGING', coin: 'BTC', timeframe: '4h' },
  ),
  scan_trade_calls: toolWords(
    'scan_trade_calls',
    { timeframe: '1h', top_n: 20 },
    { timeframe: '1h', scanned: 20, holds: 14, calls: [{ coin: 'ETH', call: 'SELL', confidence: 54 }] },
  ),
  scan_funding_arb: toolWords(
    'scan_funding_arb',
    { min_net_bps: 5, limit: 10 },
    { opportunities: [{ coin: 'SOL', net_expected_bps: 12.4 }] },
  ),
  'plans/starter': planWords('starter'),
  'plans/pro': planWords('pro'),
}

/** Path of the route on which something is paid for. @example paidPath('plans/pro') === '/x402/plans/pro' */
export const paidPath = (product: Product): string => `/x402/${product}`

/** An offer as it is sent. */
export interface OfferText {
  /** Members of the JSON body for version 1 of x402, between the braces: `"x402Version":1,…`. */
  readonly members: string
  /** Value of the header `PAYMENT-REQUIRED`, for version 2. */
  readonly header: string
}

export interface PaidOffersOptions {
  readonly payments: Pick<Payments, 'quote'>
  /** The address under which callers reach the service. */
  readonly publicUrl: () => string
  /** The note that calls are withdrawn for now, which a payer must see before paying; empty if none are. */
  readonly withdrawn?: () => string
}

/** Makes offers. @param error the field `error` for the caller, in words of x402 or of the registry */
export type PaidOffers = (product: Product, price: bigint, error: string) => OfferText

const MAKE_CALLS: ReadonlySet<Product> = new Set(['get_trade_call', 'scan_trade_calls'] as const)

export const createPaidOffers =
  ({ payments, publicUrl, withdrawn = () => '' }: PaidOffersOptions): PaidOffers =>
  (product, price, error) => {
    const note = withdrawn()
    const words = PAID_PRODUCTS[product]
    const description =
      note !== '' && MAKE_CALLS.has(product) ? `${words.description} ${note}` : words.description
    const url = `${publicUrl()}${paidPath(product)}`
    const { body, header } = payments.quote({ product, price, url, ...words, description }, error)
    return { members: JSON.stringify(body).slice(1, -1), header }
  }

/** The address that shows the state of a payment. */
export const statusUrl = (publicUrl: string, paymentId: string): string =>
  `${publicUrl}/x402/payments/${paymentId}`

interface PaidOnce {
  readonly payment: Payment
  readonly secret: string
}

/** A payment as its answer tells it. */
export const paymentBlock = (
  { payment: { paymentId, state, value, transaction }, secret }: PaidOnce,
  publicUrl: string,
): PaymentBlock => ({
  id: paymentId,
  state,
  amount_usdc: formatUsdc(BigInt(value)),
  transaction,
  status_url: statusUrl(publicUrl, paymentId),
  secret,
})

/** The metadata of an answer that was paid for by itself: no calls of a key were used. */
export const paidServiceBlock = (
  { version, market, publicUrl }: Pick<ServiceBlock, 'version' | 'market'> & { publicUrl: () => string },
  { tool, requestId, auth, notice }: Pick<ServiceBlock, 'tool' | 'auth' | 'notice'> & { requestId: string },
  paid: PaidOnce,
): ServiceBlock => ({
  version,
  tool,
  request_id: requestId,
  market,
  auth,
  quota: null,
  payment: paymentBlock(paid, publicUrl()),
  notice,
})
