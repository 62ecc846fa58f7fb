import type { BarsPage } from '../../contracts/answers/bars.ts'
import type { Candle, FundingRate } from '../../contracts/domain/candle.ts'
import { marketName, type Series, seriesName } from '../../contracts/domain/series.ts'
import { barOpenAt, lastBarClose, timeframeMs } from '../../contracts/domain/timeframes.ts'
import { ServiceError } from '../../contracts/errors/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { createLine, PROCESS_TIME } from '../runtime/admission/line.ts'
import { RecentMap } from '../runtime/cache/recent-map.ts'
import type { MarketFeed } from './feed.ts'

/**
 * Bars that open in [from, to).
 *
 * @param asker the site of the caller's address; sites take turns
 * @throws ServiceError `market_data_missing`, `venue_unavailable`, `rate_limited`
 */
export type ReadBars = (
  query: { readonly series: Series; readonly from: number; readonly to: number },
  signal: AbortSignal,
  asker: string,
) => Promise<BarsPage>
type Bars = Pick<BarsPage, 'bars' | 'funding'>

/** Pages that were asked for a moment ago, by series and ends: a venue is not asked for the same again and again. */
const CACHED = 16
const CACHED_MS = 60_000

const SOURCES = {
  simulated: 'made up from the seed of the market',
  recorded: 'recorded files',
  live: 'the venue, as it tells its history now',
} as const

/**
 * Answers bars as the market has them now, one request at a time, since a venue lets itself be asked so often only;
 * addresses take turns, so that nobody has the venue to themselves.
 */
export function createBars(feed: MarketFeed): ReadBars {
  const queue = createLine({
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
  const cached = new RecentMap<string, Bars>(CACHED, { ttlMs: CACHED_MS, now: PROCESS_TIME.elapsed })

  /** @throws ServiceError `market_data_missing`, `venue_unavailable`, and what else the market refuses */
  async function read(series: Series, from: number, to: number, signal: AbortSignal): Promise<Bars> {
    if (to <= from) return { bars: [], funding: [] }
    const name = `${seriesName(series)} ${from} ${to}`
    const known = cached.get(name)
    if (known !== undefined) return known
    const found = await collect(feed, series, from, to, signal)
    // A caller that left has a part only.
    if (!signal.aborted) cached.set(name, found)
    return found
  }

  return async ({ series, from, to }, signal, asker) => {
    const leave = await queue.enter(asker, signal)
    try {
      const barMs = timeframeMs(series.timeframe)
      const first = barOpenAt(series.timeframe, from + barMs - 1)
      const last = Math.min(to, lastBarClose(series.timeframe, feed.clock()))
      const end = Math.min(last, first + LIMITS.barsPerPage * barMs)
      const { bars, funding } = await read(series, first, end, signal)
      const gaps = gapsIn(bars, first, end, barMs)
      const { kind: market } = feed
      const next = end < last ? end : null
      return { ...series, market, source: SOURCES[market], from, to, bars, gaps, funding, next }
    } finally {
      leave()
    }
  }
}

async function collect(
  feed: MarketFeed,
  series: Series,
  from: number,
  to: number,
  signal: AbortSignal,
): Promise<Bars> {
  const [bars, funding]: [Candle[], FundingRate[]] = [[], []]
  const [name, market] = [seriesName(series), marketName(series)]
  const ending = new AbortController()
  const request = {
    series: [series],
    // As far as it was asked for, and not as far as a verdict needs.
    historyBars: 1,
    historyFrom: from,
    liveFrom: to,
    signal: AbortSignal.any([signal, ending.signal]),
  }
  try {
    for await (const batch of feed.batches(request)) {
      // Of this series alone, and as each became known.
      for (const { series: one, candle } of batch.bars)
        if (seriesName(one) === name && candle.openTime >= from && candle.openTime < to) bars.push(candle)
      for (const { market: one, funding: rate } of batch.funding)
        if (marketName(one) === market && rate.time < to) funding.push(rate)
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
