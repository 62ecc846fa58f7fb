import { type Candle, candleFault } from '../../contracts/domain/candle.ts'
import { type Series, seriesName } from '../../contracts/domain/series.ts'
import { type Timeframe, timeframeMs } from '../../contracts/domain/timeframes.ts'
import {
  REGIME_DIRECTIONS,
  type RegimeDirection,
  type Verdict,
  WINDOW_BARS,
} from '../../contracts/domain/verdict.ts'
import { assert } from '../../contracts/errors/assert.ts'
import { ServiceError } from '../../contracts/errors/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { barrierFraction } from './barrier.ts'
import type { VerdictModel } from './model/verdict-model.ts'
import { chainBar, chainStart } from './series/inputs-hash.ts'
import { reasoningFor } from './series/reasoning.ts'
import { callOf } from './series/regime-and-call.ts'
import { SeriesState } from './series/series-state.ts'

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
  /** Distance of the barriers of the verdict's outcome, as a fraction of the entry price. */
  readonly barrier: number | null
}

export type EngineReading =
  | { readonly status: 'verdict'; readonly verdict: VerdictDraft; readonly metrics: MarketMetrics }
  | { readonly status: 'insufficient_history'; readonly bars: number; readonly barsNeeded: number }

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
/** Averages over a longer hole would be of another market; the model was fitted on none. */
const MOST_BARS_MISSING = 12
/** The trend measure at which the strength of a regime reads 100. */
const FULL_STRENGTH = 1.5

/** The largest ratio of prices within a bar, the close before it included. */
const farthest = (bar: Candle, lastClose: number): number =>
  Math.max(bar.high, lastClose) / Math.min(bar.low, lastClose)

const measured = (value: number): number | null => (Number.isNaN(value) ? null : value)

/** A hole in the bars of a series after which it began anew. */
export interface SeriesRestart {
  readonly series: Series
  /** Close of the last bar before the hole and open of the first one after it, Unix milliseconds. */
  readonly from: number
  readonly to: number
  readonly barsMissing: number
}

export interface EngineOptions {
  readonly model: VerdictModel
  /** Why calls at a timeframe are withdrawn for bars that close at an instant; without this function they never are. */
  readonly withdrawn?: (timeframe: Timeframe, barClose: number) => string | undefined
  /** Called when a series begins anew after a hole. */
  readonly onRestart?: (restart: SeriesRestart) => void
}

/** One series that an engine computes. */
export interface OpenSeries {
  readonly series: Series
  state: SeriesState
  /** Hash over everything that the state was computed from. */
  chain: string
}

export type Engine = Pick<SeriesEngine, keyof SeriesEngine>

/** Verdicts for many series, each advanced bar by bar in constant time. */
export class SeriesEngine {
  readonly #options: EngineOptions
  readonly #open = new Map<string, OpenSeries>()
  readonly modelVersion: string

  constructor(options: EngineOptions) {
    this.#options = options
    this.modelVersion = options.model.version
  }

  /** Series open at the moment. */
  get seriesCount(): number {
    return this.#open.size
  }

