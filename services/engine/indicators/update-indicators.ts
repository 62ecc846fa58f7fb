import type { Candle } from '../../../contracts/candle.ts'
import { CELL, CLOSE_RING, cell, LOG_RING, logReturn, RETURN_RING } from '../cells.ts'
import { typicalReturn } from '../stillness.ts'

/** Weight of the newest input in an exponential average (EMA). */
export const emaWeight = (period: number): number => 2 / (period + 1)

/** Weight of the newest input in Wilder's average. */
export const wilderWeight = (period: number): number => 1 / period

/**
 * Adds one input to an exponential average that starts as the plain mean of its first `period` inputs, as
 * TA-Lib seeds it. The value is NaN before that.
 *
 * @param at cell of the value; the next cell holds the seeding sum
 * @param count inputs so far, this one included
 * @returns the average after this input
 * @example
 * updateSeededAverage(cells, at, 2, emaWeight(2), 1, 10) // NaN
 * updateSeededAverage(cells, at, 2, emaWeight(2), 2, 14) // 12
 */
export function updateSeededAverage(
  cells: Float64Array,
  at: number,
  period: number,
  weight: number,
  count: number,
  input: number,
): number {
  if (count > period) {
    const previous = cell(cells, at)
    const next = previous + (input - previous) * weight
    cells[at] = next
    return next
  }
  const sum = cell(cells, at + 1) + input
  const seed = count < period ? Number.NaN : sum / period
  cells[at] = seed
  cells[at + 1] = sum
  return seed
}

const ADX_BARS = 14
const ADX_WEIGHT = wilderWeight(ADX_BARS)

/** Wilder's running sum: it forgets a fourteenth of itself with every input, once it is seeded. */
function updateSum(cells: Float64Array, at: number, moves: number, input: number): number {
  const sum = cell(cells, at)
  // The seed is 13 inputs, not 14: Wilder's and TA-Lib's first sum leaves room for the current bar.
  const next = moves < ADX_BARS ? sum + input : sum - sum / ADX_BARS + input
  cells[at] = next
  return next
}

/**
 * Wilder's ADX14 (valid from the 28th bar) with +DI and −DI (from the 15th), 0–100.
 *
 * @param moves bar-to-bar moves so far, this one included
 * @param rise high above the previous high
 * @param fall low below the previous low
 */
function updateAdx(
  cells: Float64Array,
  base: number,
  moves: number,
  rise: number,
  fall: number,
  trueRange: number,
): void {
  const plus = updateSum(cells, base + CELL.plusMovement, moves, rise > 0 && rise > fall ? rise : 0)
  const minus = updateSum(cells, base + CELL.minusMovement, moves, fall > 0 && fall > rise ? fall : 0)
  const range = updateSum(cells, base + CELL.smoothedRange, moves, trueRange)
  if (moves < ADX_BARS) {
    cells[base + CELL.plusDi14] = Number.NaN
    cells[base + CELL.minusDi14] = Number.NaN
    cells[base + CELL.adx14] = Number.NaN
    return
  }
  const plusDi = range === 0 ? 0 : (100 * plus) / range
  const minusDi = range === 0 ? 0 : (100 * minus) / range
  cells[base + CELL.plusDi14] = plusDi
  cells[base + CELL.minusDi14] = minusDi
  const total = plusDi + minusDi
  const directional = total === 0 ? 0 : (100 * Math.abs(plusDi - minusDi)) / total
  updateSeededAverage(cells, base + CELL.adx14, ADX_BARS, ADX_WEIGHT, moves - ADX_BARS + 1, directional)
}

const FAST = 12
const SLOW = 26
const SIGNAL = 9
const FAST_WEIGHT = emaWeight(FAST)
const SLOW_WEIGHT = emaWeight(SLOW)
const SIGNAL_WEIGHT = emaWeight(SIGNAL)

/**
 * MACD 12/26/9, valid from the 34th bar in all three parts. The fast average starts late, so that its seed
 * ends on the same bar as the slow one's; otherwise the first values differ from TA-Lib's.
 */
