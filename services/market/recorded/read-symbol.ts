import type { Exchange } from '../../../contracts/domain/series.ts'

/** Quotes that a series of a coin may have. If there are several, the first of these is used. */
export const QUOTES = ['USDT', 'USDC', 'USD'] as const

export type Quote = (typeof QUOTES)[number]

export const QUOTE = /(?<=.)(?:USDT|USDC|USD)$/

/** Ends of symbols whose prices are in something else, behind a coin of two letters or more. */
const OTHER_QUOTE =
  /(?<=..)(?:FDUSD|BUSD|TUSD|PYUSD|RLUSD|USD1|USDD|USDE|USDP|DAI|EUR|GBP|TRY|BRL|JPY|AUD|KRW|BTC|ETH|BNB)$/

/** Venues whose perpetual contracts in USD are not margined in the coin. */
const LINEAR_IN_USD: readonly Exchange[] = ['HL', 'ASTER', 'WHITEBIT', 'XT', 'SIM']

const INVERSE = 'a coin-margined contract: its volume does not count coins'

/**
 * The coin of a symbol and what its prices are in, or why it is none of the series of a coin.
 *
 * @param isInverse whether its folder is one of coin-margined contracts
 * @param isPair whether it is a coin and a quote for sure, and not a coin alone
 */
export function readSymbol(
  symbol: string,
  exchange: Exchange,
  { isSpot, isInverse, isPair }: Readonly<Record<'isSpot' | 'isInverse' | 'isPair', boolean>>,
): { readonly coin: string; readonly quote?: Quote } | { readonly reason: string } {
  if (isInverse || symbol.endsWith('_PERP')) return { reason: INVERSE }
  if (symbol.includes('_')) return { reason: 'a contract with a day of delivery, not a perpetual one' }
  const quote = QUOTE.exec(symbol)?.[0] as Quote | undefined
  const other = quote === 'USDT' || quote === 'USDC' ? undefined : OTHER_QUOTE.exec(symbol)?.[0]
  if (other !== undefined && exchange !== 'HL')
    return { reason: `its prices are in ${other}, not in USDT, USDC or USD` }
  if (quote === 'USD' && !isSpot && !LINEAR_IN_USD.includes(exchange)) return { reason: INVERSE }
  if (quote !== undefined) return { coin: symbol.replace(QUOTE, ''), quote }
  return isPair ? { reason: 'its prices are not in USDT, USDC or USD' } : { coin: symbol }
}
