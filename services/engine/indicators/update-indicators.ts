import type { Candle } from '../../../contracts/candle.ts'
import { CELL, CLOSE_RING, cell, LOG_RING, RETURN_RING } from '../cells.ts'
import { updateAdx } from './adx.ts'
import { updateMacd } from './macd.ts'
import { updateRollingDeviation } from './rolling-deviation.ts'
import { updateRsi } from './rsi.ts'
import { emaWeight, updateSeededAverage, wilderWeight } from './seeded-average.ts'

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

/** What compares a bar with the one before it; the first bar of a series has nothing to compare with. */
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
  const logReturn =
    cell(cells, base + CELL.logRing + (moves & logMask)) -
    cell(cells, base + CELL.logRing + ((moves - 1) & logMask))
  cells[base + CELL.returnRing + (moves & (RETURN_RING - 1))] = logReturn
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
