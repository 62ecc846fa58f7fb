import fc from 'fast-check'
import { expect, test } from 'vitest'
import { toMilliseconds } from './instant-unit.ts'

const NOON = Date.UTC(2026, 2, 3, 12)

test.each([
  ['s', NOON / 1_000],
  ['ms', NOON],
  ['us', NOON * 1_000],
  ['ns', NOON * 1_000_000],
] as const)('an instant in %s is told by its size', (unit, value) => {
  expect(toMilliseconds(value)).toEqual({ ms: NOON, unit })
})

test('an instant of these years has one reading, whatever its unit', () => {
  const instants = fc.integer({ min: Date.UTC(2009, 0, 3), max: Date.UTC(2100, 0, 1) - 1 })
  const units = fc.constantFrom(['s', 0.001], ['ms', 1], ['us', 1_000], ['ns', 1_000_000])
  fc.assert(
    fc.property(instants, units, (ms, [unit, factor]) => {
      const read = toMilliseconds(ms * factor)
      // Nanoseconds of today do not fit a double to the last digit.
      return read?.unit === unit && Math.abs(read.ms - ms) <= (unit === 'ns' ? 1 : 0)
    }),
  )
})

test('a fraction of a millisecond belongs to the millisecond that it lies in', () => {
  expect(toMilliseconds(NOON * 1_000 + 999)?.ms).toBe(NOON)
})

test.each([
  ['before the first block of Bitcoin', Date.UTC(2009, 0, 3) - 1],
  ['the year 2100', Date.UTC(2100, 0, 1)],
  ['a date written as a number', 20_260_303],
  ['hours since 1970', NOON / 3_600_000],
  ['picoseconds', NOON * 1e9],
  ['zero', 0],
  ['a negative number', -NOON],
  ['no number', Number.NaN],
  ['no end', Number.POSITIVE_INFINITY],
])('%s is no instant in any unit', (_, value) => {
  expect(toMilliseconds(value)).toBeUndefined()
})