function updateMacd(cells: Float64Array, base: number, bars: number, close: number): void {
  const slow = updateSeededAverage(cells, base + CELL.macdSlow, SLOW, SLOW_WEIGHT, bars, close)
  const fastInputs = bars - (SLOW - FAST)
  if (fastInputs > 0) {
    updateSeededAverage(cells, base + CELL.macdFast, FAST, FAST_WEIGHT, fastInputs, close)
  }
  if (bars < SLOW) {
    cells[base + CELL.macd] = Number.NaN
    cells[base + CELL.macdSignal] = Number.NaN
    cells[base + CELL.macdHistogram] = Number.NaN
    return
  }
  const line = cell(cells, base + CELL.macdFast) - slow
  const lines = bars - SLOW + 1
  const signal = updateSeededAverage(cells, base + CELL.macdSignal, SIGNAL, SIGNAL_WEIGHT, lines, line)
  cells[base + CELL.macd] = lines < SIGNAL ? Number.NaN : line
  cells[base + CELL.macdHistogram] = line - signal
}

const RSI_BARS = 14
const RSI_WEIGHT = wilderWeight(RSI_BARS)

/**
 * Wilder's RSI14, 0–100, valid from the 15th bar. A market that did not move at all reads 0, as in TA-Lib.
 *
 * @param changes price changes so far, this one included
 */
function updateRsi(cells: Float64Array, base: number, changes: number, change: number): void {
  const gain = updateSeededAverage(
    cells,
    base + CELL.averageGain,
    RSI_BARS,
    RSI_WEIGHT,
    changes,
    change > 0 ? change : 0,
  )
  const loss = updateSeededAverage(
    cells,
    base + CELL.averageLoss,
    RSI_BARS,
    RSI_WEIGHT,
    changes,
    change < 0 ? -change : 0,
  )
  const moved = gain + loss
  cells[base + CELL.rsi14] = moved === 0 ? 0 : (100 * gain) / moved
}

/**
 * Mean and population deviation of the last `period` values of a ring. The sums are kept of the distance to
 * a value of the window and are made anew once per period: sums of squared prices themselves would cancel
 * to noise where the deviation is small against the price, and drift for ever.
 *
 * @param at cell of the mean; the deviation, the shift, the sum and the sum of squares follow it
 * @param ring first cell of the ring, which already holds the newest value
 * @param mask ring length − 1; the ring is longer than the period
 * @param index ring position of the newest value, not yet masked
 * @param count values so far, the newest included
 */
function updateRollingDeviation(
  cells: Float64Array,
  at: number,
  ring: number,
  mask: number,
  index: number,
  period: number,
  count: number,
): void {
  if (count < period) {
    cells[at] = Number.NaN
    cells[at + 1] = Number.NaN
    return
  }
  const newest = cell(cells, ring + (index & mask))
  let shift = cell(cells, at + 2)
  let sum = 0
  let squares = 0
  if (count % period === 0) {
    shift = newest
    for (let back = 0; back < period; back++) {
      const distance = cell(cells, ring + ((index - back) & mask)) - shift
      sum += distance
      squares += distance * distance
    }
    cells[at + 2] = shift
  } else {
    const entering = newest - shift
    const leaving = cell(cells, ring + ((index - period) & mask)) - shift
    sum = cell(cells, at + 3) + entering - leaving
    squares = cell(cells, at + 4) + entering * entering - leaving * leaving
  }
  const mean = sum / period
  const variance = squares / period - mean * mean
  cells[at] = shift + mean
  cells[at + 1] = variance > 0 ? Math.sqrt(variance) : 0
  cells[at + 3] = sum
  cells[at + 4] = squares
}

const EMA9_WEIGHT = emaWeight(9)
const EMA21_WEIGHT = emaWeight(21)
const EMA50_WEIGHT = emaWeight(50)
const EMA200_WEIGHT = emaWeight(200)
const ATR14_WEIGHT = wilderWeight(14)
const ATR50_WEIGHT = wilderWeight(50)

const BOLLINGER_BARS = 20
/** Bars of the realised volatility, which scales the barriers and most features. */
/** Log returns that the realised volatility is taken of. */
export const REALISED_VOLATILITY_BARS = 50

