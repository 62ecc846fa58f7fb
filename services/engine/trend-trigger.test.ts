import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { randomWalk } from '../../testing/random-walk.ts'
import { FIRST_REGIME_RULE, NEWEST_REGIME_RULE, nextDirection, nextVolatile } from './call-trigger.ts'
import { SeriesEngine } from './engine.ts'
import { createModel, keptModelFile } from './model.ts'

test.each([
  // From no trend, only the entry begins one.
  [0, 0.5, 0],
  [0, 0.51, 1],
  [0, -0.5, 0],
  [0, -0.51, -1],
  [0, 0, 0],
  // An uptrend lasts until −0.2 is passed.
  [1, 0.6, 1],
  [1, 0, 1],
  [1, -0.2, 1],
  [1, -0.21, 0],
  [1, -0.5, 0],
  [1, -0.51, -1],
  // A downtrend is the mirror image.
  [-1, -0.6, -1],
  [-1, 0, -1],
  [-1, 0.2, -1],
  [-1, 0.21, 0],
  [-1, 0.5, 0],
  [-1, 0.51, 1],
  // What cannot be measured is no trend.
  [1, Number.NaN, 0],
  [0, Number.NaN, 0],
])('direction %d with a trend measure of %d becomes %d', (current, measure, next) => {
  expect(nextDirection(current, measure, FIRST_REGIME_RULE)).toBe(next)
})

test.each([
  [false, 0.92, false],
  [false, 0.921, true],
  [false, 0.8, false],
  [true, 0.8, true],
  [true, 0.75, true],
  [true, 0.749, false],
])('volatile %s at percentile %d becomes %s', (current, percentile, next) => {
  expect(nextVolatile(current, percentile)).toBe(next)
})

test('the regime follows the rule that the model names, and another model’s is as it was', () => {
  const data = JSON.parse(readFileSync(keptModelFile('barrier-4') as URL, 'utf8')) as object
  const regimesBy = (regime?: object): string[] => {
    const engine = new SeriesEngine({ model: createModel({ ...data, ...(regime && { regime }) }) })
    const slot = engine.open({ exchange: 'BINANCE', coin: 'BTC', timeframe: '1h' })
    return randomWalk(7, 1_600).flatMap((bar) => {
      engine.push(slot, bar)
      const reading = engine.read(slot)
      return reading.status === 'verdict' ? [reading.verdict.regime] : []
    })
  }
  const count = (regimes: readonly string[], regime: string) => regimes.filter((one) => one === regime).length
  const first = regimesBy()
  expect(regimesBy(FIRST_REGIME_RULE)).toEqual(first)
  const lively = regimesBy({ ...FIRST_REGIME_RULE, volatileFirst: true })
  expect(count(lively, 'VOLATILE')).toBeGreaterThan(2 * count(first, 'VOLATILE'))
  expect(count(first, 'VOLATILE')).toBeGreaterThan(0)
  const strict = regimesBy({ ...FIRST_REGIME_RULE, trendEntry: 0.8, trendExit: 0 })
  expect(count(strict, 'RANGING')).toBeGreaterThan(2 * count(first, 'RANGING'))
})

test.each([
  [0, 0.8, 0],
  [0, 0.81, 1],
  [1, 0, 1],
  [1, -0.01, 0],
  [-1, 0, -1],
  [-1, 0.01, 0],
  [-1, 0.81, 1],
])('by the newest rule direction %d with a trend measure of %d becomes %d', (current, measure, next) => {
  expect(nextDirection(current, measure, NEWEST_REGIME_RULE)).toBe(next)
})

test('by the newest rule the word names liveliness first, and the direction stays beside it', () => {
  const data = JSON.parse(readFileSync(keptModelFile('barrier-4') as URL, 'utf8')) as object
  const engine = new SeriesEngine({ model: createModel({ ...data, regime: NEWEST_REGIME_RULE }) })
  const slot = engine.open({ exchange: 'BINANCE', coin: 'BTC', timeframe: '1h' })
  const said = randomWalk(7, 1_600).flatMap((bar) => {
    engine.push(slot, bar)
    const reading = engine.read(slot)
    return reading.status === 'verdict' ? [{ ...reading.verdict, ...reading.metrics }] : []
  })
  const directionOf = { TRENDING_UP: 'UP', TRENDING_DOWN: 'DOWN', RANGING: 'NONE', VOLATILE: undefined }
  for (const { regime, direction } of said) expect(directionOf[regime] ?? direction).toBe(direction)
  expect(said.some(({ regime, direction }) => regime === 'VOLATILE' && direction !== 'NONE')).toBe(true)
})
