import type { Coin } from '../../../contracts/domain/series.ts'
import { createRandom, hashText } from './random.ts'

/** How a coin of the simulated market behaves. */
export interface SimulatedCoin {
  readonly coin: Coin
  /** Price that its history swings around. */
  readonly price: number
  /** Decimals of its prices; a tick is one unit of the last. */
  readonly decimals: number
  /** Standard deviation of an hourly return in average times. */
  readonly hourlyVolatility: number
  /** Traded in an average minute, in the quote currency. */
  readonly minuteTurnover: number
  readonly fundingIntervalHours: 1 | 4 | 8
}

/** The coins of the simulated market where none are named. */
export const DEFAULT_SIMULATED_COINS: readonly Coin[] = ['BTC', 'ETH', 'SOL', 'XRP', 'DOGE', 'LINK']

// price, decimals, hourly volatility, turnover of a minute, funding interval
type Row = readonly [number, number, number, number, 1 | 4 | 8]

const KNOWN: Readonly<Record<Coin, Row>> = {
  BTC: [62_000, 1, 0.005, 1_800_000, 8],
  ETH: [2_900, 2, 0.0065, 1_100_000, 8],
  SOL: [145, 2, 0.009, 450_000, 8],
  XRP: [1.1, 4, 0.0085, 260_000, 8],
  DOGE: [0.17, 5, 0.0095, 190_000, 4],
  LINK: [15, 3, 0.009, 90_000, 1],
  BNB: [540, 2, 0.006, 210_000, 8],
  ADA: [0.62, 4, 0.0085, 110_000, 8],
  AVAX: [29, 3, 0.0095, 95_000, 8],
  LTC: [88, 2, 0.008, 70_000, 8],
  SUI: [2.1, 4, 0.011, 120_000, 4],
  DOT: [6.2, 3, 0.009, 55_000, 8],
}

/** The coins that a table tells the ways of; any other name has a made-up market, too. */
export const KNOWN_SIMULATED_COINS: readonly Coin[] = Object.keys(KNOWN)

/** Digits that the price of a coin without an entry is written with. */
const PRICE_DIGITS = 5

/** How a coin behaves: from the table, and else from a hash of its name, so that any coin has a market. */
export function simulatedCoin(coin: Coin): SimulatedCoin {
  const known = Object.hasOwn(KNOWN, coin) ? KNOWN[coin] : undefined
  const [price, decimals, hourlyVolatility, minuteTurnover, fundingIntervalHours] = known ?? invented(coin)
  return { coin, price, decimals, hourlyVolatility, minuteTurnover, fundingIntervalHours }
}

function invented(coin: Coin): Row {
  const random = createRandom(hashText(`coin/${coin}`))
  const exponent = Math.floor(random.uniform() * 4) - 2
  const decimals = PRICE_DIGITS - 1 - exponent
  const price = Number(((1 + 8 * random.uniform()) * 10 ** exponent).toFixed(decimals))
  const interval = ([8, 8, 8, 4, 1] as const)[Math.floor(random.uniform() * 5)] ?? 8
  return [price, decimals, 0.008 + 0.005 * random.uniform(), 20_000 + 60_000 * random.uniform(), interval]
}
