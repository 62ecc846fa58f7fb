import type { Candle } from '../../../contracts/domain/candle.ts'
import { type Timeframe, timeframeMs } from '../../../contracts/domain/timeframes.ts'
import { type Factor, type Regime, WINDOW_BARS } from '../../../contracts/domain/verdict.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { Volatility } from '../model/range-forecast.ts'
import type { VerdictModel } from '../model/verdict-model.ts'
import { factorsOf, logOddsOf, probabilityOf } from './features.ts'
import { Adx, emaWeight, RollingDeviation, Rsi, SeededAverage, wilderWeight } from './indicators.ts'
import {
  type CallSign,
  type Direction,
  nextCall,
  nextDirection,
  nextVolatile,
  regimeOf,
} from './regime-and-call.ts'
import { RollingPercentile } from './rolling-percentile.ts'

/** Bars among which a verdict's strength is ranked. */
const STRENGTH_BARS = 500
/** From this bar on both factors can be measured, so log-odds compare with one another. */
const SETTLED_BARS = 64
/** Bars without a move, or without a trade, from which on a market stands still: those of the realised volatility. */
export const STILL_BARS = RollingDeviation.PERIOD
/** A power of two, so that a ring index is a bit mask; longer than the longest window. */
const LOG_RING = 16
/** Fraction of the price below which a range is only a rounding error of the averages. */
const RANGE_FLOOR = 1e-9
const WICK_WEIGHT = 1 / 8

/** The activity that is missing in a market that stands still. */
export type Stillness = 'moves' | 'trades'

/**
 * Everything that is known of a series at its newest closed bar. Each bar costs the same. A gap in time is no gap here:
 * bars simply follow one another. What cannot be measured yet reads NaN.
 */
export class SeriesState {
  readonly #model: VerdictModel
  readonly #windowBars: number
  readonly #barMs: number
  readonly #makesCalls: boolean

  bars = 0
  anchorBar = 0
  openTime = 0
  high = Number.NaN
  low = Number.NaN
  close = Number.NaN
  #unmovedBars = 0
  #untradedBars = 0

  readonly rsi14 = new Rsi()
  readonly adx14 = new Adx()
  readonly atr14 = new SeededAverage(14, wilderWeight(14))
  readonly atr50 = new SeededAverage(50, wilderWeight(50))
  readonly #ema9 = new SeededAverage(9, emaWeight(9))
  readonly #ema21 = new SeededAverage(21, emaWeight(21))
  readonly ema50 = new SeededAverage(50, emaWeight(50))
  readonly returns = new RollingDeviation()
  readonly #logCloses = new Float64Array(LOG_RING)
  readonly volatility: Volatility
  #wickBalance = 0

  trendMeasure = Number.NaN
  direction: Direction = 0
  #isVolatile = false
  readonly volatilityRanks = new RollingPercentile(LIMITS.volatilityBars)
  volatilityPercentile = 0
  regime: Regime = 'RANGING'
  /** Close of the bar on which the regime changed, Unix milliseconds. */
  regimeSince = 0

  factors: readonly Factor[] = []
  probability = 0.5
  call: CallSign = 0
  readonly #strengthRanks = new RollingPercentile(STRENGTH_BARS)
  /** 0 up to, not including, 1. */
  strength = 0

  constructor(model: VerdictModel, timeframe: Timeframe) {
    this.#model = model
    this.#windowBars = WINDOW_BARS[timeframe]
    this.#barMs = timeframeMs(timeframe)
    this.#makesCalls = model.timeframes[timeframe].calls
    this.volatility = new Volatility(model.ranges[timeframe])
  }

  /** The activity that was missing for {@link STILL_BARS} bars or more; a series that stands still cannot be measured. */
  get stillness(): Stillness | undefined {
    if (this.#unmovedBars >= STILL_BARS) return 'moves'
    return this.#untradedBars >= STILL_BARS ? 'trades' : undefined
  }

  /** ATR50, the range that distances are measured in; NaN before bar 51, and in a market that has never moved. */
  get #typicalRange(): number {
    const range = this.atr50.value
    return range > 0 ? Math.max(range, RANGE_FLOOR * this.close) : Number.NaN
  }

