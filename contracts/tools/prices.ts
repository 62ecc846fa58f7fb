import type { Tier } from '../domain/plans.ts'
import type { Timeframe } from '../domain/timeframes.ts'
import type { ToolName } from './tool-catalogue.ts'
import { getTradeCallRequest } from './tool-schemas.ts'

/** Products: one answer of a tool, or a plan for the days that plans last. */
export type Product = ToolName | `plans/${Exclude<Tier, 'free'>}`

/** In millionths of a USDC. Short timeframes ask for more: their verdicts are recorded up to 60 times an hour. */
export const PRICES: Readonly<Record<Product, bigint>> = {
  get_trade_call: 20_000n,
  get_market_regime: 20_000n,
  scan_trade_calls: 20_000n,
  scan_funding_arb: 10_000n,
  'plans/starter': 9_990_000n,
  'plans/pro': 49_000_000n,
}

const TRADE_CALL_PRICES: Partial<Readonly<Record<Timeframe, bigint>>> = {
  '1m': 50_000n,
  '3m': 40_000n,
  '5m': 30_000n,
}

/**
 * The price of a product for a request, in millionths of a USDC. The one place that says so: what is quoted is
 * what is demanded. A request that cannot be read costs the base price, since it cannot be answered either.
 *
 * @param request as the caller sent it, unchecked
 * @example priceOf('get_trade_call', { coin: 'BTC', timeframe: '1m' }) === 50_000n
 */
export function priceOf(product: Product, request: unknown): bigint {
  if (product !== 'get_trade_call' || typeof request !== 'object' || request === null) return PRICES[product]
  const { timeframe } = request as { readonly timeframe?: unknown }
  // As the tool reads it: another way to write it must not make it cheaper.
  const { data: named } = getTradeCallRequest.shape.timeframe.safeParse(timeframe)
  const isDearer = named !== undefined && Object.hasOwn(TRADE_CALL_PRICES, named)
  return (isDearer ? TRADE_CALL_PRICES[named as Timeframe] : undefined) ?? PRICES[product]
}
