import type { BarsPage } from '../../../contracts/bars-answer.ts'
import type { Candle } from '../../../contracts/candle.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import type { FundingRate } from '../../../contracts/funding.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { marketName, type Series, seriesName } from '../../../contracts/series.ts'
import { barOpenAt, lastBarClose, timeframeMs } from '../../../contracts/timeframes.ts'
import type { MarketFeed } from '../../market/index.ts'
import { createLine, PROCESS_TIME } from '../../runtime/admission/line.ts'
import { RecentMap } from '../../runtime/cache/recent-map.ts'
import type { ServerOptions } from '../server.ts'

type BarsAsked = NonNullable<ServerOptions['bars']>
type Collected = Awaited<ReturnType<typeof collect>>

/** Stretches that were asked for a moment ago, by series and ends: a venue is not asked for the same again and again. */
const KEPT = 16
const KEPT_MS = 60_000

/**
 * Answers bars as the market has them now, one question at a time, since a venue lets itself be asked so often only;
 * of addresses in turn, so that nobody has the venue to themselves.
 */
export function createBars(feed: MarketFeed): BarsAsked {
  const line = createLine({
    places: 1,
    each: LIMITS.barsPerAddress,
    waiting: LIMITS.barsWaiting,
    heldMs: LIMITS.barsHeldMs,
    full: (whose, count) =>
      new ServiceError('rate_limited', {
        message: `${count} questions for bars ${whose === 'subject' ? 'of your address ' : ''}wait for the market; ask again in a few seconds`,
      }),
    time: PROCESS_TIME,
  })
  const kept = new RecentMap<string, Collected>(KEPT, { ttlMs: KEPT_MS, now: PROCESS_TIME.elapsed })
  return async (query, signal, asker) => {
    const leave = await line.enter(asker, signal)
    try {
      return await readBars(feed, kept, query, signal)
    } finally {
      leave()
    }
  }
}

/** @throws ServiceError `market_data_missing`, `venue_unavailable`, and what else the market refuses */
async function readBars(
  feed: MarketFeed,
  kept: RecentMap<string, Collected>,
  { series, from, to }: Parameters<BarsAsked>[0],
  signal: AbortSignal,
): Promise<BarsPage> {
  const barMs = timeframeMs(series.timeframe)
  const first = barOpenAt(series.timeframe, from + barMs - 1)
  const last = Math.min(to, lastBarClose(series.timeframe, feed.clock()))
  const end = Math.min(last, first + LIMITS.barsPerPage * barMs)
  const name = `${seriesName(series)} ${first} ${end}`
  const known = end > first ? kept.get(name) : { bars: [], funding: [] }
  const found = known ?? (await collect(feed, series, first, end, signal))
  // A caller that left has a part only.
  if (known === undefined && !signal.aborted) kept.set(name, found)
  const { bars, funding } = found
  return {
    ...series,
    market: feed.kind,
    source: SOURCES[feed.kind],
    from,
    to,
    bars,
    gaps: gapsIn(bars, first, end, barMs),
    funding,
    next: end < last ? end : null,
  }
}

const SOURCES = {
  simulated: 'made up from the seed of the market',
  recorded: 'recorded files',
  live: 'the venue, as it tells its history now',
} as const

async function collect(feed: MarketFeed, series: Series, from: number, to: number, signal: AbortSignal) {
  const [bars, funding]: [Candle[], FundingRate[]] = [[], []]
  const ending = new AbortController()
  const request = {
    series: [series],
    // As far as it was asked for, and not as far as a verdict needs.
    historyBars: 1,
    historyFrom: from,
    liveFrom: to,
    signal: AbortSignal.any([signal, ending.signal]),
  }
  const market = marketName(series)
  try {
    for await (const batch of feed.batches(request)) {
      // Of this series alone, and as each became known.
      for (const one of batch.bars)
        if (
          seriesName(one.series) === seriesName(series) &&
          one.candle.openTime >= from &&
          one.candle.openTime < to
        )
          bars.push(one.candle)
      for (const one of batch.funding)
        if (marketName(one.market) === market && one.funding.time < to) funding.push(one.funding)
      if (batch.phase === 'live' || batch.at >= to) break
    }
  } finally {
    ending.abort()
  }
  return { bars, funding }
}

/** Stretches of [from, to) in which no bar opens. */
function gapsIn(bars: readonly Candle[], from: number, to: number, barMs: number): BarsPage['gaps'] {
  const gaps: BarsPage['gaps'] = []
  let next = from
  for (const { openTime } of bars) {
    if (openTime > next) gaps.push({ from: next, to: openTime })
    next = openTime + barMs
  }
  if (next < to) gaps.push({ from: next, to })
  return gaps
}
