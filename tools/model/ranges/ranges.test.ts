import { describe, expect, test } from 'vitest'
import { DAY_MS, HOUR_MS } from '../../../contracts/timeframes.ts'
import { MEASURES } from '../../../services/engine/forecast/range-model.ts'
import { createRandom } from '../../../services/market/simulated/random.ts'
import { contendersAt, createExtentScores } from './compare-extents.ts'
import { hourFactors } from './fit-hours.ts'
import { addToProfile, noProfileSums, profileOf } from './fit-profile.ts'
import { fitRange, moveOf, windowsUntil, withinShares } from './fit-range.ts'
import { HAR_TERMS, type RangeSamples } from './range-samples.ts'
import { createRangeScores } from './score-ranges.ts'

const WINDOWS = 4_000

/** Windows whose moves are two-sided exponential around a scale that the first measure tells. */
function samples(seed: number, coin = 'BTC', count = WINDOWS): RangeSamples {
  const random = createRandom(seed)
  const measures = new Float32Array(count * MEASURES)
  const move = new Float32Array(count)
  for (let place = 0; place < count; place++) {
    const logVariance = -9 + random.normal()
    for (let at = 0; at < MEASURES; at++)
      measures[place * MEASURES + at] = at === 0 ? logVariance : -9 + random.normal()
    move[place] = -Math.log(1 - random.uniform()) * Math.exp(0.5 * logVariance)
  }
  return {
    coin,
    windowMs: 8 * HOUR_MS,
    barClose: Float64Array.from({ length: count }, (_, index) => (index + 1) * HOUR_MS),
    measures,
    season: new Float32Array(count),
    move,
    ewma: new Float32Array(count).fill(0.01),
    extent: new Float32Array(count).fill(0.02),
    variance: new Float32Array(count).fill(0.0004),
    har: new Float32Array(count * HAR_TERMS),
  }
}

describe('a fit of ranges', () => {
  const all = samples(1)
  const fitted = fitRange([[all]], Number.POSITIVE_INFINITY)

  test('finds the measure that tells the scale, and leaves the others out', () => {
    const [first = 0, ...others] = fitted.weights
    expect(first).toBeGreaterThan(0.9)
    for (const weight of others) expect(Math.abs(weight)).toBeLessThan(0.1)
  })

  test('reaches as far as four fifths of other windows stay within', () => {
    const other = samples(2)
    const within = [...other.move].filter(
      (move, place) => move <= fitted.outer * moveOf(fitted, other, place),
    )
    // Four standard errors of 4,000 windows.
    expect(Math.abs(within.length / WINDOWS - 0.8)).toBeLessThan(0.026)
  })

  test('sees only windows that were over', () => {
    const until = 1_000 * HOUR_MS
    const seen = [...windowsUntil([all], until)].map(([one, place]) => one.barClose[place] ?? 0)
    expect(seen.length).toBeGreaterThan(900)
    expect(Math.max(...seen) + all.windowMs).toBeLessThanOrEqual(until)
    const tampered = { ...all, move: all.move.map((move, place) => (place > 1_000 ? 50 : move)) }
    expect(fitRange([[tampered]], until)).toEqual(fitRange([[all]], until))
  })
})

test('weights are of all groups, and the level and the quantiles of the last one', () => {
  const few = samples(4, 'FEW', 300)
  const wilder = { ...few, move: few.move.map((move) => 3 * move) }
  const alone = fitRange([[wilder]], Number.POSITIVE_INFINITY)
  const pooled = fitRange([[samples(5)], [wilder]], Number.POSITIVE_INFINITY)
  expect(Math.abs((pooled.weights[0] ?? 0) - 1)).toBeLessThan(Math.abs((alone.weights[0] ?? 0) - 1))
  const withOther = fitRange([[wilder], [samples(5)]], Number.POSITIVE_INFINITY)
  expect(pooled.weights).toEqual(withOther.weights.map((weight) => expect.closeTo(weight, 6)))
  // A level of log 9 apart: three times the move.
  expect(pooled.intercept - withOther.intercept).toBeCloseTo(Math.log(9), 0)
  expect(pooled.windows).toBe(300)
})

