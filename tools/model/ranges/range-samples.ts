import type { Candle } from '../../../contracts/candle.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { DAY_MS, TIMEFRAMES } from '../../../contracts/timeframes.ts'
import { CELL, CLOSE_RING, LOG_RING } from '../../../services/engine/cells.ts'
import {
  barVariance,
  logMeasure,
  MEASURES,
  type RangeModel,
  type SeriesRange,
  updateVolatility,
} from '../../../services/engine/forecast/range-model.ts'
import type { SeriesHistory } from '../series-history.ts'

/** The bars of a history whose window is whole, in order of time: what was known, and how far the price went. */
export interface RangeSamples {
  readonly coin: string
  readonly windowMs: number
  readonly barClose: Float64Array
  /** `MEASURES` a bar: logarithms of a variance per bar. */
  readonly measures: Float32Array
  /** Log variance that a window is to have where a bar has one: its length, and how lively its hours are. */
  readonly season: Float32Array
  /** Absolute log return over the window. */
  readonly move: Float32Array
  /** Expectation of a plain EWMA of squared returns. */
  readonly ewma: Float32Array
  /** Logarithm of the highest price over the lowest one within the window. */
  readonly extent: Float32Array
  /** Variance of the bars of the window, summed. */
  readonly variance: Float32Array
  /** `HAR_TERMS` a bar: logarithms of the mean variance of a bar, over more and more of them. */
  readonly har: Float32Array
}

export const HAR_TERMS = 5

/** Weight of the previous squared return; the usual choice for daily returns. */
const EWMA_DECAY = 0.94
const LEAST = 1e-5

/** Replays a history through the state that the service keeps of it. */
export function rangeSamples(ranges: RangeModel, { series, bars }: SeriesHistory): RangeSamples {
  const range = ranges[TIMEFRAMES.indexOf(series.timeframe)] as SeriesRange
  const { barMs, windowBars, season } = range
  const room = Math.max(0, bars.length - LIMITS.warmUpBars - windowBars + 1)
  const samples = {
    coin: series.coin,
    windowMs: windowBars * barMs,
    barClose: new Float64Array(room),
    measures: new Float32Array(room * MEASURES),
    season: new Float32Array(room),
    move: new Float32Array(room),
    ewma: new Float32Array(room),
    extent: new Float32Array(room),
    variance: new Float32Array(room),
    har: new Float32Array(room * HAR_TERMS),
  }
  const sums = varianceSums(bars, range)
  const lags = harLags(range)
  const cells = new Float64Array(CELL.features)
  let squares = 0
  let count = 0
  for (let index = 0; index + windowBars < bars.length; index++) {
    const bar = bars[index] as Candle
    const change = index === 0 ? 0 : Math.log(bar.close / (bars[index - 1] as Candle).close)
    squares += (change * change - squares) * Math.max(1 - EWMA_DECAY, 1 / (index + 1))
    cells[CELL.openTime] = bar.openTime
    cells[CELL.bars] = index + 1
    cells[CELL.closeRing + (index & (CLOSE_RING - 1))] = bar.close
    cells[CELL.logRing + (index & (LOG_RING - 1))] = Math.log(bar.close)
    updateVolatility(cells, 0, index + 1, bar, range)
    if (index + 1 < LIMITS.warmUpBars) continue
    const closes = bar.openTime + barMs
    const first = bars[index + 1] as Candle
    const last = bars[index + windowBars] as Candle
    // A window with a gap in it is another length of time.
    if (first.openTime !== closes || last.openTime !== closes + (windowBars - 1) * barMs) continue
    samples.barClose[count] = closes
    for (let at = 0; at < MEASURES; at++) samples.measures[count * MEASURES + at] = logMeasure(cells, 0, at)
    samples.season[count] = Math.log(windowBars * season(closes, windowBars * barMs))
    samples.move[count] = Math.abs(Math.log(last.close / first.open))
    samples.ewma[count] = Math.max(LEAST, Math.sqrt(squares * windowBars))
    const window = bars.slice(index + 1, index + 1 + windowBars)
    const high = Math.max(...window.map((one) => one.high))
    samples.extent[count] = Math.max(LEAST, Math.log(high / Math.min(...window.map(({ low }) => low))))
    samples.variance[count] = (sums.plain[index + 1 + windowBars] ?? 0) - (sums.plain[index + 1] ?? 0)
    for (const [at, lag] of lags.entries()) {
      const begin = Math.max(0, index + 1 - lag)
      const mean = ((sums.relative[index + 1] ?? 0) - (sums.relative[begin] ?? 0)) / (index + 1 - begin)
      samples.har[count * HAR_TERMS + at] = Math.log(mean)
    }
    count += 1
  }
  return {
    ...samples,
    barClose: samples.barClose.subarray(0, count),
    measures: samples.measures.subarray(0, count * MEASURES),
    season: samples.season.subarray(0, count),
    move: samples.move.subarray(0, count),
    ewma: samples.ewma.subarray(0, count),
    extent: samples.extent.subarray(0, count),
    variance: samples.variance.subarray(0, count),
    har: samples.har.subarray(0, count * HAR_TERMS),
  }
}

/** Sums of the variance of all bars before each, plain and relative to how lively their time of day usually is. */
function varianceSums(bars: readonly Candle[], { season, barMs }: SeriesRange) {
  const [plain, relative] = [new Float64Array(bars.length + 1), new Float64Array(bars.length + 1)]
  for (const [index, bar] of bars.entries()) {
    const variance = barVariance(bar, bars[index - 1]?.close ?? bar.open)
    plain[index + 1] = (plain[index] ?? 0) + variance
    relative[index + 1] = (relative[index] ?? 0) + variance / season(bar.openTime, barMs)
  }
  return { plain, relative }
}

/** Bars of HAR's averages: one, a window, and a day, a week and a month, of so many windows at least. */
const harLags = ({ barMs, windowBars }: SeriesRange): readonly number[] => [
  1,
  windowBars,
  Math.max(2 * windowBars, Math.floor(DAY_MS / barMs)),
  Math.max(5 * windowBars, Math.floor((7 * DAY_MS) / barMs)),
  Math.max(22 * windowBars, Math.floor((30 * DAY_MS) / barMs)),
]

/** How many samples of a series have their window over at an instant. */
export function samplesUntil({ barClose, windowMs }: RangeSamples, until: number): number {
  let low = 0
  let high = barClose.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((barClose[middle] ?? 0) + windowMs <= until) low = middle + 1
    else high = middle
  }
  return low
}
