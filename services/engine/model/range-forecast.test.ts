import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Candle } from '../../../contracts/domain/candle.ts'
import { MINUTE_MS, TIMEFRAMES, timeframeMs } from '../../../contracts/domain/timeframes.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { randomWalk } from '../../../testing/random-walk.ts'
import { type EngineReading, SeriesEngine } from '../engine.ts'
import { seasonOf } from './range-forecast.ts'
import { loadModel } from './verdict-model.ts'

const SERIES = { exchange: 'SIM', coin: 'BTC', timeframe: '1h' } as const
const model = loadModel()

/** An engine after some bars; with `scale`, every price is another power of itself around the first one. */
function after(bars: readonly Candle[], timeframe: (typeof TIMEFRAMES)[number] = '1h', from = 0) {
  const engine = new SeriesEngine({ model })
  const opened = engine.open({ ...SERIES, timeframe })
  for (const [index, bar] of bars.entries())
    engine.push(opened, { ...bar, openTime: (from + index) * timeframeMs(timeframe) })
  return engine.read(opened)
}

function verdictOf(reading: EngineReading) {
  return reading.status === 'verdict' ? reading.verdict : expect.fail('There is no verdict.')
}

function livelinessAfter(bars: readonly Candle[]): number | null {
  const reading = after(bars)
  return reading.status === 'verdict' ? reading.metrics.liveliness : expect.fail('There is no verdict.')
}

const walk = randomWalk(3, 1_200)
const powered = (bars: readonly Candle[], power: number): Candle[] =>
  bars.map(({ open, high, low, close, ...bar }) => {
    const of = (price: number): number => 100 * (price / 100) ** power
    return {
      ...bar,
      open: of(open),
      close: of(close),
      high: Math.max(of(high), of(low)),
      low: Math.min(of(high), of(low)),
    }
  })

describe('a forecast', () => {
  test.each(TIMEFRAMES)('is in every verdict at %s, in order, and as far up as down', (timeframe) => {
    const { forecast } = verdictOf(after(walk.slice(0, LIMITS.warmUpBars), timeframe))
    const { p10, p25, p50, p75, p90, volatility } = forecast ?? expect.fail('There is none.')
    expect(p10 < p25 && p25 < p50 && p50 < p75 && p75 < p90).toBe(true)
    expect(Math.log1p(p10)).toBeCloseTo(-Math.log1p(p90), 6)
    expect(volatility).toBeGreaterThan(0)
  })

  test('is the same for a market turned upside down, and farther for a wilder one', () => {
    const reach = (power: number): number =>
      verdictOf(after(powered(walk, power))).forecast?.p90 ?? Number.NaN
    expect(reach(-1)).toBeCloseTo(reach(1), 6)
    expect(reach(2)).toBeGreaterThan(1.5 * reach(1))
  })

  test('is wider after wild bars than after calm ones', () => {
    const calm = powered(walk.slice(0, 600), 0.2)
    const last = calm.at(-1)?.close ?? 100
    const wild = walk.slice(600, 650).map((bar) => {
      const factor = last / (walk[599]?.close ?? 100)
      return {
        ...bar,
        open: bar.open * factor,
        high: bar.high * factor,
        low: bar.low * factor,
        close: bar.close * factor,
      }
    })
    const before = verdictOf(after(calm)).forecast?.p90 ?? Number.NaN
    expect(verdictOf(after([...calm, ...wild])).forecast?.p90).toBeGreaterThan(2 * before)
    expect(livelinessAfter(calm)).toBeLessThan(1.5)
    expect(livelinessAfter([...calm, ...wild])).toBeGreaterThan(2)
  })

  test('has a liveliness beside it that a restart does not change', () => {
    // Whole weeks more, so that the hours of the day are the same.
    const long = randomWalk(9, LIMITS.historyBars + 14 * 168)
    const again = long.slice(-LIMITS.historyBars)
    expect(Math.abs((livelinessAfter(again) ?? 0) - (livelinessAfter(long) ?? 9))).toBeLessThan(0.01)
  })

  test('is none where the market stands still, and the reasoning has no reach', () => {
    const last = walk.at(-1)?.close ?? 100
    const still = Array.from({ length: 51 }, () => ({
      ...walk[0],
      open: last,
      high: last,
      low: last,
      close: last,
    }))
    const { forecast, reasoning } = verdictOf(after([...walk, ...(still as Candle[])]))
    expect(forecast).toBeNull()
    expect(reasoning).not.toContain('four of five')
    expect(verdictOf(after(walk)).reasoning).toMatch(
      /^In four of five windows the price ends within -\S+ % and \+\S+ %; /,
    )
  })

  test('hardly depends on how long a series has been followed', () => {
    const long = randomWalk(8, 4_000)
    const [whole, begun] = [long, long.slice(-LIMITS.warmUpBars)].map(
      (bars) => verdictOf(after(bars, '1h', long.length - bars.length)).forecast?.p90,
    )
    expect(Math.abs((begun ?? 0) / (whole ?? 1) - 1)).toBeLessThan(0.03)
  })
})

describe('the season of a stretch of time', () => {
  const hour = fc.double({ min: 0.2, max: 5, noNaN: true })
  const day = fc.array(hour, { minLength: 24, maxLength: 24 })

  test('is the mean of its minutes, over the end of a day and of a week too', () => {
    fc.assert(
      fc.property(
        fc.record({ weekday: day, weekend: day }),
        fc.nat({ max: 7 * 24 * 60 }),
        fc.constantFrom(1, 15, 45, 60, 480, 1_440),
        (hours, minute, minutes) => {
          // A Monday, long after the epoch.
          const from = Date.UTC(2024, 0, 1) + minute * MINUTE_MS
          let sum = 0
          for (let at = 0; at < minutes; at++) {
            const time = new Date(from + at * MINUTE_MS)
            const isWeekend = time.getUTCDay() === 0 || time.getUTCDay() === 6
            sum += (isWeekend ? hours.weekend : hours.weekday)[time.getUTCHours()] ?? 0
          }
          expect(seasonOf(hours)(from, minutes * MINUTE_MS)).toBeCloseTo(sum / minutes, 9)
        },
      ),
      { numRuns: 40 },
    )
  })
})
