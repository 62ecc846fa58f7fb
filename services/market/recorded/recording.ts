import { basename, dirname } from 'node:path'
import { EXCHANGES, type Exchange, isExchange } from '../../../contracts/exchanges.ts'
import { coinSchema, type Market } from '../../../contracts/series.ts'
import { isTimeframe, type Timeframe } from '../../../contracts/timeframes.ts'

/** The content of a candle or funding file, according to its folder and file name. */
export interface Recording {
  readonly path: string
  /** Further files that go on where it ends, in order; each of a day or a month, as the service itself keeps bars. */
  readonly parts?: readonly string[]
  /** The day or month that the name ends with: `20261122`. */
  readonly period?: string
  /** Path below the folder that was opened, for messages. */
  readonly name: string
  readonly market: Market
  readonly content: Timeframe | 'funding'
  /** Spot prices stand in for those of the perpetual contract only where it has none. */
  readonly isSpot: boolean
}

/** A file that is not used, and why. */
export interface IgnoredRecording {
  readonly name: string
  readonly reason: string
}

/** Venues that are written otherwise than by their exchange code. */
const VENUE_NAMES: Readonly<Record<string, Exchange>> = { hyperliquid: 'HL' }

const QUOTE = /(?:USDT|USDC|USD)$/

// [exchange-]SYMBOL[-content[-label]].csv[.gz], with the exchange in lower and the symbol in upper case; a label
// after a dot tells pieces of a series apart.
const FILE_NAME =
  /^(?:([a-z][a-z0-9]*)-)?([A-Z0-9]+)(?:-([0-9]+[mhdwM]|funding))?(?:[-.]([a-z0-9]+))?\.csv(?:\.gz)?$/

/**
 * Reads what a file holds from its name and its folder's.
 *
 * The exchange is the lower-case word before the symbol, else the first word of the folder (`binance-usdm`,
 * `hyperliquid`), else `exchange`. The coin is the symbol without USDT, USDC or USD. In a folder `funding` a name
 * without a timeframe is of funding rates. A folder whose second word is `spot` holds spot prices.
 *
 * @example
 * readRecordingName('/data/binance-usdm/BTCUSDT-1h.csv.gz', 'binance-usdm', 'BTCUSDT-1h.csv.gz')
 * // { market: { exchange: 'BINANCE', coin: 'BTC' }, content: '1h', isSpot: false, … }
 */
export function readRecordingName(
  path: string,
  folder: string,
  name: string,
  exchange?: Exchange,
): Recording | IgnoredRecording {
  const match = FILE_NAME.exec(basename(path))
  if (match === null) return { name, reason: 'the name is not of the form {SYMBOL}-{timeframe}.csv.gz' }
  const [, venue, symbol = '', suffix, label] = match
  if (label === 'mark') return { name, reason: 'mark prices are not traded prices' }
  if (label === 'taker') return { name, reason: 'it has columns of order flow, which are not read' }

  const content = suffix ?? (folder === 'funding' ? 'funding' : '')
  if (content !== 'funding' && !isTimeframe(content)) {
    return { name, reason: `"${content}" is not one of the eleven timeframes, nor funding` }
  }
  const [folderVenue = '', market] = folder.split('-')
  const found = venue === undefined ? (exchangeOf(folderVenue) ?? exchange) : exchangeOf(venue)
  if (found === undefined) {
    const place = venue === undefined ? `folder "${folder}"` : `"${venue}"`
    return { name, reason: `${place} is not an exchange; known are ${EXCHANGES.join(', ')}` }
  }
  const coin = symbol.replace(QUOTE, '') || symbol
  if (!coinSchema.safeParse(coin).success) return { name, reason: `"${coin}" is too long for a coin` }
  const period = /^\d{6}(?:\d{2})?$/.test(label ?? '') ? label : undefined
  return {
    path,
    name,
    market: { exchange: found, coin },
    content,
    isSpot: market === 'spot',
    ...(period !== undefined && { period }),
  }
}

/** Joins the files of days or months of one series in one folder; what else there is stays as it is. */
export function joinPeriods(files: readonly Recording[]): Recording[] {
  const keyOf = ({ path, period, market, content }: Recording): string =>
    period === undefined
      ? path
      : `${dirname(path)} ${market.exchange} ${market.coin} ${content} ${period.length}`
  return [...Map.groupBy(files, keyOf).values()].map((group) => {
    const [first, ...rest] = group.toSorted((a, b) => ((a.period ?? '') < (b.period ?? '') ? -1 : 1))
    if (first === undefined || rest.length === 0) return group[0] as Recording
    return { ...first, name: `${first.name} and ${rest.length} more`, parts: rest.map(({ path }) => path) }
  })
}

export const isIgnored = (file: Recording | IgnoredRecording): file is IgnoredRecording => 'reason' in file

function exchangeOf(venue: string): Exchange | undefined {
  const code = venue.toUpperCase()
  return isExchange(code) ? code : VENUE_NAMES[venue.toLowerCase()]
}
