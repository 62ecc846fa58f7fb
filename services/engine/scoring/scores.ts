import type { ReliabilityBin } from './evaluation.ts'
import { blockMean, halfWidth95, type Measure } from './intervals.ts'

/** A forecast and what came of it. */
export interface Forecast {
  readonly probability: number
  /** 1 where the upper barrier won, 0 where the lower one did. */
  readonly outcome: 0 | 1
  /** Forecasts of one block may depend on one another, those of different blocks do not. */
  readonly block: number
}

/**
 * Area under the ROC curve: the chance that a race won by the upper barrier had the higher forecast; ties
 * count one half. `margin` is half its 95 % interval, from sums over blocks, because windows overlap and
 * coins move together: races are far from independent.
 *
 * @returns NaN where only one side ever won
 * @example
 * areaUnderCurve([
 *   { probability: 0.6, outcome: 1, block: 0 },
 *   { probability: 0.4, outcome: 0, block: 1 },
 * ]).auc === 1
 */
export function areaUnderCurve(forecasts: readonly Forecast[]): { auc: number; margin: number } {
  const ascending = forecasts.toSorted((a, b) => a.probability - b.probability)
  const wins = ascending.filter(({ outcome }) => outcome === 1).length
  const losses = ascending.length - wins

  // The share of the other side that a forecast stands on the right side of.
  const placements: number[] = []
  let winsBelow = 0
  let lossesBelow = 0
  for (let from = 0; from < ascending.length; ) {
    let to = from
    let tiedWins = 0
    while (to < ascending.length && ascending[to]?.probability === ascending[from]?.probability) {
      tiedWins += ascending[to]?.outcome ?? 0
      to += 1
    }
    const tiedLosses = to - from - tiedWins
    const ofWin = (lossesBelow + tiedLosses / 2) / losses
    const ofLoss = (wins - winsBelow - tiedWins / 2) / wins
    for (let index = from; index < to; index++)
      placements.push(ascending[index]?.outcome === 1 ? ofWin : ofLoss)
    winsBelow += tiedWins
    lossesBelow += tiedLosses
    from = to
  }

  let placed = 0
  for (const [index, { outcome }] of ascending.entries()) if (outcome === 1) placed += placements[index] ?? 0
  const auc = placed / wins
  const influence = new Map<number, number>()
  for (const [index, { outcome, block }] of ascending.entries()) {
    const share = ((placements[index] ?? 0) - auc) / (outcome === 1 ? wins : losses)
    influence.set(block, (influence.get(block) ?? 0) + share)
  }
  let variance = 0
  for (const share of influence.values()) variance += share * share
  return { auc, margin: halfWidth95(influence.size) * Math.sqrt(variance) }
}

/**
 * Mean squared error of forecasts; 0.25 is what always saying one half gets.
 *
 * @param forecasts at least one
 */
export function brierScore(forecasts: readonly Forecast[]): Measure {
  const mean = blockMean(
    forecasts.map(({ probability, outcome }) => (probability - outcome) ** 2),
    forecasts.map(({ block }) => block),
  )
  const { value, low, high } = mean ?? { value: Number.NaN, low: null, high: null }
  return { value, low, high }
}

const BINS = 10

/**
 * How far forecasts are from what happened: tenths of them by height, each a bin with its mean forecast and
 * its share of wins. Equal forecasts share a bin. `error` is the mean distance of the two, weighted by races.
 *
 * @example calibration([{ probability: 0.6, outcome: 1, block: 0 }]).error === 0.4
 */
export function calibration(forecasts: readonly Forecast[]): { error: number; bins: ReliabilityBin[] } {
  const ascending = forecasts.toSorted((a, b) => a.probability - b.probability)
  const bins: ReliabilityBin[] = []
  let error = 0
  let start = 0
  for (let bin = 1; bin <= BINS; bin++) {
    let end = Math.max(start, Math.round((bin * ascending.length) / BINS))
    while (end > start && ascending[end]?.probability === ascending[end - 1]?.probability) end += 1
    const own = ascending.slice(start, end)
    start = end
    const [first] = own
    const last = own.at(-1)
    if (first === undefined || last === undefined) continue
    const said = own.reduce((sum, { probability }) => sum + probability, 0) / own.length
    const happened = own.reduce((sum, { outcome }) => sum + outcome, 0) / own.length
    bins.push({ from: first.probability, to: last.probability, races: own.length, said, happened })
    error += (own.length / ascending.length) * Math.abs(said - happened)
  }
  return { error, bins }
}
