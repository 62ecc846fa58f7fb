/**
 * The layout of a series' numbers. Every series owns one run of cells in a shared Float64Array; these are offsets into
 * that run. An indicator that is not valid yet reads NaN.
 */
export const CELL = {
  /** Bars seen since the anchor. */
  bars: 0,
  anchorBar: 1,
  openTime: 2,
  high: 3,
  low: 4,
  close: 5,
  timeframeMs: 6,
  windowBars: 7,

  /** RSI14, then the averages of gains and losses. */
  rsi14: 8,
  averageGain: 9,
  averageLoss: 11,

  ema9: 13,
  ema21: 15,
  ema50: 17,
  ema200: 19,

  macd: 21,
  macdHistogram: 22,
  macdSignal: 23,
  macdFast: 25,
  macdSlow: 27,

  atr14: 29,
  atr50: 31,

  adx14: 33,
  plusDi14: 35,
  minusDi14: 36,
  plusMovement: 37,
  minusMovement: 38,
  smoothedRange: 39,

  /** Mean and deviation of the last 20 closes: the Bollinger bands. */
  bollingerMean: 40,
  bollingerDeviation: 41,
  /** Mean and deviation of the last 50 log returns. */
  returnMean: 45,
  returnDeviation: 46,

  fundingTime: 50,
  fundingRate: 51,
  /** 0 while no funding is known. */
  fundingIntervalHours: 52,

  /** (EMA9 − EMA21) / ATR50. */
  trendMeasure: 53,
  /** 1 up, −1 down, 0 none. */
  direction: 54,
  /** 1 while the volatility trigger is set. */
  volatile: 55,
  regimeIndex: 56,
  regimeSince: 57,
  volatilityPercentile: 58,
  volatilityRanked: 59,

  /** Which of the model's timeframes the series is of, and what is added to its score. */
  timeframeIndex: 60,
  bias: 61,
  /** 1 BUY, −1 SELL, 0 HOLD. */
  call: 62,
  logOdds: 63,
  probability: 64,
  strength: 65,
  strengthRanked: 66,

  /** The last closes, a ring written at `(bars − 1) % CLOSE_RING`. */
  closeRing: 67,
  /** Their logarithms, reaching further back, at `(bars − 1) % LOG_RING`. */
  logRing: 99,
  /** Log returns, at `(bars − 1) % RETURN_RING`. */
  returnRing: 227,
  /** Smoothed volume, and what moves the unusual volume went with. */
  volumeAverage: 291,
  volumeMomentum: 293,
  /** Highest high of the last bars and the bar it was in, then the ring of highs, at `(bars − 1) % RANGE_RING`. */
  highest: 294,
  highRing: 296,
  /** The same of the lowest low, as its negative. */
  lowest: 360,
  lowRing: 362,
  /** How much longer lower shadows have been than upper ones. */
  wickBalance: 426,
  /** Bars in a row that closed where the one before did, and on which nothing was traded. */
  unmovedBars: 427,
  untradedBars: 428,
  /** Averages of the variance of bars over more and more of them, and of the move over a window. */
  variances: 429,
  moves: 433,
  /** Average of the variance of bars over so many that it says what is usual of late. */
  usualVariance: 435,
  /** Factor on the weights for the coin of the series. */
  coinSlope: 436,
  /** Value and contribution of every feature of the model at the newest bar, in the model's order. */
  features: 437,
} as const

/** The value of a feature, NaN when unavailable, then its contribution to the log-odds. */
export const CELLS_PER_FEATURE = 2

/** Powers of two, so that a ring index is a bit mask; each longer than what looks back on it. */
export const CLOSE_RING = CELL.logRing - CELL.closeRing
export const LOG_RING = CELL.returnRing - CELL.logRing
export const RETURN_RING = CELL.volumeAverage - CELL.returnRing
export const RANGE_RING = CELL.lowest - CELL.highRing

/** The number in a cell; 0 beyond the slab, where no offset reaches. */
export const cell = (cells: Float64Array, index: number): number => cells[index] ?? 0

/**
 * Log return of the newest close over that of some bars before it; NaN where the series does not reach back
 * so far. `base` is the series' first cell.
 */
export function logReturn(cells: Float64Array, base: number, bars: number): number {
  const newest = cell(cells, base + CELL.bars) - 1
  if (bars > newest) return Number.NaN
  const ring = base + CELL.logRing
  const mask = LOG_RING - 1
  return cell(cells, ring + (newest & mask)) - cell(cells, ring + ((newest - bars) & mask))
}
