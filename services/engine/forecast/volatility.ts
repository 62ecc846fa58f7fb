import type { Candle } from '../../../contracts/candle.ts'
import type { Forecast } from '../../../contracts/verdict.ts'
import { CELL, CLOSE_RING, cell, logReturn } from '../cells.ts'
import { MEASURES, MOVE_BARS, VARIANCE_BARS } from './measures.ts'
import type { SeriesRange } from './range-model.ts'

/** The least variance of a bar: prices have ticks, and a bar without a move is no proof that there is none. */
const LEAST_VARIANCE = 1e-10

/** Of the squared move of a bar: what Garman and Klass take off the squared half range. */
const INNER_MOVE = 2 * Math.log(2) - 1

/** Variance of a bar, by Garman and Klass, with that of the gap before it: it has the whole range to tell from. */
export function barVariance({ open, high, low, close }: Candle, closeBefore: number): number {
  const range = Math.log(high / low)
  const inner = Math.log(close / open)
  const gap = open === closeBefore ? 0 : Math.log(open / closeBefore)
  return Math.max(LEAST_VARIANCE, 0.5 * range * range - INNER_MOVE * inner * inner + gap * gap)
}

/**
 * Advances what is known of how far a series moves: averages of the variance of bars, had from their whole range and
 * from the gap before them, and of the absolute return over as many bars as a window has. Both are taken relative to
 * how lively the time of day usually is.
 *
 * @param bars bars so far, this one included; its close is in the cells already
 */
export function updateVolatility(
  cells: Float64Array,
  base: number,
  bars: number,
  bar: Candle,
  { season, barMs, windowBars }: SeriesRange,
): void {
  const { openTime, open } = bar
  const before = cell(cells, base + CELL.closeRing + ((bars - 2) & (CLOSE_RING - 1)))
  const relative = barVariance(bar, bars > 1 ? before : open) / season(openTime, barMs)
  for (let index = 0; index < VARIANCE_BARS.length; index++) {
    const at = base + CELL.variances + index
    const average = cell(cells, at)
    const most = VARIANCE_BARS[index] ?? 1
    cells[at] = average + (relative - average) / (bars < most ? bars : most)
  }
  const moves = bars - windowBars
  if (moves < 1) return
  const windowMs = windowBars * barMs
  const usual = windowBars * season(openTime + barMs - windowMs, windowMs)
  const move = Math.abs(logReturn(cells, base, windowBars)) / Math.sqrt(usual)
  for (let index = 0; index < MOVE_BARS.length; index++) {
    const at = base + CELL.moves + index
    const average = cell(cells, at)
    const most = MOVE_BARS[index] ?? 1
    cells[at] = average + (move - average) / (moves < most ? moves : most)
  }
}

/** One of what the forecast is made of, as the logarithm of a variance per bar. */
export function logMeasure(cells: Float64Array, base: number, index: number): number {
  if (index < VARIANCE_BARS.length) return Math.log(cell(cells, base + CELL.variances + index))
  const move = cell(cells, base + CELL.moves + index - VARIANCE_BARS.length)
  return Math.log(Math.max(LEAST_VARIANCE, move * move))
}

/** The expected move over the window that begins when the newest bar closes, as a log return. */
export function expectedMove(cells: Float64Array, base: number, range: SeriesRange): number {
  const { intercept, weights, season, barMs, windowBars } = range
  let logVariance = intercept
  for (let index = 0; index < MEASURES; index++)
    logVariance += (weights[index] ?? 0) * logMeasure(cells, base, index)
  const barClose = cell(cells, base + CELL.openTime) + barMs
  return Math.sqrt(Math.exp(logVariance) * windowBars * season(barClose, windowBars * barMs))
}

/** A billionth of the price says nothing. */
const rounded = (fraction: number): number => Math.round(fraction * 1e8) / 1e8

/**
 * How far the price may go within the window that begins when the newest bar closes. Even-handed: what it stays within
 * is as far up as down, as log returns.
 */
export function forecastOf(cells: Float64Array, base: number, range: SeriesRange): Forecast {
  const move = expectedMove(cells, base, range)
  const quantile = (moves: number): number => rounded(Math.expm1(moves * move))
  return {
    model: range.model,
    volatility: Math.max(1e-8, rounded(range.deviation * move)),
    p10: quantile(-range.outer),
    p25: quantile(-range.inner),
    p50: 0,
    p75: quantile(range.inner),
    p90: quantile(range.outer),
  }
}