  /** Advances the series by one closed bar. */
  push(bar: Candle): void {
    this.bars += 1
    if (this.bars === 1) this.anchorBar = bar.openTime
    this.#countStillness(bar)
    this.#updateMoves(bar)
    this.#updateLevels(bar)
    this.#updateRegime(bar.openTime + this.#barMs)
    this.#updateVerdict()
  }

  /** Counted exactly, as a deviation would keep some rounding. */
  #countStillness({ close, volume }: Candle): void {
    this.#unmovedBars = close === this.close ? this.#unmovedBars + 1 : 0
    this.#untradedBars = volume === 0 ? this.#untradedBars + 1 : 0
  }

  /** Everything that compares a bar with the one before, which is here still. */
  #updateMoves(bar: Candle): void {
    const { open, high, low, close } = bar
    const logClose = Math.log(close)
    const newest = this.bars - 1
    this.#logCloses[newest & (LOG_RING - 1)] = logClose
    const logReturn = (bars: number): number =>
      bars > newest ? Number.NaN : logClose - (this.#logCloses[(newest - bars) & (LOG_RING - 1)] ?? 0)
    const closeBefore = this.bars === 1 ? open : this.close
    this.volatility.push(bar, this.bars, closeBefore, logReturn(this.#windowBars))
    if (this.bars === 1) return
    this.rsi14.push(close - closeBefore)
    const trueRange = Math.max(high, closeBefore) - Math.min(low, closeBefore)
    this.atr14.push(trueRange)
    this.atr50.push(trueRange)
    this.adx14.push(high - this.high, this.low - low, trueRange)
    this.returns.push(logReturn(1))
  }

  #updateLevels({ openTime, open, high, low, close }: Candle): void {
    this.openTime = openTime
    this.high = high
    this.low = low
    this.close = close
    this.#ema9.push(close)
    this.#ema21.push(close)
    this.ema50.push(close)
    const unit = this.#typicalRange
    if (!(unit > 0)) return
    const lower = Math.min(open, close) - low
    const upper = high - Math.max(open, close)
    this.#wickBalance += ((lower - upper) / unit - this.#wickBalance) * WICK_WEIGHT
  }

  #updateRegime(barClose: number): void {
    const isStill = this.stillness !== undefined
    this.trendMeasure = isStill ? Number.NaN : (this.#ema9.value - this.#ema21.value) / this.#typicalRange
    this.direction = nextDirection(this.direction, this.trendMeasure)
    const atr14 = this.atr14.value
    if (!Number.isNaN(atr14)) {
      this.volatilityPercentile = this.volatilityRanks.push(atr14 / this.close)
      const isSettled = !isStill && this.bars >= LIMITS.warmUpBars
      this.#isVolatile = isSettled && nextVolatile(this.#isVolatile, this.volatilityPercentile)
    }
    const regime = regimeOf(this.direction, this.#isVolatile)
    if (this.bars > 1 && regime === this.regime) return
    this.regime = regime
    this.regimeSince = barClose
  }

  #updateVerdict(): void {
    // Averages of what was before say nothing of a market that stands still, and nothing else is there.
    const isStill = this.stillness !== undefined
    const unit = this.#typicalRange
    const isMeasured = !isStill && unit > 0
    this.factors = factorsOf(
      {
        price_to_ema50: isMeasured ? (this.close - this.ema50.value) / unit : null,
        wick_balance: isMeasured ? this.#wickBalance : null,
      },
      this.#model.direction,
    )
    const logOdds = logOddsOf(this.factors)
    this.probability = probabilityOf(logOdds)
    if (isStill) {
      this.call = 0
      this.strength = 0
    }
    if (isStill || this.bars < SETTLED_BARS || !this.#makesCalls) return
    this.call = nextCall(this.call, this.probability)
    this.strength = this.#strengthRanks.push(Math.abs(logOdds))
  }
}
