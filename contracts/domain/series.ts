import { z } from 'zod'
import { LIMITS } from '../limits.ts'
import { TIMEFRAMES, type Timeframe, timeframeSchema } from './timeframes.ts'

/** Exchange codes. `SIM` is the simulated market, so that no simulated verdict can pass for a real one. */
export const EXCHANGES = [
  'SIM',
  'BINANCE',
  'BYBIT',
  'OKX',
  'BITGET',
  'HL',
  'GATE',
  'KUCOIN',
  'MEXC',
  'BINGX',
  'HTX',
  'PHEMEX',
  'ASTER',
  'WHITEBIT',
  'XT',
] as const
export type Exchange = (typeof EXCHANGES)[number]

export const exchangeSchema = z.enum(EXCHANGES).describe('Exchange code')

export const isExchange = (value: string): value is Exchange =>
  (EXCHANGES as readonly string[]).includes(value)

/** A coin symbol as callers write it, upper case: `BTC`, `1000PEPE`. */
export const coinSchema = z
  .string()
  .regex(new RegExp(`^[A-Z0-9]{1,${LIMITS.coinCharacters}}$`))
  .describe('Coin symbol, upper case letters and digits')

export type Coin = string

export const seriesSchema = z.object({
  exchange: exchangeSchema,
  coin: coinSchema,
  timeframe: timeframeSchema,
})
/** One (exchange, coin, timeframe). */
export type Series = Readonly<z.infer<typeof seriesSchema>>
/** The market of a price history, before a timeframe is chosen. */
export type Market = Pick<Series, 'exchange' | 'coin'>

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

/** Written before or after the name, as `1000PEPE` and `SHIB1000`. */
const COUNTED = /^(1000000|100000|10000|1000|100)(?=[A-Z])|(?<=[A-Z])(1000000|10000|1000)$/
/** A million, where what is left is a name: `1MBABYDOGE`. */
const MILLION = /^1M(?=[A-Z]{3,})/
/** HL writes a thousand as `k`, which is part of the name in KAVA and KSM. */
const THOUSANDS: ReadonlySet<Coin> = new Set(
  ['PEPE', 'BONK', 'SHIB', 'FLOKI', 'LUNC', 'NEIRO', 'DOGS'].map((asset) => `K${asset}`),
)

/**
 * Coins that were renamed one for one, by announcement of their issuers: no list of contracts says so. Those with
 * another ratio (MKR to SKY, GAL to G) are other assets, since a unit of them is worth something else.
 */
const RENAMED: ReadonlyMap<Coin, Coin> = new Map([
  ['RNDR', 'RENDER'], // Render Network, its move to Solana, 2023–2024
  ['MATIC', 'POL'], // Polygon Labs, 4 September 2024
  ['KLAY', 'KAIA'], // Klaytn and Finschia, October 2024
  ['FTM', 'S'], // Fantom to Sonic, January 2025
  ['BNX', 'FORM'], // BinaryX to Four, March 2025
  ['EOS', 'A'], // EOS to Vaulta, May 2025
])

/**
 * The asset behind a contract: venues list coins of very small prices by the thousand or more, each in its own way.
 * Rates of funding are of the value and the same for either; prices are not. A coin that was renamed is the asset that
 * it became, for venues take the new name at different times. A name is a guess all the same, since others take short
 * and former names for coins of their own: code that pairs contracts compares their prices.
 *
 * @example assetOf('1000PEPE') // { asset: 'PEPE', multiple: 1_000 }, and so of KPEPE
 */
export function assetOf(coin: Coin) {
  const { asset, multiple } = shareOf(coin)
  return { asset: RENAMED.get(asset) ?? asset, multiple }
}

function shareOf(coin: Coin): { readonly asset: Coin; readonly multiple: number } {
  if (THOUSANDS.has(coin)) return { asset: coin.slice(1), multiple: 1_000 }
  if (MILLION.test(coin)) return { asset: coin.replace(MILLION, ''), multiple: 1_000_000 }
  const count = COUNTED.exec(coin)?.[0]
  return count === undefined
    ? { asset: coin, multiple: 1 }
    : { asset: coin.replace(COUNTED, ''), multiple: Number(count) }
}

/** One coin of a venue with what it is ranked by. */
export const universeEntrySchema = z.object({
  coin: coinSchema,
  /** Traded in the last 24 hours, in the quote currency. */
  quoteVolume24h: z.number().nonnegative(),
  /** Price change over the last 24 hours, as a fraction of the price then; null where it is not known. */
  change24h: z.number().min(-1).nullable(),
})
export type UniverseEntry = z.infer<typeof universeEntrySchema>

/** The coins of a venue at an instant, by 24-hour quote volume, largest first. */
export const universeSchema = z.object({
  exchange: exchangeSchema,
  /** Market time at which it was ranked, Unix milliseconds. */
  rankedAt: z.int().nonnegative(),
  coins: z.array(universeEntrySchema).max(LIMITS.universeCoins),
})
export type Universe = z.infer<typeof universeSchema>

/** By 24-hour quote volume, largest first; equal ones by name, so that a ranking is the same every time. */
export const byQuoteVolume = (a: UniverseEntry, b: UniverseEntry): number =>
  b.quoteVolume24h - a.quoteVolume24h || (a.coin < b.coin ? -1 : a.coin > b.coin ? 1 : 0)

/** Ranks the coins of a venue and keeps the largest. @param rankedAt market time, Unix milliseconds */
export const rankUniverse = (
  exchange: Exchange,
  rankedAt: number,
  entries: readonly UniverseEntry[],
): Universe => ({ exchange, rankedAt, coins: entries.toSorted(byQuoteVolume).slice(0, LIMITS.universeCoins) })
