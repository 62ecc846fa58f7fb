import { annualisedFunding } from '../../../contracts/domain/candle.ts'
import { isoTime } from '../../../contracts/domain/iso-time.ts'
import { assetOf } from '../../../contracts/domain/series.ts'
import { HOUR_MS } from '../../../contracts/domain/timeframes.ts'
import type {
  FundingLeg,
  FundingOpportunity,
  ScanFundingArbRequest,
  ScanFundingArbResponse,
} from '../../../contracts/tools/tool-schemas.ts'
import { compareVenues, type VenuePair } from './compare-venues.ts'
import { breakEvenHours } from './expected-carry.ts'
import type { FundingRates } from './funding-rates.ts'
import type { MarketFunding } from './market-funding.ts'
import { scanNote } from './scan-note.ts'

const BPS = 10_000
/** Both legs are entered and left. */
const LEGS_PAID = 4

/**
 * Ranks pairs of exchanges by the funding that being long of one and short of the other is expected to collect
 * over the holding time, after four taker fees. Reads nothing but the rates, so the same settlements and the
 * same instant give the same answer. Information, not advice.
 *
 * @param nowMs the instant of the scan, Unix milliseconds
 */
export function scanFundingArb(
  rates: FundingRates,
  request: ScanFundingArbRequest,
  nowMs: number,
): ScanFundingArbResponse {
  const feesBps = LEGS_PAID * request.taker_fee_bps
  const wanted =
    request.coins === undefined ? rates.coins : [...new Set(request.coins.map((coin) => assetOf(coin).asset))]
  const comparison = compareVenues(rates, wanted, request.holding_hours, nowMs)
  const netBps = ({ carry }: VenuePair): number => rounded(carry * BPS - feesBps, 2)
  const passed = comparison.pairs.filter((pair) => netBps(pair) >= request.min_net_bps).toSorted(byRank)
  const best = passed.length === 0 ? comparison.pairs.toSorted(byRank)[0] : undefined
  return {
    completed_at: isoTime(nowMs),
    holding_hours: request.holding_hours,
    fees_bps: feesBps,
    opportunities: passed
      .slice(0, request.limit)
      .map((pair, index) => opportunity(pair, index + 1, netBps(pair), request, nowMs)),
    pairs_compared: comparison.pairs.length,
    pairs_too_short: comparison.tooShort.length,
    pairs_unconfirmed: comparison.unconfirmed.length,
    markets_stale: comparison.stale.length,
    venues: [...rates.exchanges],
    note: scanNote({
      rates,
      wanted,
      comparison,
      best: best === undefined ? undefined : { ...best, netBps: netBps(best) },
      request,
    }),
  }
}

/** The most expected first; what is equal, by the names of coin, long and short exchange. */
const byRank = (a: VenuePair, b: VenuePair): number => b.carry - a.carry || (nameOf(a) < nameOf(b) ? -1 : 1)

const nameOf = ({ coin, long, short }: VenuePair): string =>
  `${coin} ${long.market.exchange} ${short.market.exchange}`

function opportunity(
  { coin, long, short, forecast, carry, days }: VenuePair,
  rank: number,
  netBps: number,
  { holding_hours, taker_fee_bps }: ScanFundingArbRequest,
  nowMs: number,
): FundingOpportunity {
  const breakEven = breakEvenHours(forecast, (LEGS_PAID * taker_fee_bps) / BPS)
  const gross = annualisedFunding(short.newest) - annualisedFunding(long.newest)
  const expected = annualisedFunding({ time: nowMs, rate: carry, intervalHours: holding_hours })
  return {
    rank,
    coin,
    long: leg(long, 'long', nowMs),
    short: leg(short, 'short', nowMs),
    annualised_gross: rounded(gross, 6),
    expected_annualised: rounded(expected, 6),
    net_expected_bps: netBps,
    break_even_hours: breakEven === null ? null : rounded(breakEven, 1),
    persistence: rounded(forecast.persistence, 4),
    history_days: days,
  }
}

function leg({ market, newest }: MarketFunding, side: FundingLeg['side'], nowMs: number): FundingLeg {
  const intervalMs = newest.intervalHours * HOUR_MS
  const intervals = Math.max(1, Math.floor((nowMs - newest.time) / intervalMs) + 1)
  return {
    exchange: market.exchange,
    contract: market.coin,
    coins_per_unit: assetOf(market.coin).multiple,
    side,
    rate: newest.rate,
    interval_hours: newest.intervalHours,
    annualised: rounded(annualisedFunding(newest), 6),
    settled_at: isoTime(newest.time),
    next_funding: isoTime(newest.time + intervals * intervalMs),
  }
}

/** Answers are read by people too: digits below what means anything are left out. */
function rounded(value: number, digits: number): number {
  const scale = 10 ** digits
  // Adding zero makes −0 a zero.
  return Math.round(value * scale) / scale + 0
}
