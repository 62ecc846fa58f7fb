import type { Candle, FundingRate } from '../../../../contracts/domain/candle.ts'
import type { Coin } from '../../../../contracts/domain/series.ts'
import {
  barOpenAt,
  DAY_MS,
  HOUR_MS,
  MINUTE_MS,
  type Timeframe,
  timeframeMs,
} from '../../../../contracts/domain/timeframes.ts'
import type { Clock } from '../../../runtime/async/clock.ts'
import { ROW_NUMBERS } from '../../bar-maker.ts'
import { createSimulatedBars, type SimulatedBars } from '../../simulated/simulated-bars.ts'
import { simulatedCoin } from '../../simulated/simulated-coins.ts'

/** A ticker of the last 24 hours. Turnover and open interest in coins and in the quote currency. */
export interface FakeTicker {
  readonly coin: Coin
  readonly last: number
  readonly open: number
  readonly high: number
  readonly low: number
  readonly volume: number
  readonly turnover: number
  readonly openInterest: number
}

/** Which candles of a range a venue keeps when there are more than it sends: venues differ. */
export interface CandleRange {
  /** First open time. */
  readonly from?: number | undefined
  /** Last open time. */
  readonly to?: number | undefined
  readonly limit: number
  readonly keep: 'first' | 'last'
}

/** The true history of a made-up venue. Prices are a pure function of seed, coin and time. */
export interface FakeMarket {
  now(): number
  coins(): readonly Coin[]
  has(coin: Coin): boolean
  delist(coin: Coin): void
  list(coin: Coin): void
  /** A bar as it was when it had closed. */
  candle(coin: Coin, timeframe: Timeframe, openTime: number): Candle
  /** Bars as a venue shows them now, the one still open included; oldest first. */
  candles(coin: Coin, timeframe: Timeframe, range: CandleRange): readonly Candle[]
  /** Settlements in a range, oldest first. */
  funding(coin: Coin, from: number, to: number): readonly FundingRate[]
  fundingHours(coin: Coin): number
  /** The settlement to come. */
  nextFunding(coin: Coin): number
  ticker(coin: Coin): FakeTicker
}

/** Settlements that a venue keeps. */
const FUNDING_KEPT_MS = 90 * DAY_MS

export interface FakeMarketOptions extends Pick<Clock, 'now'> {
  readonly seed: string
  readonly coins: readonly Coin[]
  /** Open times of minutes that the venue has not, as venues without a trade do. */
  readonly isMissing?: (coin: Coin, openTime: number) => boolean
}

export function createFakeMarket(options: FakeMarketOptions): FakeMarket {
  const { seed, now, isMissing = () => false } = options
  const listed = new Set(options.coins)
  const known = new Map<Coin, SimulatedBars>()
  /** Hours that were drawn already: bars of all lengths are made of them, and drawing one takes long. */
  const hours = new Map<string, Candle>()

  function barsOf(coin: Coin): SimulatedBars {
    const bars = known.get(coin) ?? createSimulatedBars(seed, coin)
    known.set(coin, bars)
    return bars
  }

  function minute(coin: Coin, openTime: number): Candle {
    const hour = Math.floor(openTime / HOUR_MS)
    const offset = ((openTime - hour * HOUR_MS) / MINUTE_MS) * ROW_NUMBERS
    return toCandle(barsOf(coin).minutes(hour), offset)
  }

  function hourBar(coin: Coin, hour: number): Candle {
    const key = `${coin}.${hour}`
    const candle = hours.get(key) ?? toCandle(barsOf(coin).hour(hour), 0)
    hours.set(key, candle)
    return candle
  }

  /** Everything up to an instant that belongs to a bar. */
  function made(coin: Coin, timeframe: Timeframe, openTime: number, until: number): Candle {
    const end = Math.min(until, openTime + timeframeMs(timeframe))
    const parts: Candle[] = []
    for (let at = openTime; at < end; ) {
      const isHour = at % HOUR_MS === 0 && at + HOUR_MS <= end
      if (isHour) parts.push(hourBar(coin, at / HOUR_MS))
      else if (at + MINUTE_MS <= end) parts.push(minute(coin, at))
      at += isHour ? HOUR_MS : MINUTE_MS
    }
    return parts.length === 0 ? begun(minute(coin, openTime)) : joined(parts)
  }

  function candles(coin: Coin, timeframe: Timeframe, { from, to, limit, keep }: CandleRange): Candle[] {
    const lengthMs = timeframeMs(timeframe)
    const newest = Math.min(barOpenAt(timeframe, now()), barOpenAt(timeframe, to ?? now()))
    const span = (limit - 1) * lengthMs
    const oldest = Math.ceil((from ?? newest - span) / lengthMs) * lengthMs
    const first = keep === 'last' ? Math.max(oldest, newest - span) : oldest
    const last = keep === 'last' ? newest : Math.min(newest, oldest + span)
    const found: Candle[] = []
    for (let at = first; at <= last; at += lengthMs) {
      if (timeframe === '1m' && isMissing(coin, at)) continue
      found.push(made(coin, timeframe, at, now()))
    }
    return found
  }

  function funding(coin: Coin, from: number, to: number): FundingRate[] {
    const found: FundingRate[] = []
    const first = Math.ceil(Math.max(from, now() - FUNDING_KEPT_MS) / HOUR_MS)
    for (let hour = first; hour * HOUR_MS <= Math.min(to, now()); hour++) {
      const rate = barsOf(coin).funding(hour)
      // Minus zero does not survive being written.
      if (rate !== undefined) found.push({ ...rate, rate: rate.rate + 0 })
    }
    return found
  }

  function ticker(coin: Coin): FakeTicker {
    const end = barOpenAt('1h', now())
    const day = Array.from({ length: 24 }, (_, index) => hourBar(coin, end / HOUR_MS - 24 + index))
    const { open, high, low, close, volume } = joined(day)
    const turnover = day.reduce((sum, bar) => sum + bar.volume * bar.close, 0)
    return { coin, last: close, open, high, low, volume, turnover, openInterest: Math.round(volume / 4) }
  }

  return {
    now,
    coins: () => [...listed],
    has: (coin) => listed.has(coin),
    delist: (coin) => void listed.delete(coin),
    list: (coin) => void listed.add(coin),
    candle: (coin, timeframe, openTime) => made(coin, timeframe, openTime, Number.POSITIVE_INFINITY),
    candles,
    funding,
    fundingHours,
    nextFunding(coin) {
      const everyMs = fundingHours(coin) * HOUR_MS
      return (Math.floor(now() / everyMs) + 1) * everyMs
    },
    ticker,
  }
}

const fundingHours = (coin: Coin): number => simulatedCoin(coin).fundingIntervalHours

const toCandle = (rows: Float64Array, offset: number): Candle => ({
  openTime: rows[offset] as number,
  open: rows[offset + 1] as number,
  high: rows[offset + 2] as number,
  low: rows[offset + 3] as number,
  close: rows[offset + 4] as number,
  volume: rows[offset + 5] as number,
})

/** A bar whose first minute has not closed: one trade so far. */
const begun = ({ openTime, open }: Candle): Candle => ({
  openTime,
  open,
  high: open,
  low: open,
  close: open,
  volume: 0,
})

const joined = (parts: readonly Candle[]): Candle => {
  const [first, last] = [parts[0] as Candle, parts.at(-1) as Candle]
  return {
    openTime: first.openTime,
    open: first.open,
    high: Math.max(...parts.map(({ high }) => high)),
    low: Math.min(...parts.map(({ low }) => low)),
    close: last.close,
    volume: parts.reduce((sum, { volume }) => sum + volume, 0),
  }
}
