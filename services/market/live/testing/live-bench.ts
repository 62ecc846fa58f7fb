import type { BarBatch } from '../../../../contracts/domain/feed.ts'
import type { Coin } from '../../../../contracts/domain/series.ts'
import { type Timeframe, timeframeMs } from '../../../../contracts/domain/timeframes.ts'
import type { BatchesRequest, MarketFeed } from '../../feed.ts'
import { createRandom } from '../../simulated/random.ts'
import { loadCcxt } from '../ccxt-client.ts'
import { LiveFeed, type VenueNotice } from '../live-feed.ts'
import type { LiveExchange } from '../venues.ts'
import { createFakeMarket, type FakeMarketOptions } from './fake-market.ts'
import { type FakeVenue, startFakeVenue } from './fake-venue.ts'
import { VENUE_FORMATS } from './venue-formats.ts'
import { addressOf, createVirtualClock, type VirtualClock } from './virtual-clock.ts'

/** A live feed on venues that are made up, on a clock that is. */
export interface LiveBench {
  readonly clock: VirtualClock
  readonly feed: MarketFeed
  readonly notices: readonly VenueNotice[]
  venue(exchange: LiveExchange): FakeVenue
  /** Batches until one says so, with time passing as it must. */
  collect(request: Omit<BatchesRequest, 'signal'>, isLast: (batch: BarBatch) => boolean): Promise<BarBatch[]>
  close(): Promise<void>
}

/** A noon, and when a bench starts: twenty seconds later, so that the bars of noon have settled. */
export const NOON = Date.UTC(2026, 2, 3, 12)
export const START = NOON + 20_000

/** Open times one after another, the last of them closing at an instant. */
export const unbroken = (timeframe: Timeframe, count: number, lastClose: number): number[] =>
  Array.from({ length: count }, (_, index) => lastClose - (count - index) * timeframeMs(timeframe))

export interface LiveBenchOptions {
  readonly exchanges: readonly LiveExchange[]
  /** BTC unless said. */
  readonly coins?: readonly Coin[]
  /** {@link START} unless said. */
  readonly start?: number
  readonly historyBars?: number
  readonly isMissing?: FakeMarketOptions['isMissing']
  /** How far the clocks of the venues are behind. */
  readonly venuesBehindMs?: number | (() => number)
}

/** @example await using bench = await startLiveBench({ exchanges: ['OKX'] }) */
export async function startLiveBench(options: LiveBenchOptions): Promise<LiveBench & AsyncDisposable> {
  const venues = new Map<LiveExchange, FakeVenue>()
  const clock = createVirtualClock(options.start ?? START, (input, init) => {
    const venue = [...venues.values()].find(({ url }) => addressOf(input).startsWith(url))
    return (venue?.fetch ?? fetch)(input, init)
  })
  const { venuesBehindMs = 0 } = options
  const behindMs = typeof venuesBehindMs === 'number' ? () => venuesBehindMs : venuesBehindMs
  const notices: VenueNotice[] = []
  for (const exchange of options.exchanges) {
    const market = createFakeMarket({
      seed: exchange,
      coins: options.coins ?? ['BTC'],
      now: () => clock.now() - behindMs(),
      ...(options.isMissing && { isMissing: options.isMissing }),
    })
    venues.set(exchange, await startFakeVenue(VENUE_FORMATS[exchange], market))
  }
  // Loading takes real time, in which a clock like this one would run away.
  await loadCcxt()
  const random = createRandom(1)
  const feed = new LiveFeed({
    exchanges: options.exchanges,
    venueUrls: Object.fromEntries([...venues].map(([exchange, { url }]) => [exchange, url])),
    now: clock.now,
    sleep: clock.sleep,
    fetch: clock.fetch,
    random: () => random.uniform(),
    report: (notice) => void notices.push(notice),
    ...(options.historyBars !== undefined && { historyBars: options.historyBars }),
  })
  const close = async (): Promise<void> => {
    await Promise.all([...venues.values()].map((venue) => venue.close()))
  }
  return {
    clock,
    feed,
    notices,
    venue: (exchange) => venues.get(exchange) as FakeVenue,
    collect: (request, isLast) => clock.runUntil(collect(feed, request, isLast)),
    close,
    [Symbol.asyncDispose]: close,
  }
}

async function collect(
  feed: MarketFeed,
  request: Omit<BatchesRequest, 'signal'>,
  isLast: (batch: BarBatch) => boolean,
): Promise<BarBatch[]> {
  const ending = new AbortController()
  const batches: BarBatch[] = []
  for await (const batch of feed.batches({ ...request, signal: ending.signal })) {
    batches.push(batch)
    if (isLast(batch)) break
  }
  ending.abort()
  return batches
}
