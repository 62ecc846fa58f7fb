import { assert } from '../../../contracts/assert.ts'
import { partitionPoint } from '../../../contracts/partition-point.ts'
import { halfWidth95 } from '../../../contracts/student-interval.ts'
import { blockMean, type Measure } from './intervals.ts'
import type { ReliabilityBin } from './scores-schema.ts'

/** Forecasts as columns, with what came of them. */
export interface Forecasts {
  readonly probability: Float64Array
  /** 1 where the upper barrier won, 0 where the lower one did. */
  readonly outcome: Uint8Array
  /** Forecasts of one block may depend on one another, those of different blocks do not. */
  readonly block: Float64Array
}

/** Values below a limit, or up to it, in an ascending column. */
const countBelow = (ascending: Float64Array, value: number, isInclusive: boolean): number =>
  partitionPoint(ascending.length, (place) => {
    const at = ascending[place] ?? 0
    return at < value || (isInclusive && at === value)
  })

/**
 * Area under the ROC curve: the chance that a race won by the upper barrier had the higher forecast; ties
 * count one half. `margin` is half its 95 % interval, from sums over blocks, because windows overlap and
 * coins move together: races are far from independent.
 *
 * @returns NaN where only one side ever won
 */
export function areaUnderCurve({ probability, outcome, block }: Forecasts): { auc: number; margin: number } {
  const ofSide = (side: number): Float64Array =>
    probability.filter((_, place) => outcome[place] === side).toSorted()
  const wins = ofSide(1)
  const losses = ofSide(0)
  // The share of the other side that a forecast stands on the right side of.
  const placements = new Float64Array(probability.length)
  let placed = 0
  for (let place = 0; place < probability.length; place++) {
    const value = probability[place] ?? 0
    const other = outcome[place] === 1 ? losses : wins
    const below = (countBelow(other, value, false) + countBelow(other, value, true)) / (2 * other.length)
    placements[place] = outcome[place] === 1 ? below : 1 - below
    if (outcome[place] === 1) placed += below
  }
  const auc = placed / wins.length
  const influence = new Map<number, number>()
  for (let place = 0; place < probability.length; place++) {
    const share = ((placements[place] ?? 0) - auc) / (outcome[place] === 1 ? wins.length : losses.length)
    const at = block[place] ?? 0
    influence.set(at, (influence.get(at) ?? 0) + share)
  }
  let variance = 0
  for (const share of influence.values()) variance += share * share
  return { auc, margin: halfWidth95(influence.size) * Math.sqrt(variance) }
}

/**
 * Mean squared error of forecasts, NaN for none. Its 95 % interval follows from the sums of the blocks, and is null
 * where there are too few. A forecast of one half always scores 0.25.
 */
export function brierScore({ probability, outcome, block }: Forecasts): Measure {
  const errors = probability.map((value, place) => (value - (outcome[place] ?? 0)) ** 2)
  const { value, low, high } = blockMean(errors, block) ?? { value: Number.NaN, low: null, high: null }
  return { value, low, high }
}

const BINS = 10

/**
 * How far forecasts are from what happened: tenths of them by height, each a bin with its mean forecast and
 * its share of wins. Equal forecasts share a bin. `error` is the mean distance of the two, weighted by races.
 */
export function calibration({ probability, outcome }: Forecasts): { error: number; bins: ReliabilityBin[] } {
  const ascending = probability.toSorted()
  const count = ascending.length
  const highest: number[] = []
  if (count === 0) return { error: 0, bins: [] }
  for (let bin = 1; bin <= BINS; bin++) {
    const top = ascending[Math.max(0, Math.round((bin * count) / BINS) - 1)] ?? 0
    if (top !== highest.at(-1)) highest.push(top)
  }
  const races = new Float64Array(highest.length)
  const said = new Float64Array(highest.length)
  const happened = new Float64Array(highest.length)
  for (let place = 0; place < count; place++) {
    const value = probability[place] ?? 0
    let bin = 0
    while (bin < highest.length - 1 && value > (highest[bin] ?? 0)) bin += 1
    races[bin] = (races[bin] ?? 0) + 1
    said[bin] = (said[bin] ?? 0) + value
    happened[bin] = (happened[bin] ?? 0) + (outcome[place] ?? 0)
  }
  let error = 0
  let below = 0
  const bins = highest.map((to, bin): ReliabilityBin => {
    const own = races[bin] ?? 0
    const means = { said: (said[bin] ?? 0) / own, happened: (happened[bin] ?? 0) / own }
    error += (own / count) * Math.abs(means.said - means.happened)
    const from = ascending[below] ?? to
    below += own
    return { from, to, races: own, ...means }
  })
  assert(below === count, 'every forecast is in one bin', below)
  return { error, bins }
}
