import type { BarsAnswer } from '../../contracts/bars-answer.ts'
import type { Candle } from '../../contracts/candle.ts'
import { ServiceError } from '../../contracts/errors.ts'
import type { FundingRate } from '../../contracts/funding.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { marketName, type Series, seriesName } from '../../contracts/series.ts'
import { barOpenAt, lastBarClose, timeframeMs } from '../../contracts/timeframes.ts'
import type { ServerOptions } from '../api/index.ts'
import type { MarketFeed } from '../market/index.ts'

type BarsAsked = NonNullable<ServerOptions['bars']>

/** Requests that wait for their turn; each may ask a venue for pages of history. */
const MOST_WAITING = 16

/** Answers bars as the market has them now, one question at a time: a venue lets itself be asked so often only. */
export function createBars(feed: MarketFeed): BarsAsked {
  let turn: Promise<unknown> = Promise.resolve()
  let waiting = 0
  return async (query, signal) => {
    if (waiting >= MOST_WAITING)
      throw new ServiceError('rate_limited', {
        message: `${MOST_WAITING} others wait for bars; ask again in a few seconds`,
      })
    waiting += 1
    const answer = turn.then(() => readBars(feed, query, signal))
    turn = answer.catch(() => undefined)
    try {
      return await answer
    } finally {
      waiting -= 1
    }
  }
}

/** @throws ServiceError `market_data_missing`, `venue_unavailable`, and what else the market refuses */
async function readBars(
  feed: MarketFeed,
  { series, from, to }: Parameters<BarsAsked>[0],
  signal: AbortSignal,
): Promise<BarsAnswer> {
  const barMs = timeframeMs(series.timeframe)
  const first = barOpenAt(series.timeframe, from + barMs - 1)
  const last = Math.min(to, lastBarClose(series.timeframe, feed.clock()))
  const end = Math.min(last, first + LIMITS.barsPerPage * barMs)
  const { bars, funding } =
    end > first ? await collect(feed, series, first, end, signal) : { bars: [], funding: [] }
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
  live: 'the venue: as it told them when they closed where they were kept, else as it tells its history now',
} as const

async function collect(feed: MarketFeed, series: Series, from: number, to: number, signal: AbortSignal) {
  const [bars, funding]: [Candle[], FundingRate[]] = [[], []]
  const ending = new AbortController()
  const request = {
    series: [series],
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
function gapsIn(bars: readonly Candle[], from: number, to: number, barMs: number): BarsAnswer['gaps'] {
  const gaps: BarsAnswer['gaps'] = []
  let next = from
  for (const { openTime } of bars) {
    if (openTime > next) gaps.push({ from: next, to: openTime })
    next = openTime + barMs
  }
  if (next < to) gaps.push({ from: next, to })
  return gaps
}
