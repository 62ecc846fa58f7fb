import { annualisedFunding } from '../../../contracts/domain/candle.ts'
import { type Market, marketName } from '../../../contracts/domain/series.ts'
import { DAY_MS, HOUR_MS } from '../../../contracts/domain/timeframes.ts'
import { type CarryForecast, expectedCarry, forecastCarry, opposite } from './expected-carry.ts'
import type { FundingRates } from './funding-rates.ts'
import type { MarketFunding } from './market-funding.ts'
import { spreadHistory } from './spread-history.ts'

/** Two markets of a coin, in the direction that is expected to collect more. */
export interface VenuePair {
  readonly coin: string
  readonly long: MarketFunding
  readonly short: MarketFunding
  readonly forecast: CarryForecast
  /** Expected over the holding time and before fees, as a fraction of one leg; not negative. */
  readonly carry: number
  /** Days that both histories have. */
  readonly days: number
}

export interface Comparison {
  readonly pairs: readonly VenuePair[]
  /** Pairs that may be of two assets, which are left out. */
  readonly unconfirmed: readonly (readonly [Candidate, Candidate])[]
  /** Markets whose newest settlement is too old, which are left out. */
  readonly stale: readonly MarketFunding[]
  /** Pairs with too little history in common, or of the last 24 hours, which are left out. */
  readonly tooShort: readonly (readonly [Candidate, Candidate])[]
}

/** Days that two histories have in common before they are compared. */
export const LEAST_COMMON_DAYS = 7
/** Intervals without a settlement after which a market counts as stale. */
export const STALE_INTERVALS = 3
/** How far prices of one asset may be apart, as a fraction: venues differ by less, coins of one name by far more. */
export const MOST_APART = 0.05
/** After so many days without settlements a name may be that of another coin. */
const OTHER_COIN_DAYS = 45

/** A market that is compared, with its numbers read out. */
export interface Candidate {
  readonly coin: string
  readonly market: MarketFunding
  readonly days: Float64Array
  readonly newestDay: number
  /** Price of one unit of the asset; undefined if it is not known. */
  readonly price: number | undefined
}

export const isStale = ({ newest }: MarketFunding, nowMs: number): boolean =>
  nowMs - newest.time > STALE_INTERVALS * newest.intervalHours * HOUR_MS

/** The newest settled rate of a market as a yearly fraction; null where none is known, or it is too old. */
export function newestFunding(rates: FundingRates, market: Market, nowMs: number): number | null {
  const name = marketName(market)
  const found = rates.marketsOf(market.coin).find((one) => marketName(one.market) === name)
  return found === undefined || isStale(found, nowMs) ? null : annualisedFunding(found.newest)
}

/**
 * Compares every two exchanges of every coin.
 *
 * @param coins which coins; those without history on two exchanges have no pair
 * @param nowMs days before that of this instant make up the history
 */
export function compareVenues(
  rates: FundingRates,
  coins: readonly string[],
  holdingHours: number,
  nowMs: number,
): Comparison {
  const pairs: VenuePair[] = []
  const stale: MarketFunding[] = []
  const unconfirmed: [Candidate, Candidate][] = []
  const tooShort: [Candidate, Candidate][] = []
  const midnight = nowMs - (nowMs % DAY_MS)
  for (const coin of coins) {
    const candidates: Candidate[] = []
    for (const market of rates.marketsOf(coin)) {
      if (isStale(market, nowMs)) {
        stale.push(market)
        continue
      }
      const days = new Float64Array(rates.keepDays)
      market.readDays(days, midnight)
      forgetOtherCoin(days)
      const price = rates.prices?.ofAsset(market.market, nowMs)
      candidates.push({ coin, market, days, newestDay: market.newestDay(), price })
    }
    for (const [index, first] of candidates.entries()) {
      for (const second of candidates.slice(index + 1)) {
        // BTC and 1000BTC of one exchange pay the same funding: such a pair collects nothing.
        if (first.market.market.exchange === second.market.market.exchange) continue
        const isConfirmed = rates.prices === undefined || isOneAsset(first, second)
        const pair = isConfirmed ? comparePair(first, second, holdingHours) : undefined
        if (pair !== undefined) pairs.push(pair)
        else (isConfirmed ? tooShort : unconfirmed).push([first, second])
      }
    }
  }
  return { pairs, unconfirmed, stale, tooShort }
}

const isOneAsset = ({ price: a = Number.NaN }: Candidate, { price: b = Number.NaN }: Candidate): boolean =>
  Math.max(a, b) <= Math.min(a, b) * (1 + MOST_APART)

/** Leaves out the days before a long stretch without settlements. */
function forgetOtherCoin(days: Float64Array): void {
  let missing = 0
  for (let day = days.length - 1; day >= 0; day--) {
    missing = Number.isNaN(days[day]) ? missing + 1 : 0
    if (missing >= OTHER_COIN_DAYS) return void days.fill(Number.NaN, 0, day)
  }
}

function comparePair(first: Candidate, second: Candidate, holdingHours: number): VenuePair | undefined {
  const history = spreadHistory(first.days, second.days)
  const newestDay = first.newestDay - second.newestDay
  if (history === undefined || history.days < LEAST_COMMON_DAYS || Number.isNaN(newestDay)) return undefined
  // The spread is what the first pays more: it is the one to be short of while that is above zero.
  const forecast = forecastCarry(history, newestDay)
  const carry = expectedCarry(forecast, holdingHours)
  const of = { coin: first.coin, days: history.days }
  return carry < 0
    ? { ...of, long: first.market, short: second.market, forecast: opposite(forecast), carry: -carry }
    : { ...of, long: second.market, short: first.market, forecast, carry }
}
