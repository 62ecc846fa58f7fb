import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  barOpenAt,
  DAY_MS,
  isTimeframe,
  lastBarClose,
  TIMEFRAMES,
  timeframeMs,
  timeframeSchema,
} from './timeframes.ts'

/** Every instant that a `Date` can hold, the negative ones too. */
const anInstant = fc.oneof(
  fc.integer({ min: -8_640_000_000_000_000, max: 8_640_000_000_000_000 }),
  fc.integer({ min: -2 * DAY_MS, max: 2 * DAY_MS }),
)
const aTimeframe = fc.constantFrom(...TIMEFRAMES)

test('there are eleven, shortest first, and each divides a day', () => {
  const lengths = TIMEFRAMES.map(timeframeMs)
  expect(lengths).toEqual([...new Set(lengths)].toSorted((a, b) => a - b))
  expect(lengths).toHaveLength(11)
  expect(lengths.filter((lengthMs) => DAY_MS % lengthMs !== 0)).toEqual([])
})

test('the name says the length', () => {
  const unitMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }
  for (const timeframe of TIMEFRAMES) {
    const expected = Number.parseInt(timeframe, 10) * (unitMs[timeframe.slice(-1)] ?? Number.NaN)
    expect(timeframeMs(timeframe)).toBe(expected)
  }
})

describe('a bar', () => {
  test.each([
    ['1m', '2025-03-30T01:59:59.999Z', '2025-03-30T01:59:00.000Z'],
    ['15m', '2025-03-30T02:14:59.999Z', '2025-03-30T02:00:00.000Z'],
    ['4h', '2024-02-29T05:30:00.000Z', '2024-02-29T04:00:00.000Z'],
    ['8h', '2024-02-29T23:59:59.999Z', '2024-02-29T16:00:00.000Z'],
    ['1d', '2024-12-31T23:59:59.999Z', '2024-12-31T00:00:00.000Z'],
    ['1d', '1969-12-31T23:59:59.999Z', '1969-12-31T00:00:00.000Z'],
    ['3m', '1969-12-31T23:59:59.999Z', '1969-12-31T23:57:00.000Z'],
  ] as const)('of %s that contains %s opened at %s', (timeframe, instant, open) => {
    expect(new Date(barOpenAt(timeframe, Date.parse(instant))).toISOString()).toBe(open)
  })

  test('contains its instant and is a whole number of bars from the epoch', () => {
    fc.assert(
      fc.property(aTimeframe, anInstant, (timeframe, instant) => {
        const lengthMs = timeframeMs(timeframe)
        const open = barOpenAt(timeframe, instant)
        expect(open).toBeLessThanOrEqual(instant)
        expect(open + lengthMs).toBeGreaterThan(instant)
        expect(BigInt(open) % BigInt(lengthMs)).toBe(0n)
      }),
      { numRuns: 1_000 },
    )
  })

  test('opens at every UTC midnight, whatever the timeframe', () => {
    fc.assert(
      fc.property(aTimeframe, fc.integer({ min: -100_000_000, max: 100_000_000 }), (timeframe, day) => {
        expect(barOpenAt(timeframe, day * DAY_MS)).toBe(day * DAY_MS)
      }),
    )
  })

  test('is closed from its close time on, and not a millisecond before', () => {
    fc.assert(
      fc.property(aTimeframe, anInstant, (timeframe, instant) => {
        const close = lastBarClose(timeframe, instant)
        expect(lastBarClose(timeframe, close)).toBe(close)
        expect(lastBarClose(timeframe, close - 1)).toBe(close - timeframeMs(timeframe))
      }),
    )
  })
})

test('isTimeframe and the schema know the same words', () => {
  for (const word of [...TIMEFRAMES, '1M', '1D', '60m', '6h', '1w', '', ' 1h', '1h\n', 'constructor']) {
    expect(isTimeframe(word), word).toBe(timeframeSchema.safeParse(word).success)
  }
  expect(TIMEFRAMES.every(isTimeframe)).toBe(true)
  expect(isTimeframe('1M')).toBe(false)
})