test('an hour that is livelier than the profile knows gets a wider range, of the newest two years alone', () => {
  const count = 120_000
  const closes = Float64Array.from({ length: count }, (_, index) => Math.floor(index / 3) * HOUR_MS)
  const ends = closes.map((close) => close + HOUR_MS)
  const random = createRandom(6)
  const plain = closes.map((close) => {
    const isLively = new Date(close).getUTCHours() === 14 && close > closes.at(-1)! - 700 * DAY_MS
    return (isLively ? 1.5 : 1) * -Math.log(1 - random.uniform())
  })
  const many = { closes, ends, plain }
  const hours = hourFactors('1h', many, Number.POSITIVE_INFINITY)
  expect(hours).toBeUndefined()
  const told = hourFactors('1h', many, closes.at(-1)! + 1) ?? expect.fail('There are none.')
  expect(told).toHaveLength(48)
  // Few windows apart are drawn to 1.
  expect(told[14]).toBeGreaterThan(1.03)
  expect(told[3]).toBeLessThan(1.02)
  expect(hourFactors('4h', many, closes.at(-1)! + 1)).toBeUndefined()
})

test('the extent of windows is told by the measure that tells it, better than by others', () => {
  const one = samples(8)
  const extent = Float32Array.from({ length: WINDOWS }, (_, place) =>
    Math.exp(0.5 * (one.measures[place * MEASURES] ?? 0)),
  )
  const all = [{ ...one, extent, variance: extent.map((size) => size * size) }]
  const fit = fitRange([all], Number.POSITIVE_INFINITY)
  const contenders = contendersAt(all, Number.POSITIVE_INFINITY, fit)
  const scores = createExtentScores('1h')
  for (let place = 0; place < WINDOWS; place++) scores.add(all[0]!, place, contenders)
  const { r2, qlike, r2AboveHar } = scores.scores() ?? expect.fail('There are none.')
  expect(r2.own).toBeGreaterThan(0.95)
  expect(Math.abs(r2.har)).toBeLessThan(0.01)
  expect(qlike.own).toBeLessThan(qlike.har / 10)
  expect(r2AboveHar.low).toBeGreaterThan(0.8)
  expect(createExtentScores('1h').scores()).toBeUndefined()
})

test('shares are counted', () => {
  expect(withinShares(Float64Array.from({ length: 100 }, (_, index) => 99 - index))).toEqual({
    inner: 50,
    outer: 80,
  })
})

test('scores are of the pinball loss, and coins in years outside of luck are named', () => {
  const scores = createRangeScores()
  const wide = samples(3, 'WIDE', 3_000)
  const others = { constant: 0.02, coin: 0.02, ewma: 0.01 }
  for (let place = 0; place < 3_000; place++)
    scores.add(wide, place, HOUR_MS, { inner: 0, outer: wide.move[place] ?? 0 }, others)
  const told = scores.scores()
  expect(told?.coverage80).toBe(1)
  expect(told?.cellsOutside).toEqual(['WIDE 1970: 100 %'])
  expect(told?.coinYears).toEqual({ all: 1, within: 0 })
  expect([told?.fifths, told?.hours]).toEqual([Array(5).fill(1), Array(6).fill(1)])
  const mean = (of: (move: number) => number): number =>
    [...wide.move].reduce((sum, move) => sum + of(move), 0) / 3_000
  // Half of 2·(share·distance), for either quantile: 0.2 of the reach where it holds.
  const constant = mean((move) => (move > 0.02 ? 0.9 * (move - 0.02) + 0.1 * (move + 0.02) : 0.004))
  expect(told?.belowConstant).toBeCloseTo(1 - mean((move) => 0.2 * move) / constant, 10)
  expect(createRangeScores().scores()).toBeUndefined()
})

test('a profile knows busy hours of weekdays and of Sundays apart, and is one on average', () => {
  const quarter = 15 * 60_000
  const monday = Date.UTC(2026, 0, 5)
  const bars = Array.from({ length: (28 * DAY_MS) / quarter }, (_, index) => {
    const openTime = monday + index * quarter
    const at = new Date(openTime)
    const isBusy = at.getUTCHours() === (at.getUTCDay() === 0 ? 3 : 14)
    const reach = isBusy ? 0.02 : 0.01
    return { openTime, open: 100, high: 100 * (1 + reach), low: 100 * (1 - reach), close: 100, volume: 1 }
  })
  const sums = noProfileSums()
  addToProfile(sums, bars)
  const { weekday, sunday } = profileOf(sums)
  expect((weekday[14 * 4] ?? 0) / (weekday[3 * 4] ?? 0)).toBeGreaterThan(2)
  expect((sunday[3 * 4] ?? 0) / (sunday[14 * 4] ?? 0)).toBeGreaterThan(2)
  const counted = [...sums.counts].reduce((sum, count) => sum + count, 0)
  const { saturday } = profileOf(sums)
  const weighted = [...weekday, ...saturday, ...sunday].reduce(
    (sum, value, at) => sum + value * (sums.counts[at] ?? 0),
    0,
  )
  expect(weighted / counted).toBeCloseTo(1, 10)
})
