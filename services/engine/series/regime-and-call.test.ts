import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { randomWalk } from '../../../testing/random-walk.ts'
import { SeriesEngine } from '../engine.ts'
import { loadModel } from '../model/verdict-model.ts'
import { callOf, nextCall, nextDirection, nextVolatile, regimeOf } from './regime-and-call.ts'

const SIGN = { BUY: 1, HOLD: 0, SELL: -1 } as const

describe('a call', () => {
  test.each([
    ['HOLD', 0.53, 'BUY'],
    ['HOLD', 0.5299, 'HOLD'],
    ['HOLD', 0.4701, 'HOLD'],
    ['HOLD', 0.47, 'SELL'],
    ['BUY', 0.53, 'BUY'],
    ['BUY', 0.52, 'BUY'],
    ['BUY', 0.5151, 'BUY'],
    ['BUY', 0.515, 'HOLD'],
    ['BUY', 0.5, 'HOLD'],
    ['BUY', 0.48, 'HOLD'],
    ['BUY', 0.47, 'SELL'],
    ['SELL', 0.47, 'SELL'],
    ['SELL', 0.48, 'SELL'],
    ['SELL', 0.4849, 'SELL'],
    ['SELL', 0.485, 'HOLD'],
    ['SELL', 0.52, 'HOLD'],
    ['SELL', 0.53, 'BUY'],
  ] as const)('%s at p = %d becomes %s', (current, probability, next) => {
    expect(callOf(nextCall(SIGN[current], probability))).toBe(next)
  })

  test('of the mirrored market is the mirrored call', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(1, 0, -1),
        fc.double({ min: 0.4, max: 0.6, noNaN: true }),
        (call, probability) => {
          expect(nextCall(-call as 1 | 0 | -1, 1 - probability) + nextCall(call, probability)).toBe(0)
        },
      ),
    )
  })
})

describe('a regime', () => {
  test.each([
    // From no trend, only the entry begins one.
    [0, 0.8, 0],
    [0, 0.81, 1],
    [0, -0.8, 0],
    [0, -0.81, -1],
    // A trend lasts until the averages cross.
    [1, 0.1, 1],
    [1, 0, 1],
    [1, -0.01, 0],
    [1, -0.81, -1],
    [-1, 0, -1],
    [-1, 0.01, 0],
    [-1, 0.81, 1],
    // What cannot be measured is no trend.
    [1, Number.NaN, 0],
    [0, Number.NaN, 0],
  ] as const)('direction %d with a trend measure of %d becomes %d', (current, measure, next) => {
    expect(nextDirection(current, measure)).toBe(next)
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

  test('is VOLATILE even in a trend', () => {
    expect([regimeOf(1, true), regimeOf(1, false), regimeOf(-1, false), regimeOf(0, false)]).toEqual([
      'VOLATILE',
      'TRENDING_UP',
      'TRENDING_DOWN',
      'RANGING',
    ])
  })

  test('names liveliness first, and the direction stays beside it', () => {
    const engine = new SeriesEngine({ model: loadModel() })
    const opened = engine.open({ exchange: 'BINANCE', coin: 'BTC', timeframe: '1h' })
    const said = randomWalk(7, 1_600).flatMap((bar) => {
      engine.push(opened, bar)
      const reading = engine.read(opened)
      return reading.status === 'verdict' ? [{ ...reading.verdict, ...reading.metrics }] : []
    })
    const directionOf = { TRENDING_UP: 'UP', TRENDING_DOWN: 'DOWN', RANGING: 'NONE', VOLATILE: undefined }
    for (const { regime, direction } of said) expect(directionOf[regime] ?? direction).toBe(direction)
    expect(said.some(({ regime, direction }) => regime === 'VOLATILE' && direction !== 'NONE')).toBe(true)
  })
})
