import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { quotaWindowSchema } from '../../../contracts/domain/plans.ts'
import { DAY_MS } from '../../../contracts/domain/timeframes.ts'
import { dayEnd, dayOf, freeWindow, planWindow } from './balance.ts'

const instants = fc.integer({ min: Date.UTC(2020, 0), max: Date.UTC(2100, 0) })

describe('the window of a caller without a plan', () => {
  test.each([
    ['2026-11-01T00:00:00.000Z', '2026-11', '2026-11-01', '2026-12-01'],
    ['2026-11-30T23:59:59.999Z', '2026-11', '2026-11-01', '2026-12-01'],
    ['2026-12-31T23:59:59.999Z', '2026-12', '2026-12-01', '2027-01-01'],
    ['2027-01-01T00:00:00.000Z', '2027-01', '2027-01-01', '2027-02-01'],
    ['2028-02-29T12:00:00.000Z', '2028-02', '2028-02-01', '2028-03-01'],
  ])('at %s is %s', (at, id, from, to) => {
    expect(freeWindow(Date.parse(at))).toEqual({ id, from: Date.parse(from), to: Date.parse(to) })
  })

  test('holds its instant, and the next begins where it ends', () => {
    fc.assert(
      fc.property(instants, (at) => {
        const window = freeWindow(at)
        expect(quotaWindowSchema.parse(window)).toEqual(window)
        expect(window.from <= at && at < window.to).toBe(true)
        expect(freeWindow(window.to).from).toBe(window.to)
        expect(freeWindow(window.to - 1)).toEqual(window)
      }),
    )
  })
})

test('the window of a plan is its own period, named after its beginning', () => {
  const from = Date.UTC(2026, 10, 21, 3, 15)
  const window = planWindow(from, from + 30 * DAY_MS)
  expect(window).toEqual({ id: 'plan-20261121T031500Z', from, to: from + 30 * DAY_MS })
  expect(quotaWindowSchema.parse(window)).toEqual(window)
})

describe('a day', () => {
  test('is that of UTC, to its last millisecond', () => {
    expect(dayOf(Date.UTC(2026, 10, 21))).toBe('2026-11-21')
    expect(dayOf(Date.UTC(2026, 10, 22) - 1)).toBe('2026-11-21')
    expect(dayOf(Date.UTC(2026, 10, 22))).toBe('2026-11-22')
    expect(dayEnd('2026-12-31')).toBe(Date.UTC(2027, 0, 1))
  })

  test('never leaves the window that a call was begun in', () => {
    const window = freeWindow(Date.UTC(2026, 10, 21))
    expect(dayOf(window.to + 5, window)).toBe('2026-11-30')
    expect(dayOf(window.from - 5, window)).toBe('2026-11-01')
    expect(dayOf(window.to - 1, window)).toBe('2026-11-30')
  })

  test('is the same whatever was asked before', () => {
    fc.assert(
      fc.property(fc.array(instants, { minLength: 1, maxLength: 20 }), (many) => {
        for (const at of many) {
          expect(dayOf(at)).toBe(new Date(at).toISOString().slice(0, 10))
          expect(dayEnd(dayOf(at))).toBeGreaterThan(at)
        }
      }),
    )
  })
})
