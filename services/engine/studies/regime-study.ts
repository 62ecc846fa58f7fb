import type { Candle } from '../../../contracts/candle.ts'
import { DAY_MS } from '../../../contracts/timeframes.ts'
import { CELL, cell } from '../cells.ts'
import { updateIndicators } from '../indicators/update-indicators.ts'
import { type Direction, nextDirection, trendMeasure } from '../trend-trigger.ts'
import { readCandles } from './read-candles.ts'
import { type ZigzagLeg, zigzag } from './zigzag.ts'

/** What a direction label was worth, measured with hindsight. */
export interface RegimeStudy {
  readonly bars: number
  /** Changes of the direction label per day of bars. */
  readonly flipsPerDay: number
  /** Share of changes after which the label was back where it had been within 10 bars. */
  readonly undoneShare: number
  /** Turning points of the zigzag that judges the label. */
  readonly turns: number
  /** Bars from a turning point until the label points the new way, where it did before the next turn. */
  readonly medianLagBars: number
  /** Share of turns whose leg ended before the label pointed its way. */
  readonly missedShare: number
  /** Share of bars on which the label points the way of the zigzag, and against it. */
  readonly rightShare: number
  readonly wrongShare: number
}

const UNDONE_WITHIN_BARS = 10
/** A turn of the market is a move of this many ATR14 away from an extreme. */
const TURN_ATR = 8

/** The direction label and ATR14 after every bar. */
function replay(bars: readonly Candle[]): { labels: Direction[]; ranges: number[] } {
  const cells = new Float64Array(CELL.features)
  const labels: Direction[] = []
  const ranges: number[] = []
  let label: Direction = 0
  for (const [index, bar] of bars.entries()) {
    updateIndicators(cells, 0, index + 1, bar)
    label = nextDirection(label, trendMeasure(cells, 0))
    labels.push(label)
    ranges.push(cell(cells, CELL.atr14))
  }
  return { labels, ranges }
}

function countChanges(labels: readonly Direction[]): { changes: number; undone: number } {
  let changes = 0
  let undone = 0
  for (let index = 1; index < labels.length; index++) {
    const before = labels[index - 1]
    if (labels[index] === before) continue
    changes += 1
    if (labels.slice(index + 1, index + 1 + UNDONE_WITHIN_BARS).some((label) => label === before)) undone += 1
  }
  return { changes, undone }
}

function judge(labels: readonly Direction[], legs: readonly ZigzagLeg[]) {
  const lags: number[] = []
  let right = 0
  let wrong = 0
  let judged = 0
  for (const { direction, from, to } of legs) {
    const leg = labels.slice(from + 1, to + 1)
    judged += leg.length
    right += leg.filter((label) => label === direction).length
    wrong += leg.filter((label) => label === -direction).length
    const first = leg.indexOf(direction)
    if (first >= 0) lags.push(first + 1)
  }
  lags.sort((a, b) => a - b)
  return {
    medianLagBars: lags[Math.floor(lags.length / 2)] ?? Number.NaN,
    missedShare: 1 - lags.length / legs.length,
    rightShare: right / judged,
    wrongShare: wrong / judged,
  }
}

/**
 * Measures the direction half of the regime (the volatility half knows no right or wrong way) against a
 * zigzag of 8 ATR14 over highs and lows, drawn with hindsight.
 *
 * @param bars a whole history; its first bars warm the averages up and count with no direction
 * @param barMs length of a bar in milliseconds
 * @example regimeStudy(bars, 3_600_000).flipsPerDay // about 0.8 on BTC
 */
export function regimeStudy(bars: readonly Candle[], barMs: number): RegimeStudy {
  const { labels, ranges } = replay(bars)
  const { changes, undone } = countChanges(labels)
  const legs = zigzag(
    bars.map((bar) => bar.high),
    bars.map((bar) => bar.low),
    ranges.map((range) => TURN_ATR * range),
  )
  return {
    bars: bars.length,
    flipsPerDay: (changes * DAY_MS) / (bars.length * barMs),
    undoneShare: undone / changes,
    turns: legs.length,
    ...judge(labels, legs),
  }
}

/** The length of bars is the smallest step in time: gaps are longer. */
function barLength(bars: readonly Candle[]): number {
  let smallest = Number.POSITIVE_INFINITY
  for (const [index, bar] of bars.entries()) {
    if (index > 0) smallest = Math.min(smallest, bar.openTime - (bars[index - 1]?.openTime ?? 0))
  }
  return smallest
}

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`

if (import.meta.main) {
  const files = process.argv.slice(2)
  if (files.length === 0) {
    process.stderr.write('Usage: node regime-study.ts <candles.csv.gz> …\n')
    process.exitCode = 2
  }
  for (const file of files) {
    const bars = readCandles(file)
    const study = regimeStudy(bars, barLength(bars))
    process.stdout.write(
      `${file}: ${study.bars} bars, ${study.flipsPerDay.toFixed(2)} flips a day, ` +
        `${percent(study.undoneShare)} undone within ${UNDONE_WITHIN_BARS} bars, ` +
        `median lag ${study.medianLagBars} bars over ${study.turns} turns (${percent(study.missedShare)} missed), ` +
        `right way ${percent(study.rightShare)}, wrong way ${percent(study.wrongShare)}\n`,
    )
  }
}
