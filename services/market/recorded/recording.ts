import { basename } from 'node:path'
import {
  coinSchema,
  EXCHANGES,
  type Exchange,
  isExchange,
  type Market,
} from '../../../contracts/domain/series.ts'
import { isTimeframe, type Timeframe } from '../../../contracts/domain/timeframes.ts'
import { QUOTE, type Quote, readSymbol } from './read-symbol.ts'

/** The content of a candle or funding file, according to its folders and file name. */
export interface Recording {
  readonly path: string
  /** Further files that go on where it ends, in order; each of a day, a month or a year. */
  readonly parts?: readonly string[]
  /** The day, month or year that the name ends with: `20261122`. */
  readonly period?: string
  /** Path below the folder that was opened, for messages. */
  readonly name: string
  readonly market: Market
  readonly content: Timeframe | 'funding'
  /** The currency of its prices, if the name says it. */
  readonly quote?: Quote
  /** Spot prices stand in for those of the perpetual contract only where it has none. */
  readonly isSpot: boolean
  /** The folder of its exchange: files of days, months and years below it are parts of one another. */
  readonly home: string
}

/** A file that is not used, and why. */
export interface IgnoredRecording {
  readonly name: string
  readonly reason: string
}

/** Venues that are written otherwise than by their exchange code. */
const VENUE_NAMES: Readonly<Record<string, Exchange>> = { hyperliquid: 'HL' }

// [exchange-]SYMBOL[-content[-label]] and its ending, with the exchange in lower and the symbol in upper case; a label
// is a day, month or year, or tells pieces of a series apart.
const FILE_NAME =
  /^(?:([a-z][a-z0-9]*)-)?([A-Z0-9]+(?:_(?:PERP|\d{6}))?)(?:-([0-9]+(?:[smhdwM]|mo)|funding)(?:Rate)?)?(?:[-.]([a-z0-9]+|\d{4}(?:-\d{2}){1,2}))?\.(?:csv|csv\.gz|zip)$/

const PERIOD = /^\d{4}(?:-?\d{2}){0,2}$/

/** The folders of the public archives of Binance, which lie below a folder of any name. */
const ARCHIVE = /^(.*\/(spot|futures\/(?:um|cm)))\/(?:daily|monthly)\/\w+\//

const NOT_TRADED = /\/(mark|index|premium)\w*Klines\//
const SPOT_FOLDER = /(?:^|[-_])spot(?:$|[-_])/i
const INVERSE_FOLDER = /(?:^|[-_])(?:coin-?m|cm|inverse)(?:$|[-_])/i

/**
 * Reads what a file holds from its name and its folders'.
 *
 * The exchange is the lower-case word before the symbol, else the first word of the nearest folder that has the name of
 * one (`binance-usdm`, `hyperliquid`), else BINANCE in the folders of its public archive, else `exchange`. In a folder
 * `funding` a name without a timeframe is of funding rates.
 *
 * @param folder the folders of the file, with slashes between them
 */
export function readRecordingName(
  path: string,
  folder: string,
  name: string,
  exchange?: Exchange,
): Recording | IgnoredRecording {
  const match = FILE_NAME.exec(basename(path))
  if (match === null)
    return { name, reason: 'the name is not of the form {SYMBOL}-{timeframe}.csv, .csv.gz or .zip' }
  const [, venue, symbol = '', suffix, label = ''] = match
  const notTraded = label === 'mark' ? label : NOT_TRADED.exec(path)?.[1]
  if (notTraded !== undefined) return { name, reason: `${notTraded} prices are not traded prices` }
  if (label === 'taker') return { name, reason: 'it has columns of order flow, which are not read' }

  const folders = folder.split('/')
  const content = suffix ?? (folders.at(-1) === 'funding' ? 'funding' : '')
  if (content !== 'funding' && !isTimeframe(content)) {
    return { name, reason: `"${content}" is not one of the eleven timeframes, nor funding` }
  }
  const archive = ARCHIVE.exec(path)
  // A folder may have the name of the coin, and some coins have that of an exchange.
  const nearest = folders.findLastIndex(
    (one) => one !== symbol.replace(QUOTE, '') && exchangeIn(one) !== undefined,
  )
  const named = nearest === -1 ? folders.findIndex((one) => exchangeIn(one) !== undefined) : nearest
  const inFolder = exchangeIn(folders[named] ?? '') ?? (archive === null ? exchange : 'BINANCE')
  const found = venue === undefined ? inFolder : exchangeOf(venue)
  if (found === undefined) {
    const place = venue === undefined ? `folder "${folder}"` : `"${venue}"`
    return { name, reason: `${place} is not an exchange; known are ${EXCHANGES.join(', ')}` }
  }
  const near = folders.slice(named === -1 ? Math.min(1, folders.length - 1) : named)
  const isSpot = archive?.[2] === 'spot' || near.some((one) => SPOT_FOLDER.test(one))
  const isInverse = archive?.[2] === 'futures/cm' || near.some((one) => INVERSE_FOLDER.test(one))
  const read = readSymbol(symbol, found, { isSpot, isInverse, isPair: archive !== null })
  if ('reason' in read) return { name, reason: read.reason }
  const { coin, quote } = read
  if (!coinSchema.safeParse(coin).success) return { name, reason: `"${coin}" is too long for a coin` }
  return {
    path,
    name,
    market: { exchange: found, coin },
    content,
    isSpot,
    home: archive?.[1] ?? folders.slice(0, named + 1).join('/'),
    ...(quote !== undefined && { quote }),
    ...(PERIOD.test(label) && { period: label.replaceAll('-', '') }),
  }
}

/**
 * Joins the files of days, months and years of one series below the folder of its exchange; what else there is stays as
 * it is, and comes first. A file is not used where another one of the same time, or of its month or year, is there.
 */
export function joinPeriods(files: readonly Recording[]) {
  const ignored: IgnoredRecording[] = []
  const groups = Map.groupBy(files, ({ path, period, home, market, content, quote, isSpot }) =>
    period === undefined ? path : [home, market.exchange, market.coin, content, quote, isSpot].join(' '),
  )
  const recordings = [...groups.values()].map((group): Recording => {
    const byPeriod = new Map<string, Recording>()
    for (const file of group.toSorted((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1))) {
      const { period = '', name } = file
      const holder = [4, 6, 8].map((digits) => byPeriod.get(period.slice(0, digits))).find(Boolean)
      if (holder === undefined) byPeriod.set(period, file)
      else ignored.push({ name, reason: `${holder.name} holds the same time` })
    }
    const [first = group[0] as Recording, ...rest] = byPeriod.values()
    if (rest.length === 0) return first
    return { ...first, name: `${first.name} and ${rest.length} more`, parts: rest.map(({ path }) => path) }
  })
  // What is as long is chosen by its order: a file of a whole series comes before those of its months.
  return { recordings: recordings.toSorted((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1)), ignored }
}

const orderOf = ({ period = '', name }: Recording): string => `${period} ${name}`

export const isIgnored = (file: Recording | IgnoredRecording): file is IgnoredRecording => 'reason' in file

const exchangeIn = (folder: string): Exchange | undefined => exchangeOf(folder.split('-')[0] ?? '')

function exchangeOf(venue: string): Exchange | undefined {
  const code = venue.toUpperCase()
  return isExchange(code) ? code : VENUE_NAMES[venue.toLowerCase()]
}
