import type { Exchange } from '../../../contracts/exchanges.ts'

/** What the series of a coin may be in. Where there are several, the first of these is used. */
export const QUOTES = ['USDT', 'USDC', 'USD'] as const

export type Quote = (typeof QUOTES)[number]

/** Ends of symbols whose prices are in something else, behind a coin of two letters or more. */
const OTHER_QUOTE =
  /(?<=..)(?:FDUSD|BUSD|TUSD|PYUSD|RLUSD|USD1|USDD|USDE|USDP|DAI|EUR|GBP|TRY|BRL|JPY|AUD|KRW|BTC|ETH|BNB)$/

/** Whose perpetual contracts in USD are margined in the coin. */
const INVERSE_IN_USD: readonly Exchange[] = [
  'BINANCE',
  'BYBIT',
  'OKX',
  'BITGET',
  'GATE',
  'KUCOIN',
  'MEXC',
  'BINGX',
  'HTX',
  'PHEMEX',
]

const INVERSE = 'a coin-margined contract: its volume does not count coins'

interface SymbolPlace {
  readonly exchange: Exchange
  readonly isSpot: boolean
  /** Whether its folder is one of coin-margined contracts. */
  readonly isInverse: boolean
  /** Whether the name is of a coin and a quote for sure, and not of a coin alone. */
  readonly isPair: boolean
}

/** The coin of a symbol and what its prices are in, or why it is none of the series of a coin. */
export function readSymbol(
  symbol: string,
  { exchange, isSpot, isInverse, isPair }: SymbolPlace,
): { readonly coin: string; readonly quote?: Quote } | { readonly reason: string } {
  if (isInverse || symbol.endsWith('_PERP')) return { reason: INVERSE }
  if (symbol.includes('_')) return { reason: 'a contract with a day of delivery, not a perpetual one' }
  const quote = QUOTES.find((one) => symbol.endsWith(one) && symbol !== one)
  const other = quote === 'USDT' || quote === 'USDC' ? undefined : OTHER_QUOTE.exec(symbol)?.[0]
  if (other !== undefined && exchange !== 'HL')
    return { reason: `its prices are in ${other}, not in USDT, USDC or USD` }
  if (quote === 'USD' && !isSpot && INVERSE_IN_USD.includes(exchange)) return { reason: INVERSE }
  if (quote === undefined && isPair) return { reason: 'its prices are not in USDT, USDC or USD' }
  return quote === undefined ? { coin: symbol } : { coin: symbol.slice(0, -quote.length), quote }
}

/** A symbol without its quote. */
export const bareSymbol = (symbol: string): string => symbol.replace(/(?:USDT|USDC|USD)$/, '')
