import { setImmediate } from 'node:timers/promises'
import { ServiceError } from '../../../contracts/errors.ts'
import type { Exchange } from '../../../contracts/exchanges.ts'
import type { BarBatch, FundingUpdate } from '../../../contracts/feed.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { type Coin, type Market, marketName, type Series, seriesName } from '../../../contracts/series.ts'
import { barOpenAt, HOUR_MS, MINUTE_MS, TIMEFRAMES, timeframeMs } from '../../../contracts/timeframes.ts'
import { BarAggregator } from '../aggregate-bars.ts'
import { ROW_NUMBERS } from '../bar-maker.ts'
import type { BatchesRequest, MarketFeed, MarketListing, NativeBars } from '../feed.ts'
import { planSource } from '../plan-source.ts'
import { createSimulatedBars, type SimulatedBars } from './simulated-bars.ts'
import { DEFAULT_SIMULATED_COINS } from './simulated-coins.ts'
import { rankSimulatedUniverse } from './simulated-universe.ts'

export interface SimulatedFeedOptions {
  /** Another seed is another market. */
  readonly seed: string
  /** The listed coins. Any other coin has bars, too. */
  readonly coins?: readonly Coin[]
  /** Market time, Unix milliseconds. */
  readonly now: () => number
  /** Ends once market time has reached an instant, or at once when the signal is aborted; does not reject. */
  readonly sleepUntil: (marketTime: number, signal: AbortSignal) => Promise<void>
  /** Bars of each series that come as history, instead of the number in the request. */
  readonly historyBars?: number
}

/** Batches of history between two turns of the event loop, which has others to serve meanwhile. */
const BATCHES_PER_TURN = 512

/** Hours and longer are made of 1h bars, shorter timeframes of 1m bars. */
const NATIVE: readonly NativeBars[] = [{ timeframe: '1m' }, { timeframe: '1h' }]

/**
 * A market that is made up: the exchange `SIM`, so that no verdict on it can pass for a real one. Its bars are a
 * pure function of seed, coin and time; therefore it has a past, and goes on after a stop without a gap.
 *
 * Bars that came due while the process slept are delivered in order, none is left out.
 *
 * @throws ServiceError from `batches`: `market_data_missing` for a series of another exchange.
 */
export function createSimulatedFeed(options: SimulatedFeedOptions): MarketFeed {
  const { seed, coins = DEFAULT_SIMULATED_COINS, now, sleepUntil } = options

  let ranTo = Number.NEGATIVE_INFINITY
  let progress: { barsDone: number; barsTotal: number } | undefined

  async function* batches(request: BatchesRequest): AsyncGenerator<BarBatch, void, undefined> {
    const { signal, liveFrom = now(), runFrom } = request
    const { historyFrom = Number.POSITIVE_INFINITY } = request
    const historyBars = options.historyBars ?? request.historyBars ?? LIMITS.historyBars
    const beginsToRun = new Map(
      request.series.map((one) => [
        seriesName(one),
        Math.min(liveFrom, runFrom?.(one, liveFrom) ?? liveFrom),
      ]),
    )
    const market = openMarket(seed, request, (series) => {
      const { timeframe } = series
      const runs = beginsToRun.get(seriesName(series)) ?? liveFrom
      const begins = barOpenAt(timeframe, runs) - historyBars * timeframeMs(timeframe)
      return Math.max(0, Math.min(begins, barOpenAt(timeframe, historyFrom)))
    })
    if (runFrom !== undefined) {
      ranTo = Number.POSITIVE_INFINITY
      progress = { barsDone: 0, barsTotal: barsToRun(request.series, beginsToRun, liveFrom) }
    }
    let at = market.begins
    let sinceTurn = 0
    let isHistoryTold = false
    // It counts for the first bar, from whichever series the market began.
    const before = market.settledAt(at)
    if (before.length > 0 && at <= liveFrom) yield { at, phase: 'history', bars: [], funding: before }
    while (!signal.aborted) {
      const next = market.instantAfter(at)
      if (next > liveFrom && !isHistoryTold) {
        isHistoryTold = true
        if (runFrom !== undefined) ranTo = liveFrom
        yield { at: liveFrom, phase: 'live', bars: [], funding: [] }
      }
      if (next > now()) {
        await sleepUntil(next, signal)
        continue
      }
      at = next
      const { bars, funding } = market.advanceTo(at)
      if (at > liveFrom) {
        if (bars.length > 0 || funding.length > 0) yield { at, phase: 'live', bars, funding }
      } else {
        const { run = [], history = [] } = Object.groupBy(bars, ({ series }) =>
          at > (beginsToRun.get(seriesName(series)) ?? liveFrom) ? 'run' : 'history',
        )
        if (history.length > 0 || funding.length > 0) yield { at, phase: 'history', bars: history, funding }
        if (run.length > 0) yield { at, phase: 'run', bars: run, funding: [] }
        if (progress !== undefined) progress.barsDone += run.length
      }
      if (++sinceTurn % BATCHES_PER_TURN === 0) await setImmediate()
    }
  }

  return {
    kind: 'simulated',
    clock: now,
    ranTo: () => ranTo,
    listings: () => Promise.resolve(coins.toSorted().map(listingOf)),
    batches,
    async universe(exchange) {
      if (exchange !== 'SIM') throw unknownExchangeError(exchange)
      return rankSimulatedUniverse(seed, coins, now())
    },
    isGone: () => false,
    venues: () => [],
    progress: () => progress,
  }
}

