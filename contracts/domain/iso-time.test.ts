import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isoDay, isoTime } from './iso-time.ts'
import { MINUTE_MS } from './timeframes.ts'

const WHOLE_RANGE = 8_640_000_000_000_000 / MINUTE_MS

test('is what the platform writes, on minutes and between them', () => {
  const minutes = fc.integer({ min: -WHOLE_RANGE, max: WHOLE_RANGE })
  fc.assert(
    fc.property(minutes, fc.constantFrom(0, 0, 1, 59_999), (minute, rest) => {
      const timeMs = Math.max(-WHOLE_RANGE * MINUTE_MS, minute * MINUTE_MS - rest)
      expect(isoTime(timeMs)).toBe(new Date(timeMs).toISOString())
      expect(isoDay(timeMs)).toBe(new Date(timeMs).toISOString().slice(0, -14))
    }),
    { numRuns: 2_000 },
  )
})

test('refuses what is no time, as the platform does', () => {
  expect(() => isoTime(Number.NaN)).toThrow(RangeError)
  expect(() => isoDay(Number.NaN)).toThrow(RangeError)
})
