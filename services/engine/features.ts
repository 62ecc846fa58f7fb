import { annualisedFunding } from '../../contracts/funding.ts'
import { HOUR_MS } from '../../contracts/timeframes.ts'
import { CELL, cell, logReturn } from './cells.ts'
import { rangePosition } from './indicators/range-position.ts'
import { typicalRange, typicalReturn } from './stillness.ts'

/** One input of the verdict model: a pure function of a series' state at its newest closed bar, while it moves and trades. */
export interface Feature {
  /** Its name in the reasoning. */
  readonly label: string
  /** The value, NaN where it cannot be measured. `base` is the series' first cell. */
  readonly measure: (cells: Float64Array, base: number) => number
}

/** A move from before the bars that the deviation is of may be any number of deviations; more than this says no more. */
const FARTHEST = 100

/** Log return over some bars, in standard deviations of such a return. */
function momentum(bars: number): Feature['measure'] {
  const ofRandomWalk = 1 / Math.sqrt(bars)
  return (cells, base) => {
    const deviations = (logReturn(cells, base, bars) * ofRandomWalk) / typicalReturn(cells, base)
    return Math.max(-FARTHEST, Math.min(FARTHEST, deviations))
  }
}

/** Distance between two cells in ATR50. */
const gap =
  (upper: number, lower: number): Feature['measure'] =>
  (cells, base) =>
    (cell(cells, base + upper) - cell(cells, base + lower)) / typicalRange(cells, base)

/** Shadows are measured in ATR50, which does not exist before this bar. */
const ATR_BARS = 50

/** A rate says nothing any more when this many of its intervals have passed without a newer one. */
const STALE_INTERVALS = 3

/** Newest settled funding as a yearly fraction; NaN when none is known, or only a stale one. */
function fundingLevel(cells: Float64Array, base: number): number {
  const intervalHours = cell(cells, base + CELL.fundingIntervalHours)
  if (intervalHours === 0) return Number.NaN
  const time = cell(cells, base + CELL.fundingTime)
  const barClose = cell(cells, base + CELL.openTime) + cell(cells, base + CELL.timeframeMs)
  const age = barClose - time
  if (age < 0 || age > STALE_INTERVALS * intervalHours * HOUR_MS) return Number.NaN
  return annualisedFunding({ time, rate: cell(cells, base + CELL.fundingRate), intervalHours })
}

/**
 * Every feature a model may name. All are dimensionless and forget what is older than a few hundred bars, so
 * that a series begun 500 bars ago and one begun years ago agree.
 */
export const FEATURES = {
  range_position: { label: 'the place in the range of 48 bars', measure: rangePosition },
  wick_balance: {
    label: 'the shadows of the bars',
    measure: (cells: Float64Array, base: number) =>
      cell(cells, base + CELL.bars) > ATR_BARS ? cell(cells, base + CELL.wickBalance) : Number.NaN,
  },
  momentum_12: { label: 'momentum over 12 bars', measure: momentum(12) },
  momentum_24: { label: 'momentum over 24 bars', measure: momentum(24) },
  momentum_96: { label: 'momentum over 96 bars', measure: momentum(96) },
  price_to_ema50: { label: 'the distance to EMA50', measure: gap(CELL.close, CELL.ema50) },
  volume_momentum: {
    label: 'the side that unusual volume took',
    measure: (cells: Float64Array, base: number) => cell(cells, base + CELL.volumeMomentum),
  },
  funding_level: { label: 'funding', measure: fundingLevel },
} as const satisfies Readonly<Record<string, Feature>>

export type FeatureName = keyof typeof FEATURES

export const isFeatureName = (name: string): name is FeatureName => Object.hasOwn(FEATURES, name)

export const FEATURE_NAMES: readonly FeatureName[] = Object.keys(FEATURES).filter(isFeatureName)
