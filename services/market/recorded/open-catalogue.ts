import { type Coin, type Exchange, marketName } from '../../../contracts/domain/series.ts'
import { grouped, listText } from '../../../contracts/domain/statistics.ts'
import { TIMEFRAMES, type Timeframe } from '../../../contracts/domain/timeframes.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import type { MarketListing } from '../feed.ts'
import { derivableTimeframes } from '../plan-source.ts'
import { findRecordings } from './find-recordings.ts'
import { type RecordingSummary, summarise } from './read-recording.ts'
import { QUOTES } from './read-symbol.ts'
import type { IgnoredRecording, Recording } from './recording.ts'

/** Which part of a folder is wanted. */
export interface CatalogueOptions {
  /** The whole data set, one folder of it, or a folder of `{SYMBOL}-{timeframe}.csv[.gz]` files. */
  readonly folder: string
  /** The exchange of files whose folder and name do not say it. */
  readonly exchange?: Exchange
  /** Only these exchanges, coins and timeframes; absent means all. */
  readonly exchanges?: readonly Exchange[]
  readonly coins?: readonly Coin[]
  readonly timeframes?: readonly Timeframe[]
  /** Bars are replayed that close after `from` and not after `to`; what lies before `from` warms up. */
  readonly period?: { readonly from?: number; readonly to?: number }
  /** The present, Unix milliseconds: a row that is later than a day after it is refused. */
  readonly now?: number | undefined
  /** Told, once the files are read, of what the operator should know of them: a line each. */
  readonly report?: (notice: string) => void
}

/** A file that was read through and is used. */
export interface SummarisedRecording extends Recording {
  readonly summary: RecordingSummary
}

/** A market and the files that hold it. */
export interface RecordedMarket {
  readonly listing: MarketListing
  readonly candles: readonly SummarisedRecording[]
  readonly funding: SummarisedRecording | undefined
}

export interface Catalogue {
  /** By market name, ordered by exchange and coin. */
  readonly markets: ReadonlyMap<string, RecordedMarket>
  readonly ignored: readonly IgnoredRecording[]
}

/** Files read at the same time: unpacking runs beside parsing. */
const FILES_AT_A_TIME = 4

/** Names that a message lists before it says how many more there are. */
const NAMES_IN_MESSAGE = 20

/**
 * Finds the files that are wanted, reads each through once, and settles which file serves a series that several
 * hold: a perpetual contract before spot, USDT before USDC before USD, then the longest, then the first by name.
 *
 * @throws ServiceError `market_data_missing` where no bars are left, saying what there is; `market_data_damaged`
 */
export async function openCatalogue(options: CatalogueOptions): Promise<Catalogue> {
  const { folder, exchanges, coins, period, now, report } = options
  const { recordings, ignored } = await findRecordings(folder, options.exchange)
  if (recordings.length === 0) throw nothingFoundError(folder, ignored)
  const wanted = recordings.filter(
    ({ market }) => (exchanges?.includes(market.exchange) ?? true) && (coins?.includes(market.coin) ?? true),
  )
  const notices = new Map<string, string[]>()
  const notice = (what: string, file: string) => notices.set(what, [...(notices.get(what) ?? []), file])
  const onConverted = (file: string, unit: string) =>
    notice(`times in ${unit} were converted to milliseconds`, file)
  const summarised: SummarisedRecording[] = []
  for (let start = 0; start < wanted.length; start += FILES_AT_A_TIME) {
    const reading = wanted.slice(start, start + FILES_AT_A_TIME).map(async (recording) => ({
      ...recording,
      summary: await summarise(recording, period?.to ?? Number.POSITIVE_INFINITY, { now, onConverted }),
    }))
    summarised.push(...(await Promise.all(reading)))
  }
  const usable = summarised.filter(({ name, summary: { rows, last } }) => {
    if (rows > 0 && last > (period?.from ?? 0)) return true
    ignored.push({ name, reason: rows === 0 ? 'it has no rows in the period' : 'it ends before the period' })
    return false
  })
  const groups = [...Map.groupBy(usable, ({ market }) => marketName(market))].toSorted(byName)
  const chosen = groups.map(([name, files]) => [name, chooseFiles(files, ignored)] as const)
  const markets = new Map(
    chosen
      .map(([name, files]) => [name, marketOf(files, options.timeframes ?? TIMEFRAMES)] as const)
      .filter(([, { listing }]) => listing.timeframes.length > 0 || listing.hasFunding),
  )
  const hasBars = [...markets.values()].some(({ listing }) => listing.timeframes.length > 0)
  if (!hasBars) throw nothingLeftError(options, recordings, summarised)
  for (const { name, reason } of ignored) notice('not used', `${name} (${reason})`)
  for (const { name, summary } of chosen.flatMap(([, files]) => files))
    if (summary.missing > 0) notice('bars are missing', `${name} (${missingText(summary)})`)
  for (const [what, files] of [...notices].toSorted(byName))
    report?.(`${what}: ${listText(files.toSorted(), NAMES_IN_MESSAGE)}`)
  return { markets, ignored }
}

