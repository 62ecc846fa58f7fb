import type { JsonObject } from '../../contracts/json.ts'
import { PLAN_DAYS, PLAN_LIMITS } from '../../contracts/plans.ts'
import type { Product } from '../../contracts/prices.ts'
import { grouped } from '../../contracts/share-text.ts'
import { TOOLS, type ToolName } from '../../contracts/tools/tool-catalogue.ts'

/** The description of a product in its offer. */
export interface ProductWords {
  readonly description: string
  /** Short: clients send offers back inside a header. */
  readonly example: { readonly request: JsonObject; readonly answer: JsonObject }
}

const tool = (name: ToolName, request: JsonObject, answer: JsonObject): ProductWords => ({
  description: TOOLS[name].description,
  example: { request, answer },
})

const plan = (tier: 'starter' | 'pro'): ProductWords => ({
  description: `${grouped(PLAN_LIMITS[tier].callsPerWindow)} tool calls in ${PLAN_DAYS} days for the account of the API key that is sent as \`Authorization: Bearer …\`.`,
  example: {
    request: {},
    answer: { plan: tier, days: PLAN_DAYS, account_id: '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55' },
  },
})

/** Everything that can be paid for, in the order in which it is listed. */
export const PAID_PRODUCTS: Readonly<Record<Product, ProductWords>> = {
  get_trade_call: tool(
    'get_trade_call',
    { coin: 'BTC', timeframe: '1h' },
    { call: 'BUY', confidence: 56, strength: 71, regime: 'TRENDING_UP', coin: 'BTC', timeframe: '1h' },
  ),
  get_market_regime: tool(
    'get_market_regime',
    { coin: 'BTC', timeframe: '4h' },
    { call: 'HOLD', confidence: 51, regime: 'RANGING', coin: 'BTC', timeframe: '4h' },
  ),
  scan_trade_calls: tool(
    'scan_trade_calls',
    { timeframe: '1h', top_n: 20 },
    { timeframe: '1h', scanned: 20, holds: 14, calls: [{ coin: 'ETH', call: 'SELL', confidence: 54 }] },
  ),
  scan_funding_arb: tool(
    'scan_funding_arb',
    { min_net_bps: 5, limit: 10 },
    { opportunities: [{ coin: 'SOL', net_expected_bps: 12.4 }] },
  ),
  'plans/starter': plan('starter'),
  'plans/pro': plan('pro'),
}

/** Path of the route on which something is paid for. @example paidPath('plans/pro') === '/x402/plans/pro' */
export const paidPath = (product: Product): string => `/x402/${product}`