  #beginning(series: Series): Pick<OpenSeries, 'state' | 'chain'> {
    const { model } = this.#options
    return {
      state: new SeriesState(model, series.timeframe),
      chain: chainStart(seriesName(series), model.version),
    }
  }

  /**
   * Begins the state of a series; its first bar becomes the anchor of all its verdicts.
   *
   * @throws ServiceError `internal_error` when the series is already open
   */
  open(series: Series): OpenSeries {
    const name = seriesName(series)
    if (this.#open.has(name))
      throw new ServiceError('internal_error', {
        message: `Series ${name} is already open; close it first.`,
      })
    const opened = { series, ...this.#beginning(series) }
    this.#open.set(name, opened)
    return opened
  }

  /** Ends the state of a series. */
  close({ series }: OpenSeries): void {
    this.#open.delete(seriesName(series))
  }

  /**
   * Advances a series by one closed bar. After more than {@link MOST_BARS_MISSING} missing bars the series begins anew.
   *
   * @throws BarRefused for a bar that is malformed or does not open after the last one; nothing has changed then
   */
  push(opened: OpenSeries, bar: Candle): void {
    const { series, state } = opened
    const fault = candleFault(bar)
    if (fault !== undefined) throw new BarRefused(series, 'malformed', fault)
    if (state.bars > 0) this.#checkNext(opened, bar)
    opened.chain = chainBar(opened.chain, bar)
    opened.state.push(bar)
  }

  #checkNext(opened: OpenSeries, bar: Candle): void {
    const { series, state } = opened
    const { openTime } = bar
    if (openTime <= state.openTime)
      throw new BarRefused(
        series,
        'out_of_order',
        `it opens at ${openTime}, not after the last one at ${state.openTime}`,
      )
    const barMs = timeframeMs(series.timeframe)
    const from = state.openTime + barMs
    const barsMissing = Math.floor((openTime - from) / barMs)
    if (barsMissing > MOST_BARS_MISSING) {
      Object.assign(opened, this.#beginning(series))
      this.#options.onRestart?.({ series, from, to: openTime, barsMissing })
      return
    }
    const jump = farthest(bar, state.close)
    if (jump > MOST_IN_ONE_BAR)
      throw new BarRefused(series, 'absurd', `its price changes by a factor of ${jump.toPrecision(3)}`)
  }

  /** The verdict at the newest bar of a series, or how many bars there are while they are too few. */
  read(opened: OpenSeries): EngineReading {
    const { bars } = opened.state
    if (bars < LIMITS.warmUpBars)
      return { status: 'insufficient_history', bars, barsNeeded: LIMITS.warmUpBars }
    return { status: 'verdict', verdict: this.#verdictOf(opened), metrics: metricsOf(opened) }
  }

  #verdictOf({ series, state, chain }: OpenSeries): VerdictDraft {
    const { model } = this.#options
    const { timeframe } = series
    const { probability, factors, stillness } = state
    assert(probability > 0 && probability < 1, 'a probability is between 0 and 1', probability)
    const barMs = timeframeMs(timeframe)
    const barClose = state.openTime + barMs
    const withdrawn = this.#options.withdrawn?.(timeframe, barClose)
    const call = withdrawn === undefined ? callOf(state.call) : 'HOLD'
    // A market that stands still has no trend measure, and no trend.
    const trend = measured(state.trendMeasure) ?? 0
    const forecast = stillness === undefined ? state.volatility.forecast(barClose) : null
    return {
      ...series,
      barClose,
      validUntil: barClose + WINDOW_BARS[timeframe] * barMs,
      call,
      confidence: Math.round(100 * Math.max(probability, 1 - probability)),
      strength: withdrawn === undefined ? Math.round(100 * state.strength) : 0,
      probability,
      regime: state.regime,
      regimeSince: state.regimeSince,
      regimeStrength: Math.round(100 * Math.min(1, Math.abs(trend) / FULL_STRENGTH)),
      volatilityPercentile: state.volatilityPercentile,
      price: state.close,
      barrier: barrierFraction(state.returns.deviation, WINDOW_BARS[timeframe]),
      forecast,
      factors: [...factors],
      reasoning: reasoningFor(
        { timeframe, call, probability, factors: [...factors], forecast },
        model.timeframes[timeframe],
        stillness,
        withdrawn,
      ),
      modelVersion: model.version,
      anchorBar: state.anchorBar,
      inputsHash: chain,
    }
  }
}

function metricsOf({ series, state }: OpenSeries): MarketMetrics {
  // They would stay for ever as they were when the market last moved.
  const isStill = state.stillness !== undefined
  const ofMoves = (value: number): number | null => (isStill ? null : measured(value))
  return {
    rsi14: ofMoves(state.rsi14.value),
    adx14: ofMoves(state.adx14.value),
    plusDi14: ofMoves(state.adx14.plusDi),
    minusDi14: ofMoves(state.adx14.minusDi),
    atrPercent: measured((100 * state.atr14.value) / state.close),
    emaGapAtr: measured(state.trendMeasure),
    realisedVolatility: measured(state.returns.deviation),
    direction: REGIME_DIRECTIONS[state.direction + 1] ?? 'NONE',
    liveliness: isStill ? null : state.volatility.liveliness,
    percentileBars: state.volatilityRanks.size,
    barrier: measured(barrierFraction(state.returns.deviation, WINDOW_BARS[series.timeframe])),
  }
}