const barsToRun = (series: readonly Series[], begins: ReadonlyMap<string, number>, to: number): number =>
  series.reduce((bars, one) => {
    const from = begins.get(seriesName(one)) ?? to
    return bars + (barOpenAt(one.timeframe, to) - barOpenAt(one.timeframe, from)) / timeframeMs(one.timeframe)
  }, 0)

const listingOf = (coin: Coin): MarketListing => ({
  exchange: 'SIM',
  coin,
  native: NATIVE,
  timeframes: TIMEFRAMES,
  hasFunding: true,
})

/** The bars of one coin and where they go. */
interface CoinSources {
  readonly bars: SimulatedBars
  minutes?: number
  hours?: number
}

interface SimulatedMarket {
  /** Nothing is to be told before this instant. */
  readonly begins: number
  /** The instant after another at which bars close. */
  instantAfter(at: number): number
  settledAt(at: number): FundingUpdate[]
  /** Bars and funding of an instant; call it once for each instant, in order. */
  advanceTo(at: number): Pick<BarBatch, 'bars' | 'funding'>
}

function openMarket(
  seed: string,
  { series, funding = [] }: BatchesRequest,
  notBefore: (series: Series) => number,
): SimulatedMarket {
  const aggregator = new BarAggregator()
  const coins = new Map<Coin, CoinSources>()
  let minutesBegin = Number.POSITIVE_INFINITY
  let hoursBegin = Number.POSITIVE_INFINITY
  const sourcesOf = (market: Market): CoinSources => {
    if (market.exchange !== 'SIM') throw notSimulatedError(market)
    const known = coins.get(market.coin)
    const sources = known ?? { bars: createSimulatedBars(seed, market.coin) }
    coins.set(market.coin, sources)
    return sources
  }
  for (const one of new Map(series.map((each): [string, Series] => [seriesName(each), each])).values()) {
    const sources = sourcesOf(one)
    const base = planSource(one.timeframe, NATIVE)?.timeframe ?? '1m'
    const begins = notBefore(one)
    const source = aggregator.add({ series: one, base, notBefore: begins })
    if (base === '1m') {
      sources.minutes = source
      minutesBegin = Math.min(minutesBegin, begins)
    } else {
      sources.hours = source
      hoursBegin = Math.min(hoursBegin, begins)
    }
  }
  for (const market of funding) sourcesOf(market)
  // Funding alone has the past that hourly bars would have.
  if (hoursBegin === Number.POSITIVE_INFINITY && minutesBegin === Number.POSITIVE_INFINITY)
    hoursBegin = notBefore({ exchange: 'SIM', coin: '', timeframe: '1h' })
  const byName = [...coins].toSorted(([a], [b]) => (a < b ? -1 : 1))

  return {
    begins: Math.min(minutesBegin, hoursBegin),
    instantAfter: (at) =>
      at >= minutesBegin ? at + MINUTE_MS : Math.min(at + HOUR_MS, minutesBegin + MINUTE_MS),
    settledAt: (at) => settledAt(byName, at),
    advanceTo(at) {
      for (const [, sources] of byName) pushClosing(aggregator, sources, at, minutesBegin)
      return { bars: aggregator.close(at), funding: settledAt(byName, at) }
    },
  }
}

function pushClosing(
  aggregator: BarAggregator,
  { bars, minutes, hours }: CoinSources,
  at: number,
  minutesBegin: number,
): void {
  const hour = Math.ceil(at / HOUR_MS) - 1
  if (minutes !== undefined && at > minutesBegin) {
    const minute = (at - MINUTE_MS - hour * HOUR_MS) / MINUTE_MS
    aggregator.push(minutes, bars.minutes(hour), minute * ROW_NUMBERS)
  }
  if (hours !== undefined && at % HOUR_MS === 0) aggregator.push(hours, bars.hour(hour), 0)
}

const settledAt = (coins: readonly (readonly [Coin, CoinSources])[], at: number): FundingUpdate[] =>
  at % HOUR_MS !== 0
    ? []
    : coins.flatMap(([coin, { bars }]) => {
        const funding = bars.funding(at / HOUR_MS)
        return funding === undefined ? [] : [{ market: { exchange: 'SIM', coin }, funding }]
      })

const unknownExchangeError = (exchange: Exchange): ServiceError =>
  new ServiceError('unknown_exchange', {
    message: `${exchange} is not in the simulated market, whose exchange is SIM`,
    details: { given: exchange, available: ['SIM'] },
  })

const notSimulatedError = (market: Market): ServiceError =>
  new ServiceError('market_data_missing', {
    message: `${marketName(market)} is not in the simulated market, whose exchange is SIM; ask for SIM.${market.coin}`,
    details: { market: marketName(market) },
  })
