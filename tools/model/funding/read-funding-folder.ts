import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import { EXCHANGES, type Exchange } from '../../../contracts/exchanges.ts'
import type { FundingUpdate } from '../../../contracts/feed.ts'
import { type Market, marketName } from '../../../contracts/series.ts'
import { HOUR_MS, MINUTE_MS } from '../../../contracts/timeframes.ts'

/** `{exchange}-{SYMBOL}[-funding[-label]].csv.gz`; without the exchange, its folder begins with it. */
const FILE_NAME = /^(?:([a-z]+)-)?([A-Z0-9]+?)(?:USDT|USDC)?(-funding(?:-\w+)?)?\.csv\.gz$/
const VENUE_NAMES: Readonly<Record<string, Exchange>> = { hyperliquid: 'HL' }
/** Intervals of the venues, in hours; what comes later than the longest came late. */
const INTERVALS_HOURS: readonly number[] = [1, 2, 4, 8]
const LONGEST_HOURS = 8

/**
 * The settlements of every funding file in the folders of a folder, for studies, oldest first. Files of one
 * market are joined. The columns are `ts` (Unix milliseconds) and `rate` (fraction for one interval). Files do
 * not say intervals, so a settlement's is taken from the nearer of its neighbours.
 *
 * @throws ServiceError `market_data_damaged`
 */
export function readFundingFolder(folder: string): FundingUpdate[] {
  const markets = new Map<string, { readonly market: Market; readonly rates: Map<number, number> }>()
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (!entry.isDirectory()) continue
    for (const name of readdirSync(join(folder, entry.name)).toSorted()) {
      const market = marketOf(entry.name, name)
      if (market === undefined) continue
      const known = markets.get(marketName(market)) ?? { market, rates: new Map<number, number>() }
      markets.set(marketName(market), known)
      for (const [time, rate] of readRates(join(folder, entry.name, name))) known.rates.set(time, rate)
    }
  }
  return [...markets.values()]
    .flatMap(({ market, rates }) => settlementsOf(market, rates))
    .toSorted((a, b) => a.funding.time - b.funding.time)
}

function marketOf(folder: string, name: string): Market | undefined {
  const [, venue = folder.split('-')[0] ?? '', coin = '', suffix] = FILE_NAME.exec(name) ?? []
  if (coin === '' || (suffix === undefined && folder !== 'funding')) return undefined
  const exchange = VENUE_NAMES[venue] ?? EXCHANGES.find((code) => code === venue.toUpperCase())
  return exchange === undefined ? undefined : { exchange, coin }
}

function* readRates(file: string): Generator<readonly [number, number]> {
  const [, ...lines] = textOf(file).trimEnd().split('\n')
  for (const [index, line] of lines.entries()) {
    const [time = Number.NaN, rate = Number.NaN] = line.split(',').map(Number)
    // Row 1 is the header.
    if (!(time >= 0 && Math.abs(rate) <= 1))
      throw damagedError(file, `row ${index + 2}, "${line}", is no settlement`)
    yield [Math.round(time / MINUTE_MS) * MINUTE_MS, rate]
  }
}

function textOf(file: string): string {
  try {
    return gunzipSync(readFileSync(file)).toString('utf8')
  } catch (error) {
    throw damagedError(file, reasonOf(error), error)
  }
}

const damagedError = (file: string, fault: string, cause?: unknown): ServiceError =>
  new ServiceError('market_data_damaged', { message: `${basename(file)}: ${fault}.`, cause })

function settlementsOf(market: Market, rates: ReadonlyMap<number, number>): FundingUpdate[] {
  const times = [...rates.keys()].toSorted((a, b) => a - b)
  const stepAfter = (index: number): number =>
    ((times[index + 1] ?? Number.POSITIVE_INFINITY) - (times[index] ?? Number.NEGATIVE_INFINITY)) / HOUR_MS
  return times.map((time, index) => {
    const nearest = Math.min(stepAfter(index - 1), stepAfter(index))
    const intervalHours = INTERVALS_HOURS.find((hours) => hours >= nearest) ?? LONGEST_HOURS
    return { market, funding: { time, rate: rates.get(time) ?? Number.NaN, intervalHours } }
  })
}