const byName = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number => (a < b ? -1 : 1)

const missingText = ({ rows, missing, hole: { from, to } }: RecordingSummary): string =>
  `${grouped(missing)} of ${grouped(rows + missing)}; the longest hole is from ${dateOf(from)} to ${dateOf(to)}`

/**
 * The files of a market that are used, one for each kind of content: those in the first of the quotes in which its
 * perpetual contract has bars, or else spot, for a volume or a funding rate of another contract is another market's.
 */
function chooseFiles(
  files: readonly SummarisedRecording[],
  ignored: IgnoredRecording[],
): SummarisedRecording[] {
  const candles = files.filter(({ content }) => content !== 'funding')
  const pool =
    [candles.filter(({ isSpot }) => !isSpot), candles, files].find(({ length }) => length > 0) ?? []
  const chosen = QUOTES.find((quote) => pool.some((file) => (file.quote ?? QUOTES[0]) === quote))
  const best = new Map<Recording['content'], SummarisedRecording>()
  for (const file of files) {
    if (file.quote !== undefined && file.quote !== chosen) {
      const reason = `its prices are in ${file.quote}; ${marketName(file.market)} has those in ${chosen}`
      ignored.push({ name: file.name, reason })
      continue
    }
    const rival = best.get(file.content)
    const [winner, loser] = rival === undefined || isBetter(file, rival) ? [file, rival] : [rival, file]
    best.set(file.content, winner)
    if (loser !== undefined) ignored.push({ name: loser.name, reason: reasonAgainst(loser, winner) })
  }
  return [...best.values()]
}

const isBetter = (a: SummarisedRecording, b: SummarisedRecording): boolean =>
  a.isSpot === b.isSpot ? spanOf(a) > spanOf(b) : b.isSpot

const spanOf = ({ summary }: SummarisedRecording): number => summary.last - summary.first

const reasonAgainst = (loser: SummarisedRecording, winner: SummarisedRecording): string =>
  loser.isSpot && !winner.isSpot
    ? `spot prices; ${winner.name} has those of the perpetual contract`
    : `${winner.name} holds the same series, for as long or longer`

function marketOf(files: readonly SummarisedRecording[], timeframes: readonly Timeframe[]): RecordedMarket {
  const candles = files.filter((file) => file.content !== 'funding')
  const funding = files.find((file) => file.content === 'funding')
  const native = candles.map(({ content, summary: { first, last } }) => ({
    timeframe: content as Timeframe,
    firstOpen: first,
    lastClose: last,
  }))
  const derivable = derivableTimeframes(native).filter((timeframe) => timeframes.includes(timeframe))
  const { market } = files[0] as SummarisedRecording
  const listing = { ...market, native, timeframes: derivable, hasFunding: funding !== undefined }
  return { listing, candles, funding }
}

function nothingFoundError(folder: string, ignored: readonly IgnoredRecording[]): ServiceError {
  const left = ignored.map(({ name, reason }) => `${name} (${reason})`)
  const seen = left.length === 0 ? 'it is empty' : `not used: ${listText(left, NAMES_IN_MESSAGE)}`
  return new ServiceError('market_data_missing', {
    message: `no candle files in ${folder}: ${seen}. Expected {SYMBOL}-{timeframe}.csv, .csv.gz or .zip in a folder named after its exchange, such as binance-usdm/BTCUSDT-1h.csv.gz`,
    details: { folder },
  })
}

function nothingLeftError(
  { folder, exchanges, coins, timeframes, period }: CatalogueOptions,
  recordings: readonly Recording[],
  summarised: readonly SummarisedRecording[],
): ServiceError {
  const filters = Object.entries({ exchanges, coins, timeframes, ...period }).flatMap(([what, value]) => {
    if (value === undefined) return []
    return `${what} ${typeof value === 'number' ? dateOf(value) : value.join(', ')}`
  })
  const ranges = new Map(summarised.map(({ name, summary }) => [name, summary]))
  const existing = recordings.map(({ name, market, content }) => {
    const range = ranges.get(name)
    const span =
      range === undefined || range.rows === 0 ? '' : ` (${dateOf(range.first)} to ${dateOf(range.last)})`
    return `${marketName(market)} ${content}${span}`
  })
  return new ServiceError('market_data_missing', {
    message: `nothing in ${folder} fits ${filters.join('; ') || 'what was asked for'}. There is: ${listText([...new Set(existing)], NAMES_IN_MESSAGE)}`,
    details: { folder },
  })
}

const dateOf = (timeMs: number): string => new Date(timeMs).toISOString().slice(0, 16)
