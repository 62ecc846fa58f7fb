import { assert } from '../../contracts/assert.ts'
import { type Candle, candleFault } from '../../contracts/candle.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { countsForBar, type FundingRate, fundingCountsFrom } from '../../contracts/funding.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { SpeechChange } from '../../contracts/model-events.ts'
import { REGIME_DIRECTIONS, REGIMES, type RegimeDirection } from '../../contracts/regime.ts'
import { type Market, marketName, type Series, seriesName } from '../../contracts/series.ts'
import { type Timeframe, timeframeMs } from '../../contracts/timeframes.ts'
import { type Verdict, WINDOW_BARS } from '../../contracts/verdict.ts'
import { barrierFraction } from './barrier.ts'
import { callOf } from './call-trigger.ts'
import { CELL, cell } from './cells.ts'
import { forecastOf, livelinessOf, type SeriesRange } from './forecast/range-model.ts'
import { silenceKey } from './gate.ts'
import { chainBar, chainStart } from './hash-chain.ts'
import type { VerdictModel } from './model.ts'
import { closesHigherOf, factorsOf, reasoningFor } from './reasoning.ts'
import { SeriesPool } from './series-pool.ts'
import { silencedBecause, withdrawalReason } from './speech/silenced.ts'
import { stillnessOf } from './stillness.ts'

/** A verdict before it has an identity and a place; the log gives it both. */
export type VerdictDraft = Omit<Verdict, 'verdictId' | 'previous' | 'recordedLate'>

/** Measurements of a series at its newest bar; null when there are too few bars, or the market stands still. */
export interface MarketMetrics {
  readonly rsi14: number | null
  readonly adx14: number | null
  readonly plusDi14: number | null
  readonly minusDi14: number | null
  /** ATR14 as a percentage of the close. */
  readonly atrPercent: number | null
  /** (EMA9 − EMA21) / ATR50: the trend measure that the regime is decided on. */
  readonly emaGapAtr: number | null
  /** Standard deviation of the last 50 log returns, per bar. */
  readonly realisedVolatility: number | null
  /** Which way the trend points, however lively the market is; the word of the regime may hide it. */
  readonly direction: RegimeDirection
  /** How far the price moves in its last 8 bars, over its last 350. */
  readonly liveliness: number | null
  /** Bars that the volatility percentile is of. */
  readonly percentileBars: number
  /** Distance of the barriers of the verdict's race, as a fraction of the entry price. */
  readonly barrier: number | null
}

export type EngineReading =
  | { readonly status: 'verdict'; readonly verdict: VerdictDraft; readonly metrics: MarketMetrics }
  | { readonly status: 'insufficient_history'; readonly bars: number; readonly barsNeeded: number }

/**
 * Verdicts for many series, each advanced bar by bar in constant time. A slot is a small integer, valid from
 * `open` until `close`; afterwards it is given to another series.
 */
export type Engine = Pick<SeriesEngine, keyof SeriesEngine>

/** The fault of a refused bar. */
export type BarFault = 'malformed' | 'out_of_order' | 'absurd' | 'misdated'

/** A bar that a series does not take; its state is as it was. */
export class BarRefused extends ServiceError {
  readonly fault: BarFault

  constructor(series: Series, fault: BarFault, reason: string) {
    super('internal_error', {
      message: `A bar of ${seriesName(series)} was refused: ${reason}`,
      details: { series: seriesName(series), fault },
    })
    this.fault = fault
  }
}

/** Crashes of a coin to nothing within a day stayed below it; what lies beyond is damage. */
const MOST_IN_ONE_BAR = 1_000_000

/** The largest ratio of prices within a bar, the close before it included. */
const farthest = (bar: Candle, lastClose: number): number =>
  Math.max(bar.high, lastClose) / Math.min(bar.low, lastClose)

/** Confidence is capped until live outcomes show that more is earned. */
export const CONFIDENCE_CAP = 60
/** The trend measure at which the strength of a regime reads 100. */
const FULL_STRENGTH = 1.5

interface OpenSeries {
  readonly series: Series
  chain: string
  /** Settlements before it do not count; known with the first bar. */
  fundingFrom: number
  /** The newest settlement that counts. */
  funding: FundingRate | undefined
  /** Newer ones, by time, which wait for bars that they count for. */
  readonly settlements: FundingRate[]
}

/** More than a month of hourly ones, which come at once where a market's past comes late. */
const SETTLEMENTS_WAITING = 1_000

/** Puts a settlement among those that wait, unless a newer one counts already. */
function keepWaiting({ funding: counting, settlements }: OpenSeries, funding: FundingRate): void {
  if (counting !== undefined && funding.time < counting.time) return
  const at = settlements.findLastIndex(({ time }) => time <= funding.time) + 1
  const isAgain = settlements[at - 1]?.time === funding.time
  settlements.splice(isAgain ? at - 1 : at, isAgain ? 1 : 0, funding)
  if (settlements.length > SETTLEMENTS_WAITING) settlements.shift()
}