/** Updates the indicators that compare a bar with the one before; the first bar of a series has none. */
function updateMoves(cells: Float64Array, base: number, moves: number, bar: Candle): void {
  const { high, low, close } = bar
  const previousHigh = cell(cells, base + CELL.high)
  const previousLow = cell(cells, base + CELL.low)
  const previousClose = cell(cells, base + CELL.close)

  updateRsi(cells, base, moves, close - previousClose)

  const upper = high > previousClose ? high : previousClose
  const lower = low < previousClose ? low : previousClose
  const trueRange = upper - lower
  updateSeededAverage(cells, base + CELL.atr14, 14, ATR14_WEIGHT, moves, trueRange)
  updateSeededAverage(cells, base + CELL.atr50, 50, ATR50_WEIGHT, moves, trueRange)
  updateAdx(cells, base, moves, high - previousHigh, previousLow - low, trueRange)

  const logMask = LOG_RING - 1
  const latest =
    cell(cells, base + CELL.logRing + (moves & logMask)) -
    cell(cells, base + CELL.logRing + ((moves - 1) & logMask))
  cells[base + CELL.returnRing + (moves & (RETURN_RING - 1))] = latest
  updateRollingDeviation(
    cells,
    base + CELL.returnMean,
    base + CELL.returnRing,
    RETURN_RING - 1,
    moves,
    REALISED_VOLATILITY_BARS,
    moves,
  )
}

/** Before the second bar, all that needs a move reads NaN. */
function invalidateMoves(cells: Float64Array, base: number): void {
  for (const at of [CELL.rsi14, CELL.adx14, CELL.plusDi14, CELL.minusDi14, CELL.atr14, CELL.atr50]) {
    cells[base + at] = Number.NaN
  }
  cells[base + CELL.returnMean] = Number.NaN
  cells[base + CELL.returnDeviation] = Number.NaN
}

/**
 * Advances every indicator of a series by one bar, in constant time. A gap in time is no gap here: bars
 * simply follow one another.
 *
 * @param base the series' first cell
 * @param bars bars of the series, this one included
 */
export function updateIndicators(cells: Float64Array, base: number, bars: number, bar: Candle): void {
  const { close } = bar
  cells[base + CELL.closeRing + ((bars - 1) & (CLOSE_RING - 1))] = close
  cells[base + CELL.logRing + ((bars - 1) & (LOG_RING - 1))] = Math.log(close)
  if (bars > 1) updateMoves(cells, base, bars - 1, bar)
  else invalidateMoves(cells, base)

  updateSeededAverage(cells, base + CELL.ema9, 9, EMA9_WEIGHT, bars, close)
  updateSeededAverage(cells, base + CELL.ema21, 21, EMA21_WEIGHT, bars, close)
  updateSeededAverage(cells, base + CELL.ema50, 50, EMA50_WEIGHT, bars, close)
  updateSeededAverage(cells, base + CELL.ema200, 200, EMA200_WEIGHT, bars, close)
  updateMacd(cells, base, bars, close)
  updateRollingDeviation(
    cells,
    base + CELL.bollingerMean,
    base + CELL.closeRing,
    CLOSE_RING - 1,
    bars - 1,
    BOLLINGER_BARS,
    bars,
  )
  cells[base + CELL.high] = bar.high
  cells[base + CELL.low] = bar.low
  cells[base + CELL.close] = close
}

const USUAL_BARS = 50
const USUAL_WEIGHT = wilderWeight(USUAL_BARS)
/** Bars over which the moves are averaged. */
const MOVE_WEIGHT = 1 / 8

/**
 * The side that unusual volume took: an average of the returns, in standard deviations, each weighted by how
 * far the root of its bar's volume was above or below the usual. Moves on more volume than usual count their
 * way, moves on less count against it. NaN until there are 51 bars, and where there is no volume.
 *
 * @param bars bars so far, this one included; its return and their deviation are in the cells already
 */
export function updateVolumeMomentum(cells: Float64Array, base: number, bars: number, volume: number): void {
  const usual = updateSeededAverage(cells, base + CELL.volumeAverage, USUAL_BARS, USUAL_WEIGHT, bars, volume)
  const deviation = typicalReturn(cells, base)
  if (!(deviation > 0 && usual > 0)) {
    cells[base + CELL.volumeMomentum] = Number.NaN
    return
  }
  const move = (logReturn(cells, base, 1) / deviation) * (Math.sqrt(volume / usual) - 1)
  const before = cell(cells, base + CELL.volumeMomentum)
  cells[base + CELL.volumeMomentum] = Number.isNaN(before) ? move : before + (move - before) * MOVE_WEIGHT
}
