import { expect } from 'vitest'
import type { ClosedBar, FundingUpdate } from '../../../../contracts/domain/feed.ts'
import { assetOf, type Exchange, type Market } from '../../../../contracts/domain/series.ts'
import { DAY_MS, HOUR_MS, type Timeframe, timeframeMs } from '../../../../contracts/domain/timeframes.ts'
import {
  type FundingOpportunity,
  type ScanFundingArbResponse,
  scanFundingArbRequest,
  scanFundingArbResponse,
} from '../../../../contracts/tools/tool-schemas.ts'
import { seededRandom } from '../../../../testing/random-walk.ts'
import { createFundingRates } from '../funding-rates.ts'
import { LatestPrices } from '../latest-prices.ts'
import { scanFundingArb } from '../scan-funding-arb.ts'
import { type PlantedFunding, plantFunding } from './planted-funding.ts'

export const START = Date.UTC(2024, 0, 1)
export const DAYS = 60
/** Half past midnight: everything until midnight is settled. */
export const NOW = START + DAYS * DAY_MS + HOUR_MS / 2

export const plant = (exchange: Exchange, change: Partial<PlantedFunding> = {}): FundingUpdate[] =>
  plantFunding({ exchange, fromMs: START, toMs: NOW, intervalHours: 8, hourly: () => 0, ...change })

export const paying = (
  exchange: Exchange,
  daily: number,
  change: Partial<PlantedFunding> = {},
): FundingUpdate[] => plant(exchange, { hourly: () => daily / 24, ...change })

/** Noise of some basis points a day, without memory. */
export function noisy(
  exchange: Exchange,
  seed: number,
  change: Partial<PlantedFunding> = {},
): FundingUpdate[] {
  const random = seededRandom(seed)
  return plant(exchange, { hourly: () => (0.0012 * (random() - 0.5)) / 24, ...change })
}

/** A bar of each market that closed at an instant, at one price of the asset for all of them. */
export const pricedAlike = (settlements: readonly FundingUpdate[], closedAt: number): ClosedBar[] =>
  settlements.map(({ market }) => priced(market, 0.25 * assetOf(market.coin).multiple, closedAt))

/** A bar of a market that closed at an instant and a price. */
export function priced(
  market: Market,
  close: number,
  closedAt: number,
  timeframe: Timeframe = '1h',
): ClosedBar {
  const openTime = closedAt - timeframeMs(timeframe)
  const candle = { openTime, open: close, high: close, low: close, close, volume: 1 }
  return { series: { ...market, timeframe }, candle }
}

export function scan(
  settlements: readonly FundingUpdate[],
  request: Record<string, unknown> = {},
  nowMs = NOW,
  bars: readonly ClosedBar[] = pricedAlike(settlements, nowMs),
): ScanFundingArbResponse {
  const prices = new LatestPrices()
  for (const bar of bars) prices.take(bar)
  const rates = createFundingRates({ keepDays: 90, prices })
  for (const settlement of settlements) rates.take(settlement)
  const answer = scanFundingArb(rates, scanFundingArbRequest.parse(request), nowMs)
  return scanFundingArbResponse.parse(answer)
}

export const only = (answer: ScanFundingArbResponse): FundingOpportunity => {
  expect(answer.opportunities).toHaveLength(1)
  return answer.opportunities[0] ?? expect.fail('no opportunity')
}