const measured = (value: number): number | null => (Number.isNaN(value) ? null : value)

const internalError = (message: string): ServiceError => new ServiceError('internal_error', { message })

export interface EngineOptions {
  readonly model: VerdictModel
  /**
   * The withdrawal that silences a timeframe for bars that close at an instant; without this function nothing is
   * silenced.
   */
  readonly withdrawal?: (timeframe: Timeframe, barClose: number) => SpeechChange | undefined
}

/** Creates an engine without any series. */
export class SeriesEngine {
  readonly #options: EngineOptions
  readonly #pool: SeriesPool
  readonly #bySlot: (OpenSeries | undefined)[] = []
  readonly #slotsByMarket = new Map<string, Set<number>>()
  readonly #openNames = new Set<string>()
  readonly modelVersion: string

  constructor(options: EngineOptions) {
    this.#options = options
    this.#pool = new SeriesPool(options.model)
    this.modelVersion = this.#options.model.version
  }

  #openAt(slot: number): OpenSeries {
    const entry = this.#bySlot[slot]
    if (entry === undefined) throw internalError(`Slot ${slot} is not open; open its series first.`)
    return entry
  }

  #metricsOf(base: number): MarketMetrics {
    const { cells } = this.#pool
    const read = (offset: number): number => cell(cells, base + offset)
    const deviation = read(CELL.returnDeviation)
    // They would stay for ever as they were when the market last moved.
    const isStill = stillnessOf(cells, base) !== undefined
    const ofMoves = (offset: number): number | null => (isStill ? null : measured(read(offset)))
    return {
      rsi14: ofMoves(CELL.rsi14),
      adx14: ofMoves(CELL.adx14),
      plusDi14: ofMoves(CELL.plusDi14),
      minusDi14: ofMoves(CELL.minusDi14),
      atrPercent: measured((100 * read(CELL.atr14)) / read(CELL.close)),
      emaGapAtr: measured(read(CELL.trendMeasure)),
      realisedVolatility: measured(deviation),
      direction: REGIME_DIRECTIONS[read(CELL.direction) + 1] ?? 'NONE',
      liveliness: isStill ? null : livelinessOf(cells, base),
      percentileBars: Math.min(read(CELL.volatilityRanked), LIMITS.volatilityBars),
      barrier: measured(barrierFraction(deviation, read(CELL.windowBars))),
    }
  }

  #verdictOf({ series, chain }: OpenSeries, base: number): VerdictDraft {
    const { cells } = this.#pool
    const read = (offset: number): number => cell(cells, base + offset)
    const { exchange, coin, timeframe } = series
    const barMs = timeframeMs(timeframe)
    const barClose = read(CELL.openTime) + barMs
    const probability = read(CELL.probability)
    const confidence = Math.min(CONFIDENCE_CAP, Math.round(100 * Math.max(probability, 1 - probability)))
    assert(probability >= 0 && probability <= 1, 'a probability is between 0 and 1', probability)
    assert(
      confidence >= 50 && confidence <= CONFIDENCE_CAP,
      'a confidence is of the likelier side',
      confidence,
    )
    const call = callOf(read(CELL.call))
    const regime = REGIMES[read(CELL.regimeIndex)] ?? 'RANGING'
    const factors = factorsOf(this.#options.model, cells, base)
    const closesHigher = closesHigherOf(this.#options.model, timeframe, cells, base)
    // A market that stands still has no trend measure, and no trend.
    const trend = measured(read(CELL.trendMeasure)) ?? 0
    const stillness = stillnessOf(cells, base)
    const range = this.#options.model.ranges[read(CELL.timeframeIndex)] as SeriesRange
    const forecast = stillness === undefined ? forecastOf(cells, base, range) : null
    return {
      exchange,
      coin,
      timeframe,
      barClose,
      validUntil: barClose + WINDOW_BARS[timeframe] * barMs,
      call,
      confidence,
      strength: Math.round(100 * read(CELL.strength)),
      probability,
      ...(closesHigher !== undefined && { closesHigher }),
      regime,
      regimeSince: read(CELL.regimeSince),
      regimeStrength: Math.round(100 * Math.min(1, Math.abs(trend) / FULL_STRENGTH)),
      volatilityPercentile: read(CELL.volatilityPercentile),
      price: read(CELL.close),
      barrier: barrierFraction(read(CELL.returnDeviation), read(CELL.windowBars)),
      forecast,
      factors,
      reasoning: reasoningFor(
        { call, confidence, probability, regime, factors, forecast },
        this.#options.model.timeframes[timeframe],
        stillness,
      ),
      modelVersion: this.#options.model.version,
      anchorBar: read(CELL.anchorBar),
      inputsHash: chain,
    }
  }

  /** Takes the settlements that count for a bar. */
  #settle(entry: OpenSeries, slot: number, barClose: number): void {
    const { settlements } = entry
    const waits = settlements.findIndex((one) => !countsForBar(one, barClose))
    const counting = settlements.splice(0, waits === -1 ? settlements.length : waits).at(-1)
    if (counting === undefined || counting.time < entry.fundingFrom) return
    entry.funding = counting
    this.#pool.setFunding(slot, counting)
  }

  /** Series open at the moment. */
  get seriesCount(): number {
    return this.#openNames.size
  }

  /**
   * Begins the state of a series; its first bar becomes the anchor of all its verdicts.
   *
   * @throws ServiceError `internal_error` when the series is already open
   */
  open(series: Series): number {
    const name = seriesName(series)
    if (this.#openNames.has(name)) throw internalError(`Series ${name} is already open; close it first.`)
    const slot = this.#pool.open(series.timeframe, series.coin)
    this.#bySlot[slot] = {
      series,
      chain: chainStart(name, this.#options.model.version),
      fundingFrom: Number.POSITIVE_INFINITY,
      funding: undefined,
      settlements: [],
    }
    this.#openNames.add(name)
    const market = marketName(series)
    const slots = this.#slotsByMarket.get(market)
    if (slots === undefined) this.#slotsByMarket.set(market, new Set([slot]))
    else slots.add(slot)
    return slot
  }

  /** Ends the state of a series and frees its slot. */
  close(slot: number): void {
    const { series } = this.#openAt(slot)
    this.#bySlot[slot] = undefined
    this.#openNames.delete(seriesName(series))
    const market = marketName(series)
    const slots = this.#slotsByMarket.get(market)
    slots?.delete(slot)
    if (slots?.size === 0) this.#slotsByMarket.delete(market)
    this.#pool.close(slot)
  }

  /**
   * Advances a series by one closed bar.
   *
   * @throws BarRefused for a bar that is malformed or does not open after the last one; nothing has changed then
   */
  push(slot: number, bar: Candle): void {
    const entry = this.#openAt(slot)
    const base = this.#pool.baseOf(slot)
    const fault = candleFault(bar)
    if (fault !== undefined) throw new BarRefused(entry.series, 'malformed', fault)
    if (cell(this.#pool.cells, base + CELL.bars) === 0) {
      entry.fundingFrom = fundingCountsFrom(entry.series.timeframe, bar.openTime)
    } else {
      const lastOpen = cell(this.#pool.cells, base + CELL.openTime)
      if (bar.openTime <= lastOpen)
        throw new BarRefused(
          entry.series,
          'out_of_order',
          `it opens at ${bar.openTime}, not after the last one at ${lastOpen}`,
        )
      const jump = farthest(bar, cell(this.#pool.cells, base + CELL.close))
      if (jump > MOST_IN_ONE_BAR)
        throw new BarRefused(
          entry.series,
          'absurd',
          `its price changes by a factor of ${jump.toPrecision(3)}`,
        )
    }
    this.#settle(entry, slot, bar.openTime + timeframeMs(entry.series.timeframe))
    entry.chain = chainBar(entry.chain, bar, entry.funding)
    this.#pool.push(slot, bar)
  }

  /**
   * Takes a funding settlement for every open series of its market, in any order and however early. It counts for the
   * bars pushed afterwards that close {@link FUNDING_COUNTS_AFTER_MS} later than it or more. Of several the newest
   * does; of two for the same instant the one that came later. None counts before {@link fundingCountsFrom}.
   *
   * @param slots only these series take it: the warm-up of one series must not give the others old settlements
   */
  pushFunding(market: Market, funding: FundingRate, slots?: readonly number[]): void {
    for (const slot of this.#slotsByMarket.get(marketName(market)) ?? []) {
      if (slots !== undefined && !slots.includes(slot)) continue
      keepWaiting(this.#openAt(slot), funding)
    }
  }

  /** The verdict at the newest bar of a series, or how many bars there are while they are too few. */
  read(slot: number): EngineReading {
    const entry = this.#openAt(slot)
    const base = this.#pool.baseOf(slot)
    const bars = cell(this.#pool.cells, base + CELL.bars)
    if (bars < LIMITS.warmUpBars) {
      return { status: 'insufficient_history', bars, barsNeeded: LIMITS.warmUpBars }
    }
    const verdict = this.#verdictOf(entry, base)
    const { timeframe, coin, barClose } = verdict
    const withdrawn = this.#options.withdrawal?.(timeframe, barClose)
    const reason = withdrawn
      ? withdrawalReason(withdrawn)
      : this.#options.model.silentCoins.get(silenceKey(timeframe, coin))
    return {
      status: 'verdict',
      verdict: reason === undefined ? verdict : silencedBecause(verdict, reason),
      metrics: this.#metricsOf(base),
    }
  }
}
