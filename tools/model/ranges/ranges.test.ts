import { describe, expect, test } from 'vitest'
import { DAY_MS, HOUR_MS } from '../../../contracts/timeframes.ts'
import { MEASURES } from '../../../services/engine/forecast/range-model.ts'
import { createRandom } from '../../../services/market/simulated/random.ts'
import { addToProfile, noProfileSums, profileOf } from './fit-profile.ts'
import { fitRange, moveOf, windowsUntil, withinShares } from './fit-range.ts'
import type { RangeSamples } from './range-samples.ts'
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
  }
}

describe('a fit of ranges', () => {
  const all = samples(1)
  const fitted = fitRange([all], Number.POSITIVE_INFINITY)

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
    expect(fitRange([tampered], until)).toEqual(fitRange([all], until))
  })
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
