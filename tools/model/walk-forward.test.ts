import { describe, expect, test } from 'vitest'
import { RACE_OUTCOMES } from '../../contracts/outcome.ts'
import { DAY_MS, HOUR_MS } from '../../contracts/timeframes.ts'
import { WINDOW_BARS } from '../../contracts/verdict.ts'
import { seededRandom } from '../../services/engine/random-walk.ts'
import { RECIPE } from './recipe.ts'
import type { SeriesSamples } from './series-samples.ts'
import { fitUntil, fitWhole, foldsOf, movedOutcomes, walkForward } from './walk-forward.ts'

const UP = RACE_OUTCOMES.indexOf('up')
const DOWN = RACE_OUTCOMES.indexOf('down')
const COUNT = 4_000
const WINDOW_MS = WINDOW_BARS['1h'] * HOUR_MS

/** One feature that tells a little of who wins. */
function samples(
  change: (race: Uint8Array, barClose: Float64Array) => void = () => undefined,
): SeriesSamples {
  const random = seededRandom(9)
  const features = Float64Array.from({ length: COUNT }, () => 2 * random() - 1)
  const race = Uint8Array.from(features, (value) => (random() < 0.5 + 0.2 * value ? UP : DOWN))
  const barClose = Float64Array.from({ length: COUNT }, (_, index) => index * HOUR_MS)
  change(race, barClose)
  return {
    series: { exchange: 'SIM', coin: 'BTC', timeframe: '1h' },
    count: COUNT,
    barClose,
    features,
    race,
    barrier: new Float64Array(COUNT).fill(0.01),
    entryPrice: new Float64Array(COUNT).fill(100),
    exitPrice: new Float64Array(COUNT).fill(101),
    probability: new Float64Array(COUNT).fill(0.5),
    sign: new Int8Array(COUNT),
  }
}

const original = [samples()]
const UNTIL = 3_000 * HOUR_MS

/** The samples with every outcome turned round whose bar passes. */
const turnedWhere = (passes: (barClose: number) => boolean): SeriesSamples[] => [
  samples((race, barClose) => {
    for (const [index, close] of barClose.entries()) {
      if (passes(close)) race[index] = race[index] === UP ? DOWN : UP
    }
  }),
]

const fitOf = (all: readonly SeriesSamples[]) => {
  const { score, slope } = fitUntil(all, all, UNTIL, 1, RECIPE)
  return { coefficients: score.coefficients, scales: score.scales, slope }
}

describe('what is fitted until an instant', () => {
  test('knows nothing of races that are not over by then', () => {
    // Bars that closed before the instant, with windows that reach beyond it: their outcome is the future.
    const future = turnedWhere((barClose) => barClose + WINDOW_MS > UNTIL)
    expect(fitOf(future)).toEqual(fitOf(original))
  })

  test('knows those that are', () => {
    const past = turnedWhere((barClose) => barClose + WINDOW_MS === UNTIL)
    expect(fitOf(past).slope).not.toBe(fitOf(original).slope)
  })

  test('keeps the races across the border between coefficients and calibration out of both', () => {
    const border = UNTIL * (1 - RECIPE.calibrationShare)
    const across = turnedWhere((barClose) => barClose < border && barClose + WINDOW_MS > border)
    expect(fitOf(across)).toEqual(fitOf(original))
    const before = turnedWhere((barClose) => barClose + WINDOW_MS === border)
    expect(fitOf(before).coefficients).not.toEqual(fitOf(original).coefficients)
  })

  test('is no calibration where the newest races say the opposite, or are too few', () => {
    const border = UNTIL * (1 - RECIPE.calibrationShare)
    expect(fitOf(turnedWhere((barClose) => barClose >= border)).slope).toBeUndefined()
    expect(fitUntil(original, original, 300 * HOUR_MS, 1, RECIPE).slope).toBeUndefined()
  })

  test('is even-handed: the market upside down gets the opposite score', () => {
    const { coefficients, slope } = fitOf(original)
    const mirrored = original.map((one) => ({
      ...one,
      features: one.features.map((value) => -value),
      race: one.race.map((race) => (race === UP ? DOWN : UP)),
    }))
    expect(fitOf(mirrored).coefficients[0]).toBeCloseTo(coefficients[0] ?? 0, 9)
    expect(fitOf(mirrored).slope).toBeCloseTo(slope ?? 0, 9)
  })
})

describe('a walk', () => {
  test('covers everything after its first training window, once', () => {
    const folds = foldsOf(original, RECIPE)
    expect(folds.length).toBeGreaterThanOrEqual(RECIPE.fewestRefits)
    expect(folds[0]?.from).toBe(Math.ceil(0.4 * ((COUNT - 1) * HOUR_MS + 1)))
    expect(folds.slice(1).map(({ from }) => from)).toEqual(folds.slice(0, -1).map(({ until }) => until))
    const calls = walkForward(original, original, 1, RECIPE)
    const expected = Array.from(original[0]?.barClose ?? []).filter((close) => close >= (folds[0]?.from ?? 0))
    expect(calls.map(({ barClose }) => barClose)).toEqual(expected)
  })

  test('forecasts nothing from what comes later', () => {
    const cut = 2_500 * HOUR_MS
    const known = (all: readonly SeriesSamples[]) =>
      walkForward(all, all, 1, RECIPE)
        .filter(({ barClose }) => barClose + WINDOW_MS <= cut)
        .map(({ barClose, probability, call }) => [barClose, probability, call])
    expect(known(turnedWhere((barClose) => barClose + WINDOW_MS > cut))).toEqual(known(original))
  })

  test('refits by the calendar where history is long', () => {
    const long = [{ ...samples(), barClose: Float64Array.from({ length: COUNT }, (_, day) => day * DAY_MS) }]
    const [first, second] = foldsOf(long, RECIPE)
    expect(first?.from).toBe(RECIPE.firstTrainingDays * DAY_MS)
    expect((second?.from ?? 0) - (first?.from ?? 0)).toBe(RECIPE.refitDays * DAY_MS)
  })

  test('has no step without samples', () => {
    expect(foldsOf([], RECIPE)).toEqual([])
  })
})

test('a fit on everything takes no slope of races that gave the coefficients', () => {
  const whole = fitWhole(original, 1, RECIPE)
  const older = fitUntil(original, original, (COUNT - 1) * HOUR_MS + WINDOW_MS, 1, RECIPE)
  expect(whole.score.coefficients).toEqual(older.score.coefficients)
  expect(whole.slopeOf(original)).toBe(older.slope)
  // A timeframe whose history ends before the coefficients' does has nothing left to calibrate on.
  const early = original.map((one) => ({ ...one, count: 1_000, barClose: one.barClose.slice(0, 1_000) }))
  expect(whole.slopeOf(early)).toBeUndefined()
})

test('moved outcomes are the same ones, elsewhere', () => {
  const [moved] = movedOutcomes(original)
  const races = original[0]?.race ?? expect.fail('There are no samples.')
  expect(moved?.race[0]).toBe(races[COUNT / 2])
  expect(moved?.race.toSorted()).toEqual(races.toSorted())
})
