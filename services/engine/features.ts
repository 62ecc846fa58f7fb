import { annualisedFunding } from '../../contracts/funding.ts'
import { HOUR_MS } from '../../contracts/timeframes.ts'
import { CELL, cell, logReturn } from './cells.ts'
import { typicalRange, typicalReturn } from './stillness.ts'

/** One input of the verdict model: a pure function of a series' state at its newest closed bar, while it moves and trades. */
export interface Feature {
  /** What the reasoning calls it. */
  readonly label: string
  /** The value, NaN where it cannot be measured. `base` is the series' first cell. */
  readonly measure: (cells: Float64Array, base: number) => number
}

/** Log return over some bars, in standard deviations of such a return. */
function momentum(bars: number): Feature['measure'] {
  const ofRandomWalk = 1 / Math.sqrt(bars)
  return (cells, base) => (logReturn(cells, base, bars) * ofRandomWalk) / typicalReturn(cells, base)
}

/** Distance between two cells in ATR50. */
const gap =
  (upper: number, lower: number): Feature['measure'] =>
  (cells, base) =>
    (cell(cells, base + upper) - cell(cells, base + lower)) / typicalRange(cells, base)

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

/** Directional movement, −1 all down to 1 all up, weighted by how much of a trend ADX sees. */
function signedAdx(cells: Float64Array, base: number): number {
  const plus = cell(cells, base + CELL.plusDi14)
  const minus = cell(cells, base + CELL.minusDi14)
  const total = plus + minus
  return total > 0 ? ((plus - minus) / total) * (cell(cells, base + CELL.adx14) / 100) : 0
}

/**
 * Every feature a model may name. All are dimensionless and forget what is older than a few hundred bars, so
 * that a series begun 500 bars ago and one begun years ago agree.
 */
export const FEATURES = {
  momentum_24: { label: 'momentum over 24 bars', measure: momentum(24) },
  momentum_48: { label: 'momentum over 48 bars', measure: momentum(48) },
  rsi_distance: {
    label: 'the RSI',
    measure: (cells: Float64Array, base: number) => (cell(cells, base + CELL.rsi14) - 50) / 50,
  },
  ema_gap_9_21: { label: 'the gap of EMA9 to EMA21', measure: gap(CELL.ema9, CELL.ema21) },
  price_to_ema50: { label: 'the distance to EMA50', measure: gap(CELL.close, CELL.ema50) },
  signed_adx: { label: 'directional movement', measure: signedAdx },
  volume_momentum: {
    label: 'the side that unusual volume took',
    measure: (cells: Float64Array, base: number) => cell(cells, base + CELL.volumeMomentum),
  },
  funding_level: { label: 'funding', measure: fundingLevel },
} as const satisfies Readonly<Record<string, Feature>>

export type FeatureName = keyof typeof FEATURES

export const isFeatureName = (name: string): name is FeatureName => Object.hasOwn(FEATURES, name)

export const FEATURE_NAMES: readonly FeatureName[] = Object.keys(FEATURES).filter(isFeatureName)
