import type { Regime } from '../../contracts/regime.ts'
import type { Timeframe } from '../../contracts/timeframes.ts'
import { type Factor, type Forecast, likelierBarrier, type Verdict } from '../../contracts/verdict.ts'
import { BUY_ENTRY, BUY_EXIT } from './call-trigger.ts'
import { CELL, CELLS_PER_FEATURE, cell } from './cells.ts'
import { FEATURES, isFeatureName } from './features.ts'
import type { TimeframeSkill, VerdictModel } from './model.ts'
import { STILL_BARS, type Stillness, stillnessOf } from './stillness.ts'

/**
 * Contribution of a feature to the log-odds; 0 when it cannot be measured.
 *
 * @param value NaN where it cannot be measured
 * @param inverseScale one over the unit of the feature
 * @param clip scaled values are clipped to ± this
 */
export function contributionOf(value: number, inverseScale: number, weight: number, clip: number): number {
  if (Number.isNaN(value)) return 0
  const scaled = value * inverseScale
  return weight * (scaled > clip ? clip : scaled < -clip ? -clip : scaled)
}

export const probabilityOf = (logOdds: number): number => 1 / (1 + Math.exp(-logOdds))

/** Name of the factor that holds what the model says without any measurement: intercept and calibration. */
export const BIAS_FACTOR = 'bias'

/**
 * The log-odds of a series' newest bar in parts: the bias, then every feature in the model's order. Added in
 * this order, the contributions are the log-odds to the last bit.
 *
 * @param base the series' first cell
 */
export function factorsOf(model: VerdictModel, cells: Float64Array, base: number): Factor[] {
  const bias = stillnessOf(cells, base) === undefined ? cell(cells, base + CELL.bias) : 0
  const factors: Factor[] = [{ name: BIAS_FACTOR, value: null, contribution: bias, status: 'measured' }]
  for (const [index, name] of model.names.entries()) {
    const at = base + CELL.features + CELLS_PER_FEATURE * index
    const value = cell(cells, at)
    if (Number.isNaN(value)) {
      factors.push({ name, value: null, contribution: 0, status: 'unavailable' })
    } else {
      // Adding 0 turns −0, which JSON cannot carry, into 0 and changes nothing else.
      const contribution = cell(cells, at + 1) + 0
      factors.push({ name, value: value + 0, contribution, status: 'measured' })
    }
  }
  return factors
}

/**
 * The probability that the window of a series' newest bar closes above its entry, of the same measurements as the race;
 * undefined where the model has shown no skill at it, and in a market that stands still.
 *
 * @param base the series' first cell
 */
export function closesHigherOf(
  { names, clip, timeframes }: VerdictModel,
  timeframe: Timeframe,
  cells: Float64Array,
  base: number,
): number | undefined {
  const { closes } = timeframes[timeframe]
  if (closes?.skill !== true || stillnessOf(cells, base) !== undefined) return undefined
  const { offset, slope, scales, coefficients } = closes
  let logOdds = offset
  for (let index = 0; index < names.length; index++) {
    const value = cell(cells, base + CELL.features + CELLS_PER_FEATURE * index)
    logOdds += contributionOf(value, 1 / (scales[index] ?? 1), slope * (coefficients[index] ?? 0), clip)
  }
  return probabilityOf(logOdds)
}

const REGIME_WORDS: Readonly<Record<Regime, string>> = {
  TRENDING_UP: 'trending up',
  TRENDING_DOWN: 'trending down',
  RANGING: 'ranging',
  VOLATILE: 'without trend but unusually volatile',
}

const STILLNESS_WORDS: Readonly<Record<Stillness, string>> = {
  moves: `the price has not moved for ${STILL_BARS} bars`,
  trades: `nothing was traded in ${STILL_BARS} bars`,
}

const NAMED_FACTORS = 2

/**
 * The factors that weigh most, largest first: what was measured, and what it speaks for. A weight may be negative, so
 * the one does not tell the other: "momentum over 24 bars (+1.07, speaks for SELL)".
 */
const weightiest = (factors: readonly Factor[]): string =>
  factors
    .flatMap(({ name, value, contribution }) =>
      isFeatureName(name) && value !== null && contribution !== 0 ? [{ name, value, contribution }] : [],
    )
    .toSorted((a, b) => Math.abs(b.contribution) - Math.abs(a.contribution))
    .slice(0, NAMED_FACTORS)
    .map(
      ({ name, value, contribution }) =>
        `${FEATURES[name].label} (${signed(value)}, speaks for ${contribution > 0 ? 'BUY' : 'SELL'})`,
    )
    .join(' and ')

function signed(value: number): string {
  const size = Math.abs(value)
  return `${value < 0 ? '−' : '+'}${size >= 0.1 ? size.toFixed(2) : size.toPrecision(2)}`
}

/** Three digits that never say that a threshold was reached which was not. */
const roundedDown = (probability: number): string => (Math.floor(1_000 * probability) / 1_000).toFixed(3)

/** The reach in which the price ends in four of five cases, in words. */
function reach({ p10, p90 }: Forecast): string {
  const percent = (fraction: number): string => {
    const size = 100 * Math.abs(fraction)
    return size >= 0.95 ? size.toFixed(1) : size.toPrecision(2)
  }
  return `By the end of the window the price is within −${percent(p10)} % and +${percent(p90)} % in four of five cases.`
}

/**
 * Plain sentences on why a verdict is what it is, and how far the price may go.
 *
 * @param verdict `confidence` is as the verdict states it, in percent: capped, so it does not follow from the
 *   probability, which gives the side
 */
export function reasoningFor(
  verdict: Pick<Verdict, 'call' | 'confidence' | 'probability' | 'regime' | 'factors' | 'forecast'>,
  skill: TimeframeSkill,
  stillness?: Stillness,
): string {
  if (stillness !== undefined)
    return `HOLD, because ${STILLNESS_WORDS[stillness]}; there is nothing to tell from.`
  const why = `${reasonFor(verdict, skill)}.`
  return verdict.forecast === null ? why : `${why} ${reach(verdict.forecast)}`
}

function reasonFor(
  { call, confidence, probability, regime, factors }: Parameters<typeof reasoningFor>[0],
  skill: TimeframeSkill,
): string {
  const market = `in a market that is ${REGIME_WORDS[regime]}`
  if (!skill.skill) return `HOLD ${market}, because ${skill.reason}`
  const side = likelierBarrier(probability)
  const named = weightiest(factors)
  const weights = named === '' ? 'nothing that could be measured weighs' : `${named} weigh most`
  const likelier = Math.max(probability, 1 - probability)
  const measure =
    call === 'HOLD'
      ? `, too little for a call, which begins at a probability of ${BUY_ENTRY} (${roundedDown(likelier)} here)`
      : likelier < BUY_ENTRY
        ? `, a call that began at a probability of ${BUY_ENTRY} and lasts until ${BUY_EXIT}`
        : ''
  return `${call} with ${confidence} % confidence that the ${side} barrier comes first${measure}; ${weights} ${market}`
}
