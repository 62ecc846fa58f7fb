import { setImmediate } from 'node:timers/promises'
import type { BarBatch, FundingUpdate } from '../../../contracts/domain/feed.ts'
import {
  type Coin,
  type Exchange,
  type Market,
  marketName,
  type Series,
  seriesName,
} from '../../../contracts/domain/series.ts'
import {
  barOpenAt,
  HOUR_MS,
  MINUTE_MS,
  TIMEFRAMES,
  type Timeframe,
  timeframeMs,
} from '../../../contracts/domain/timeframes.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
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

/** Instants of the past, times coins, before it is looked at who waits for what: 3 ms where they are hours. */
const COIN_INSTANTS_PER_STEP = 192
/** Steps between two turns of the event loop, which has others to serve; a run makes fewer appends of more. */
const STEPS_PER_TURN = { history: 2, run: 16 } as const

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
    const past = new Past(seed, request, liveFrom, options.historyBars ?? request.historyBars)
    if (runFrom !== undefined) {
      ranTo = Number.POSITIVE_INFINITY
      progress = { barsDone: 0, barsTotal: past.barsToRun() }
    }
    for (let steps = 1; !signal.aborted; steps++) {
      const next = past.nextLive()
      const group = past.nextGroup()
      let isHistory = group !== undefined
      if (next <= now()) yield* past.liveAt(next)
      else if (group === undefined) await sleepUntil(next, signal)
      for (const batch of group === undefined ? [] : past.advance(group)) {
        if (progress !== undefined && batch.phase === 'run') progress.barsDone += batch.bars.length
        if (runFrom !== undefined && batch.phase === 'live' && past.isOver()) ranTo = liveFrom
        isHistory &&= batch.phase !== 'run'
        yield batch
      }
      if (steps % STEPS_PER_TURN[isHistory ? 'history' : 'run'] === 0) await setImmediate()
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

const listingOf = (coin: Coin): MarketListing => ({
  exchange: 'SIM',
  coin,
  native: NATIVE,
  timeframes: TIMEFRAMES,
  hasFunding: true,
})

/** Timeframes whose pasts are about as long go through them together; hours first, for they are asked for most. */
const TOGETHER: readonly (readonly Timeframe[])[] = [
  ['1h'],
  ['1m', '3m', '5m'],
  ['15m', '30m', '2h'],
  ['4h', '8h', '12h', '1d'],
]

/** Series that go through their past together, and whose batches are their own from then on. */
interface Group {
  readonly of: ReadonlySet<string> | undefined
  readonly market: SimulatedMarket
  at: number
  isLive: boolean
}

/**
 * The past of some series and what follows it. Where the clock is run, the first series goes through its past alone, and
 * then groups of others: series that callers wait for come before them, so that a call need not wait for all.
 */
class Past {
  readonly #seed: string
  readonly #request: BatchesRequest
  readonly #liveFrom: number
  readonly #historyBars: number
  readonly #drawn = new Map<Coin, SimulatedBars>()
  /** By name, after which instant the clock is run through the bars of a series. */
  readonly #runs: ReadonlyMap<string, number>
  readonly #begun: Group[] = []
  readonly #waiting: (readonly Series[])[]

  constructor(
    seed: string,
    request: BatchesRequest,
    liveFrom: number,
    historyBars: number = LIMITS.historyBars,
  ) {
    const { series, runFrom } = request
    this.#seed = seed
    this.#request = request
    this.#liveFrom = liveFrom
    this.#historyBars = historyBars
    this.#runs = new Map(
      series.map((one) => [seriesName(one), Math.min(liveFrom, runFrom?.(one, liveFrom) ?? liveFrom)]),
    )
    this.#waiting =
      runFrom === undefined
        ? [series]
        : TOGETHER.map((some) => series.filter(({ timeframe }) => some.includes(timeframe)))
  }

  readonly #runsFrom = (one: Series): number => this.#runs.get(seriesName(one)) ?? this.#liveFrom

  #begin(some: readonly Series[]): Group {
    const { runFrom, historyFrom = Number.POSITIVE_INFINITY } = this.#request
    const market = openMarket(this.#seed, this.#drawn, some, (one) => {
      const { timeframe } = one
      const begins = barOpenAt(timeframe, this.#runsFrom(one)) - this.#historyBars * timeframeMs(timeframe)
      return Math.max(0, Math.min(begins, barOpenAt(timeframe, historyFrom)))
    })
    const of = runFrom && new Set(some.map(seriesName))
    const group = { of, market, at: market.begins, isLive: false }
    this.#begun.push(group)
    return group
  }

  /** Begins with one series, apart from those that it waits with. */
  #beginAlone(name: string): Group | undefined {
    for (const [index, some] of this.#waiting.entries()) {
      const alone = some.filter((one) => seriesName(one) === name)
      if (alone.length === 0) continue
      this.#waiting[index] = some.filter((one) => seriesName(one) !== name)
      return this.#begin(alone)
    }
    return undefined
  }

  /** Bars that the clock is run through. */
  barsToRun(): number {
    return this.#request.series.reduce((sum, one) => {
      const { timeframe } = one
      const span = barOpenAt(timeframe, this.#liveFrom) - barOpenAt(timeframe, this.#runsFrom(one))
      return sum + span / timeframeMs(timeframe)
    }, 0)
  }

  /** The group to go on with; undefined once all have come to the present. */
  nextGroup(): Group | undefined {
    const { runFrom, awaited = () => [] } = this.#request
    const inPast = this.#begun.filter(({ isLive }) => !isLive)
    for (const one of runFrom === undefined ? [] : awaited()) {
      const name = seriesName(one)
      const group = inPast.find(({ of }) => of?.has(name)) ?? this.#beginAlone(name)
      if (group !== undefined) return group
    }
    if (inPast[0] !== undefined) return inPast[0]
    const first = this.#waiting.find((some) => some.length > 0)?.[0]
    if (runFrom !== undefined && this.#begun.length === 0 && first !== undefined)
      return this.#beginAlone(seriesName(first))
    for (let some = this.#waiting.shift(); some !== undefined; some = this.#waiting.shift())
      if (some.length > 0 || runFrom === undefined) return this.#begin(some)
    return undefined
  }

  /** Takes a group some instants further, at last to the present. */
  *advance(group: Group): Generator<BarBatch, void, undefined> {
    const { market } = group
    // It counts for the first bar, from whichever series the market began.
    const isFirst = group.at === market.begins && group.at <= this.#liveFrom
    const before = isFirst ? market.settledAt(group.at) : []
    if (before.length > 0)
      yield { at: group.at, phase: 'history', bars: [], funding: before, ...about(group) }
    for (let done = 0; done < COIN_INSTANTS_PER_STEP; done += this.#drawn.size) {
      const at = market.instantAfter(group.at)
      if (at > this.#liveFrom) {
        group.isLive = true
        yield { at: this.#liveFrom, phase: 'live', bars: [], funding: [], ...about(group) }
        return
      }
      group.at = at
      const { bars, funding } = market.advanceTo(at)
      const run = bars.filter((one) => at > this.#runsFrom(one.series))
      const history = run.length === 0 ? bars : bars.filter((one) => at <= this.#runsFrom(one.series))
      if (history.length > 0 || funding.length > 0)
        yield { at, phase: 'history', bars: history, funding, ...about(group) }
      if (run.length > 0) yield { at, phase: 'run', bars: run, funding: [], ...about(group) }
    }
  }

  isOver(): boolean {
    return this.#waiting.every((some) => some.length === 0) && this.#begun.every(({ isLive }) => isLive)
  }

  /** The next instant of those that have come to the present. */
  nextLive(): number {
    return Math.min(...this.#begun.map(nextOf))
  }

  /** Batches of that instant. */
  *liveAt(at: number): Generator<BarBatch, void, undefined> {
    for (const group of this.#begun) {
      if (nextOf(group) !== at) continue
      group.at = at
      const told = group.market.advanceTo(at)
      if (told.bars.length + told.funding.length > 0) yield { at, phase: 'live', ...told, ...about(group) }
    }
  }
}

const about = ({ of }: Group): Pick<BarBatch, 'of'> => (of === undefined ? {} : { of })

const nextOf = ({ market, at, isLive }: Group): number =>
  isLive ? market.instantAfter(at) : Number.POSITIVE_INFINITY

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
  drawn: Map<Coin, SimulatedBars>,
  series: readonly Series[],
  notBefore: (series: Series) => number,
): SimulatedMarket {
  const aggregator = new BarAggregator()
  const coins = new Map<Coin, CoinSources>()
  let minutesBegin = Number.POSITIVE_INFINITY
  let hoursBegin = Number.POSITIVE_INFINITY
  const sourcesOf = (market: Market): CoinSources => {
    if (market.exchange !== 'SIM') throw notSimulatedError(market)
    const known = coins.get(market.coin)
    const bars = drawn.get(market.coin) ?? createSimulatedBars(seed, market.coin)
    const sources = known ?? { bars }
    drawn.set(market.coin, bars)
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
