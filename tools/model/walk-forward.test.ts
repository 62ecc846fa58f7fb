import { describe, expect, test } from 'vitest'
import { RACE_OUTCOMES } from '../../contracts/outcome.ts'
import { DAY_MS, HOUR_MS } from '../../contracts/timeframes.ts'
import { WINDOW_BARS } from '../../contracts/verdict.ts'
import { seededRandom } from '../../testing/random-walk.ts'
import { RECIPE } from './recipe.ts'
import type { SeriesSamples } from './series-samples.ts'
import { fitUntil, foldsOf, movedOutcomes, type Training, walkForward } from './walk-forward.ts'

const UP = RACE_OUTCOMES.indexOf('up')
const DOWN = RACE_OUTCOMES.indexOf('down')
const COUNT = 4_000
const WINDOW_MS = WINDOW_BARS['1h'] * HOUR_MS

/** One feature that tells a little of who wins. */
function samples(
  change: (race: Uint8Array, barClose: Float64Array) => void = () => undefined,
): SeriesSamples {
  const random = seededRandom(9)
  const features = Float32Array.from({ length: COUNT }, () => 2 * random() - 1)
  const race = Uint8Array.from(features, (value) => (random() < 0.5 + 0.2 * value ? UP : DOWN))
  const barClose = Float64Array.from({ length: COUNT }, (_, index) => index * HOUR_MS)
  change(race, barClose)
  return {
    series: { exchange: 'SIM', coin: 'BTC', timeframe: '1h' },
    barClose,
    features,
    race,
    barrier: new Float32Array(COUNT).fill(0.01),
    rise: new Float32Array(COUNT).fill(0.01),
    probability: new Float32Array(COUNT).fill(0.5),
    sign: new Int8Array(COUNT),
    close: new Float32Array(COUNT).fill(0.01),
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

const training = (all: readonly SeriesSamples[]): Training => ({
  samplesOf: new Map([['1h', all]]),
  columns: 1,
  recipe: { ...RECIPE, fewestRaces: 200 },
})

const fitOf = (all: readonly SeriesSamples[]) => {
  const { coefficients, scales } = fitUntil(training(all), '1h', UNTIL)
  return { coefficients, scales }
}

describe('what is fitted until an instant', () => {
  test('knows nothing of races that are not over by then', () => {
    // Bars that closed before the instant, with windows that reach beyond it: their outcome is the future.
    const future = turnedWhere((barClose) => barClose + WINDOW_MS > UNTIL)
    expect(fitOf(future)).toEqual(fitOf(original))
  })

  test('knows those that are', () => {
    const past = turnedWhere((barClose) => barClose + WINDOW_MS === UNTIL)
    expect(fitOf(past)).not.toEqual(fitOf(original))
  })

  test('is of no more races than the recipe takes, spread over all', () => {
    const few = { ...training(original), recipe: { ...RECIPE, mostRaces: 500 } }
    const { races, coefficients } = fitUntil(few, '1h', Number.POSITIVE_INFINITY)
    expect(races).toBe(500)
    expect(coefficients[0]).toBeGreaterThan(0)
  })

  test('is even-handed: the market upside down gets the opposite score', () => {
    const mirrored = original.map((one) => ({
      ...one,
      features: one.features.map((value) => -value),
      race: one.race.map((race) => (race === UP ? DOWN : UP)),
    }))
    expect(fitOf(mirrored).coefficients[0]).toBeCloseTo(fitOf(original).coefficients[0] ?? 0, 9)
  })
})

describe('a walk', () => {
  test('covers everything after its first training window, once', () => {
    const folds = foldsOf(original, RECIPE)
    expect(folds.length).toBeGreaterThanOrEqual(RECIPE.fewestRefits)
    expect(folds[0]?.from).toBe(Math.ceil(0.4 * ((COUNT - 1) * HOUR_MS + 1)))
    expect(folds.slice(1).map(({ from }) => from)).toEqual(folds.slice(0, -1).map(({ until }) => until))
    const [calls] = walkForward(training(original), '1h').calls
    const expected = Array.from(original[0]?.barClose ?? []).filter((close) => close >= (folds[0]?.from ?? 0))
    expect([...(calls?.barClose ?? [])]).toEqual(expected)
  })

  test('forecasts nothing from what comes later', () => {
    const cut = 2_500 * HOUR_MS
    const known = (all: readonly SeriesSamples[]) =>
      walkForward(training(all), '1h').calls.flatMap(({ barClose, probability, sign }) =>
        Array.from(barClose, (at, place) => [at, probability[place], sign[place]]).filter(
          ([at = 0]) => at + WINDOW_MS <= cut,
        ),
      )
    expect(known(turnedWhere((barClose) => barClose + WINDOW_MS > cut))).toEqual(known(original))
  })

  test('refits by the calendar where history is long', () => {
    const long = [{ ...samples(), barClose: Float64Array.from({ length: COUNT }, (_, day) => day * DAY_MS) }]
    const [first, second] = foldsOf(long, RECIPE)
    expect(first?.from).toBe(RECIPE.firstTrainingDays * DAY_MS)
    expect((second?.from ?? 0) - (first?.from ?? 0)).toBe(RECIPE.refitDays * DAY_MS)
  })

  test('calibrates on forecasts only: their slope falls where the newest races say the opposite', () => {
    const slope = (all: readonly SeriesSamples[]) => walkForward(training(all), '1h').scaling.slope
    expect(slope(original)).toBeGreaterThan(0.5)
    expect(slope(turnedWhere((barClose) => barClose >= 1_600 * HOUR_MS))).toBe(0)
    const few = { ...training(original), recipe: { ...RECIPE, fewestRaces: 1_000_000 } }
    expect(walkForward(few, '1h').scaling.slope).toBe(RECIPE.firstSlope)
  })

  test('its offset is of the newest days that the recipe names, and only where it names the timeframe', () => {
    const risen = (all: readonly SeriesSamples[], recipe: Partial<typeof RECIPE> = {}) =>
      walkForward(
        { ...training(all), recipe: { ...RECIPE, fewestRaces: 200, habitDays: 30, ...recipe } },
        '1h',
      )
    const cut = (COUNT - 30 * 24) * HOUR_MS
    const allUp = (passes: (close: number) => boolean) => [
      samples((race, barClose) => {
        for (const [index, close] of barClose.entries())
          if (passes(close) && index % 3 === 0) race[index] = UP
      }),
    ]
    expect(risen(allUp((close) => close > cut)).scaling.offset).toBeGreaterThan(0.2)
    expect(Math.abs(risen(allUp((close) => close <= cut - WINDOW_MS)).scaling.offset)).toBeLessThan(0.15)
    const { scaling, calls, plain } = risen(
      allUp(() => true),
      { offsets: [] },
    )
    expect(scaling.offset).toBe(0)
    expect(calls[0]?.probability).toEqual(plain[0]?.probability)
  })

  test('a coin whose forecasts say nothing gets a flat slope where the recipe gives slopes to coins', () => {
    const random = seededRandom(3)
    const dumb = samples((race) => {
      for (const index of race.keys()) race[index] = random() < 0.5 ? UP : DOWN
    })
    const all = [...original, { ...dumb, series: { ...dumb.series, coin: 'LTC' } }]
    const recipe = { ...RECIPE, fewestRaces: 200, coinSlopes: ['1h'] as const }
    const { coinSlopes } = walkForward(
      { ...training(all), recipe: { ...recipe, coinSlopes: [...recipe.coinSlopes] } },
      '1h',
    ).scaling
    expect(coinSlopes.get('BTC')).toBeGreaterThan(1.2)
    expect(coinSlopes.get('LTC')).toBeLessThan(0.8)
    expect(walkForward(training(all), '1h').scaling.coinSlopes.size).toBe(0)
  })

  test('has no step without samples', () => {
    expect(foldsOf([], RECIPE)).toEqual([])
  })
})

test('moved outcomes are the same ones, elsewhere', () => {
  const [moved] = movedOutcomes(original)
  const races = original[0]?.race ?? expect.fail('There are no samples.')
  expect(moved?.race[0]).toBe(races[COUNT / 2])
  expect(moved?.race.toSorted()).toEqual(races.toSorted())
})
