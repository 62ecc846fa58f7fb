import { MINUTE_MS, TIMEFRAMES, timeframeMs } from './timeframes.ts'

/** Names of coins that are no symbol on any exchange here, and mean one coin. */
const COINS = new Map(
  'BITCOIN BTC,XBT BTC,ETHEREUM ETH,SOLANA SOL,RIPPLE XRP,DOGECOIN DOGE,CARDANO ADA,AVALANCHE AVAX,CHAINLINK LINK,LITECOIN LTC,POLKADOT DOT,TRON TRX,STELLAR XLM,MONERO XMR,TONCOIN TON,HYPERLIQUID HYPE'
    .split(',')
    .map((pair) => pair.split(' ') as [string, string]),
)

/** The symbol of a coin that is given by its name. @example coinOfName('Bitcoin') === 'BTC' */
export function coinOfName(text: string): string {
  const upper = text.trim().toUpperCase()
  return COINS.get(upper) ?? upper
}

/** Words for lengths of bars, in minutes. One that stands alone is one of them, but for those of minutes. */
const UNITS: readonly (readonly [RegExp, number])[] = [
  [/^(?:m|(?:m|M)in(?:ute)?s?)$/, 1],
  [/^(?:h|hr|hours?|hourly)$/i, 60],
  [/^(?:d|days?|daily)$/i, 1_440],
]
/** Bare numbers are minutes, as charts write them, from here on: a smaller one may as well be hours. */
const LEAST_BARE_MINUTES = 15

/**
 * A timeframe as people write it: `1H`, `60m`, `1 hour` and `60` are 1h, `daily` and `D` are 1d. What may mean several
 * things stays as it is: `4`, and `M`, which means months as often as minutes.
 *
 * @example canonicalTimeframe('240') === '4h' && canonicalTimeframe('1M') === '1M'
 */
export function canonicalTimeframe(text: string): string {
  const given = text.trim()
  const minutes = minutesOf(given)
  return TIMEFRAMES.find((one) => timeframeMs(one) === minutes * MINUTE_MS) ?? given
}

/** Not a number where it is no length, or several could be meant. */
function minutesOf(text: string): number {
  const [, digits = '', unit = ''] = /^(\d{0,5})[ -]?([A-Za-z]{0,7})$/.exec(text) ?? []
  if (unit === '') return Number(digits) >= LEAST_BARE_MINUTES ? Number(digits) : Number.NaN
  const [, each] = UNITS.find(([words]) => words.test(unit)) ?? []
  if (each === undefined || (digits === '' && each === 1)) return Number.NaN
  return Number(digits === '' ? 1 : digits) * each
}
