import { z } from 'zod'
import { EXCHANGES, type Exchange, exchangeSchema } from './exchanges.ts'
import { LIMITS } from './limits.ts'
import { TIMEFRAMES, type Timeframe, timeframeSchema } from './timeframes.ts'

/** A coin symbol as callers write it, upper case: `BTC`, `1000PEPE`. */
export const coinSchema = z
  .string()
  .regex(new RegExp(`^[A-Z0-9]{1,${LIMITS.coinCharacters}}$`))
  .describe('Coin symbol, upper case letters and digits')

export type Coin = string

/** The market of a price history, before a timeframe is chosen. */
export interface Market {
  readonly exchange: Exchange
  readonly coin: Coin
}

/** One (exchange, coin, timeframe). */
export interface Series extends Market {
  readonly timeframe: Timeframe
}

export const seriesSchema = z.object({
  exchange: exchangeSchema,
  coin: coinSchema,
  timeframe: timeframeSchema,
})

/** @example seriesName({ exchange: 'BINANCE', coin: 'BTC', timeframe: '1h' }) === 'BINANCE.BTC.1h' */
export const seriesName = (series: Series): string => `${series.exchange}.${series.coin}.${series.timeframe}`

export const marketName = (market: Market): string => `${market.exchange}.${market.coin}`

const SERIES_NAME = new RegExp(
  `^(${EXCHANGES.join('|')})\\.([A-Z0-9]{1,${LIMITS.coinCharacters}})\\.(${TIMEFRAMES.join('|')})$`,
)

/** Inverse of {@link seriesName}; undefined where the name is not one of a series. */
export function parseSeriesName(name: string): Series | undefined {
  const match = SERIES_NAME.exec(name)
  if (match === null) return undefined
  return { exchange: match[1] as Exchange, coin: match[2] as Coin, timeframe: match[3] as Timeframe }
}
