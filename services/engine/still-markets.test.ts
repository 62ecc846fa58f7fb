import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Candle } from '../../contracts/domain/candle.ts'
import type { Series } from '../../contracts/domain/series.ts'
import { TIMEFRAMES, type Timeframe, timeframeMs } from '../../contracts/domain/timeframes.ts'
import { verdictSchema } from '../../contracts/domain/verdict.ts'
import { randomWalk } from '../../testing/random-walk.ts'
import { type EngineReading, SeriesEngine } from './engine.ts'
import { loadModel } from './model/verdict-model.ts'

const model = loadModel()
/** As long as averages take to vanish many times over. */
const QUARTER_OF_MINUTES = 131_400
const flat = (price: number) => ({ open: price, high: price, low: price, close: price, volume: 0 })
const moving = randomWalk(5, 700)

/** A series that takes bars one after the other, whenever they were. */
function follow(timeframe: Timeframe = '1h') {
  const engine = new SeriesEngine({ model })
  const series: Series = { exchange: 'SIM', coin: 'HALT', timeframe }
  const slot = engine.open(series)
  let openTime = 0
  return {
    push(bar: Omit<Candle, 'openTime'>, times = 1): void {
      for (let count = 0; count < times; count++, openTime += timeframeMs(timeframe))
        engine.push(slot, { ...bar, openTime })
    },
    reading: () => engine.read(slot),
  }
}

function soundVerdictOf(reading: EngineReading) {
  if (reading.status !== 'verdict') throw new Error('There are too few bars.')
  const recorded = {
    verdictId: '01890a5d-ac96-774b-bcce-b302099a8057',
    previous: null,
    recordedLate: false,
  }
  return verdictSchema.parse({ ...reading.verdict, ...recorded })
}

const STANDS_STILL = {
  call: 'HOLD',
  confidence: 50,
  probability: 0.5,
  strength: 0,
  regime: 'RANGING',
  regimeStrength: 0,
}

/** Holds without a measurement, and without one that is shown. */
function expectStill(reading: EngineReading, why: string): void {
  const verdict = soundVerdictOf(reading)
  expect(verdict).toMatchObject(STANDS_STILL)
  expect(verdict.reasoning).toContain(why)
  expect(verdict.factors.every(({ value, contribution }) => value === null && contribution === 0)).toBe(true)
  expect(reading).toMatchObject({ metrics: { rsi14: null, adx14: null, plusDi14: null, emaGapAtr: null } })
}

describe('a market that stands still', () => {
  test.each(TIMEFRAMES)('from its first bar on is HOLD at %s', (timeframe) => {
    const market = follow(timeframe)
    market.push(flat(1), 600)
    expectStill(market.reading(), 'the price has not moved for 50 bars')
  })

  test('after it moved is HOLD from the 50th bar without a move, and speaks again when it moves', () => {
    const market = follow()
    for (const bar of moving) market.push(bar)
    const last = moving.at(-1)?.close ?? 0
    market.push(flat(last), 49)
    expect(soundVerdictOf(market.reading()).factors.some(({ value }) => value !== null)).toBe(true)
    market.push(flat(last))
    expectStill(market.reading(), 'the price has not moved')
    for (const bar of moving.slice(0, 100)) market.push(bar)
    const after = soundVerdictOf(market.reading())
    expect(after.factors.filter(({ value }) => value === null).map(({ name }) => name)).toEqual([])
  })

  test('is also one whose price is moved by nobody who trades', () => {
    const market = follow()
    for (const bar of moving) market.push(bar)
    for (const bar of moving.slice(0, 50)) market.push({ ...bar, volume: 0 })
    expectStill(market.reading(), 'nothing was traded in 50 bars')
  })

  test.each([
    ['flat', []],
    ['halted', moving],
  ])('stays so for a quarter of a year of minutes: %s', (_, before) => {
    const market = follow('1m')
    for (const bar of before) market.push(bar)
    const price = before.at(-1)?.close ?? 1e-4
    market.push({ ...flat(price), volume: 1 }, QUARTER_OF_MINUTES)
    expectStill(market.reading(), 'the price has not moved')
    // The first trade after it finds averages that have all but vanished.
    market.push({ ...flat(price), close: price * 1e5, high: price * 1e5, volume: 1e9 })
    soundVerdictOf(market.reading())
  })
})

/** A move of the price per bar, whether it trades, and for how many bars. */
const stretch = fc.record({
  move: fc.constantFrom(0, 0, 1e-12, 1e-9, -1e-7, 1e-4, -1e-3, 0.01, -0.2, 3),
  volume: fc.constantFrom(0, 1e-9, 1, 1e9),
  bars: fc.integer({ min: 1, max: 120 }),
  alternates: fc.boolean(),
})

test('whatever a market does by turns, every measurement stays finite and bounded', () => {
  fc.assert(
    fc.property(fc.array(stretch, { minLength: 12, maxLength: 20 }), (stretches) => {
      const market = follow()
      let close = 1
      for (const { move, volume, bars, alternates } of stretches) {
        for (let count = 0; count < bars; count++) {
          const open = close
          const factor = 1 + move * (alternates && count % 2 === 1 ? -1 : 1)
          const next = factor > 0 ? open * factor : open / (1 + move)
          close = next > 1e-12 && next < 1e12 ? next : open
          market.push({ open, close, high: Math.max(open, close), low: Math.min(open, close), volume })
          const reading = market.reading()
          if (reading.status !== 'verdict') continue
          const { factors, probability, reasoning } = soundVerdictOf(reading)
          const largest = Math.max(...factors.map(({ value }) => Math.abs(value ?? 0)))
          expect(largest, JSON.stringify(factors)).toBeLessThan(1_000)
          expect(Math.abs(probability - 0.5)).toBeLessThan(0.4)
          expect(reasoning).not.toContain('NaN')
          const measured = Object.values(reading.metrics).filter((value) => typeof value !== 'string')
          expect(measured.every((value) => Number.isFinite(value ?? 0))).toBe(true)
          expect(Math.abs(reading.metrics.emaGapAtr ?? 0)).toBeLessThan(1_000)
        }
      }
    }),
    { numRuns: 20 },
  )
})
