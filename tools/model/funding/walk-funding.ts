import type { FundingUpdate } from '../../../contracts/feed.ts'
import { annualisedFunding } from '../../../contracts/funding.ts'
import { type Market, marketName } from '../../../contracts/series.ts'
import { DAY_MS, HOUR_MS } from '../../../contracts/timeframes.ts'
import { compareVenues, type VenuePair } from '../../../services/engine/funding/compare-venues.ts'
import { createFundingRates } from '../../../services/engine/funding/funding-rates.ts'

export interface WalkOptions {
  /** Settlements of all markets, oldest first. */
  readonly settlements: readonly FundingUpdate[]
  readonly keepDays: number
  readonly holdingHours: number
  /** Days are scanned from this instant on and before that one; absent means all. */
  readonly fromMs?: number
  readonly toMs?: number
}

/** Expected and paid funding of a pair on one day; fractions of one leg, before fees. */
export interface PairDay {
  readonly atMs: number
  readonly coin: string
  readonly long: Market
  readonly short: Market
  /** By the scan, in the direction it took. */
  readonly expected: number
  /** In that same direction. */
  readonly realised: number
  /** Funding that the newest two rates would collect if they stayed, in that same direction. */
  readonly atNewestRates: number
  readonly persistence: number
}

/** Share of a holding time that settlements have to cover before what it paid is known. */
const LEAST_COVERED = 0.95

/**
 * Walks through recorded time day by day. On each it scans with nothing but what was settled until then, and
 * looks up what holding every pair from there on really paid.
 */
export function* walkFunding(options: WalkOptions): Generator<PairDay> {
  const { settlements, holdingHours } = options
  const rates = createFundingRates({ keepDays: options.keepDays })
  const payments = paymentsByMarket(settlements)
  const lastMs = settlements.at(-1)?.funding.time ?? 0
  let taken = 0
  const firstDay = Math.ceil((settlements[0]?.funding.time ?? 0) / DAY_MS)
  for (let atMs = firstDay * DAY_MS; atMs + holdingHours * HOUR_MS <= lastMs; atMs += DAY_MS) {
    let next = settlements[taken]
    while (next !== undefined && next.funding.time <= atMs) {
      rates.take(next)
      taken += 1
      next = settlements[taken]
    }
    if (atMs < (options.fromMs ?? 0) || atMs >= (options.toMs ?? Number.POSITIVE_INFINITY)) continue
    for (const pair of compareVenues(rates, rates.coins, holdingHours, atMs).pairs) {
      const untilMs = atMs + holdingHours * HOUR_MS
      const realised = realisedCarry(pair, payments, atMs, untilMs)
      if (realised !== undefined) yield dayOf(pair, atMs, realised, holdingHours)
    }
  }
}

function dayOf(pair: VenuePair, atMs: number, realised: number, holdingHours: number): PairDay {
  const { coin, long, short, carry, forecast } = pair
  const yearly = annualisedFunding(short.newest) - annualisedFunding(long.newest)
  const hoursPerYear = annualisedFunding({ time: atMs, rate: 1, intervalHours: 1 })
  return {
    atMs,
    coin,
    long: long.market,
    short: short.market,
    expected: carry,
    realised,
    atNewestRates: (yearly * holdingHours) / hoursPerYear,
    persistence: forecast.persistence,
  }
}

/** Times of the settlements of a market, and what was paid and covered up to each. */
interface Payments {
  readonly times: readonly number[]
  readonly paid: readonly number[]
  readonly hours: readonly number[]
}

function paymentsByMarket(settlements: readonly FundingUpdate[]): ReadonlyMap<string, Payments> {
  const byMarket = new Map<string, { times: number[]; paid: number[]; hours: number[] }>()
  for (const { market, funding } of settlements) {
    const name = marketName(market)
    const own = byMarket.get(name) ?? { times: [], paid: [0], hours: [0] }
    byMarket.set(name, own)
    own.times.push(funding.time)
    own.paid.push((own.paid.at(-1) ?? 0) + funding.rate)
    own.hours.push((own.hours.at(-1) ?? 0) + funding.intervalHours)
  }
  return byMarket
}

function realisedCarry(
  { long, short }: VenuePair,
  payments: ReadonlyMap<string, Payments>,
  fromMs: number,
  untilMs: number,
): number | undefined {
  const [paidByLong, paidByShort] = [long, short].map(({ market }) =>
    paidBetween(payments.get(marketName(market)), fromMs, untilMs),
  )
  return paidByLong === undefined || paidByShort === undefined ? undefined : paidByShort - paidByLong
}

/** The rates settled after one instant and until another, added up; undefined where too many are missing. */
function paidBetween(payments: Payments | undefined, fromMs: number, untilMs: number): number | undefined {
  if (payments === undefined) return undefined
  const [from, until] = [countUntil(payments.times, fromMs), countUntil(payments.times, untilMs)]
  const covered = (payments.hours[until] ?? 0) - (payments.hours[from] ?? 0)
  if (covered * HOUR_MS < LEAST_COVERED * (untilMs - fromMs)) return undefined
  return (payments.paid[until] ?? 0) - (payments.paid[from] ?? 0)
}

/** How many of rising times are not after an instant. */
function countUntil(times: readonly number[], timeMs: number): number {
  let [low, high] = [0, times.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((times[middle] as number) > timeMs) high = middle
    else low = middle + 1
  }
  return low
}
