import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { FundingRate } from '../../../contracts/domain/candle.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../contracts/domain/timeframes.ts'
import { MarketFunding } from './market-funding.ts'

const market = { exchange: 'BINANCE', coin: 'BTC' } as const
/** A midnight, so that hours below are hours of a day. */
const START = Date.UTC(2024, 0, 1)

const at = (hour: number, rate: number, intervalHours = 8): FundingRate => ({
  time: START + hour * HOUR_MS,
  rate,
  intervalHours,
})

function historyOf(settlements: readonly FundingRate[], keepDays = 5): MarketFunding {
  const [first = expect.fail('no settlements'), ...others] = settlements
  const history = new MarketFunding(market, keepDays, first)
  for (const settlement of others) history.take(settlement)
  return history
}

/** Accruals of the days up to a number of days after the start. */
function daysOf(history: MarketFunding, until: number, length = until): number[] {
  const days = new Float64Array(length)
  history.readDays(days, START + until * DAY_MS)
  return [...days]
}

const closeTo = (values: readonly number[]) =>
  values.map((value) => (Number.isNaN(value) ? Number.NaN : expect.closeTo(value, 8)))

describe('days', () => {
  test('add up what was settled, a settlement at midnight for the day that ends', () => {
    const history = historyOf([at(8, 0.001), at(16, 0.002), at(24, 0.003), at(32, 0.01), at(40, 0.01)])
    expect(daysOf(history, 2)).toEqual(closeTo([0.006, 0.03]))
  })

  test('are equal for equivalent rates, whatever the interval, and when it changes midway', () => {
    const hourly = Array.from({ length: 24 }, (_, hour) => at(hour + 1, 0.0001, 1))
    const four = Array.from({ length: 6 }, (_, index) => at(4 * (index + 1), 0.0004, 4))
    const eight = Array.from({ length: 3 }, (_, index) => at(8 * (index + 1), 0.0008))
    const changing = [at(8, 0.0008), at(12, 0.0004, 4), at(16, 0.0004, 4), ...hourly.slice(16)]
    for (const settlements of [hourly, four, eight, changing]) {
      expect(daysOf(historyOf(settlements), 1)).toEqual(closeTo([0.0024]))
    }
  })

  test('share a settlement whose interval reaches over midnight', () => {
    const history = historyOf([at(4, 0), at(12, 0), at(20, 0), at(28, 0.008), at(36, 0), at(44, 0)])
    // Four of its eight hours are before midnight; the first day lacks none, the second its last four.
    expect(daysOf(history, 2)).toEqual(closeTo([0.004, (0.004 * 24) / 20]))
  })

  test('with a gap count as if it had been like the rest; with less than half covered they are unknown', () => {
    expect(daysOf(historyOf([at(8, 0.001), at(16, 0.001)]), 1)).toEqual(closeTo([0.003]))
    expect(daysOf(historyOf([at(8, 0.001), at(32, 0.001), at(40, 0.001), at(48, 0.001)]), 2)).toEqual(
      closeTo([Number.NaN, 0.003]),
    )
  })

  test('before the history and after it are unknown', () => {
    const history = historyOf([at(8, 0.001), at(16, 0.001), at(24, 0.001)])
    const days = new Float64Array(4)
    history.readDays(days, START + 3 * DAY_MS)
    expect([...days]).toEqual(closeTo([Number.NaN, 0.003, Number.NaN, Number.NaN]))
  })

  test('follow a correction', () => {
    const history = historyOf([at(8, 0.001), at(16, 0.001), at(24, 0.001)])
    expect(daysOf(history, 1)).toEqual(closeTo([0.003]))
    history.take(at(16, 0.005))
    expect(daysOf(history, 1)).toEqual(closeTo([0.007]))
    expect(history.count).toBe(3)
  })

  test('follow a correction of the interval on both sides of midnight', () => {
    const history = historyOf([at(12, 0.001), at(20, 0.001), at(28, 0.008), at(36, 0.001), at(48, 0, 12)])
    expect(daysOf(history, 1)).toEqual(closeTo([(0.006 * 24) / 20]))
    history.take(at(28, 0.008, 4))
    expect(daysOf(history, 1)).toEqual(closeTo([(0.002 * 24) / 16]))
  })

  test('share a long interval though shorter ones followed', () => {
    const hours = Array.from({ length: 20 }, (_, hour) => at(hour + 29, 0, 1))
    const history = historyOf([at(12, 0), at(20, 0), at(28, 0.008), ...hours])
    expect(daysOf(history, 2)).toEqual(closeTo([0.004 * (24 / 20), 0.004]))
  })
})

describe('the newest day', () => {
  test('ends at the newest settlement', () => {
    const history = historyOf([at(8, 0.1), at(16, 0.001), at(24, 0.002), at(32, 0.003)])
    expect(history.newestDay()).toBeCloseTo(0.006, 9)
    expect(history.newest).toEqual(at(32, 0.003))
  })

  test('is unknown after an outage', () => {
    expect(historyOf([at(8, 0.1), at(80, 0.001)]).newestDay()).toBeNaN()
  })
})

describe('what is kept', () => {
  test('ends where the days do, however the settlements come', () => {
    const hours = Array.from({ length: 24 * 9 }, (_, hour) => at(hour + 1, 0.0001, 1))
    for (const settlements of [hours, hours.toReversed()]) {
      const history = historyOf(settlements, 3)
      // The newest settlement is at a midnight, so the newest of the three days has only begun.
      expect(history.count).toBe(48)
      expect(daysOf(history, 9, 9)).toEqual(closeTo([...Array(7).fill(Number.NaN), 0.0024, 0.0024]))
    }
  })

  test('is bounded where settlements come faster than every hour', () => {
    const quarters = Array.from({ length: 4_000 }, (_, index) => at(index / 4, 0.00001, 0.25))
    expect(historyOf(quarters, 3).count).toBeLessThanOrEqual(72)
  })

  test('costs at most 24 KB for 90 days of hourly settlements', () => {
    const hours = Array.from({ length: 24 * 200 }, (_, hour) => at(hour, 0.0001, 1))
    expect(historyOf(hours, 90).bytes).toBeLessThan(24_000)
  })
})

test.each([
  [{ ...at(8, 2) }],
  [{ ...at(8, Number.NaN) }],
  [{ ...at(8, 0), intervalHours: 0 }],
  [{ ...at(8, 0), intervalHours: 0.001 }],
  [{ ...at(8, 0), intervalHours: 49 }],
  [{ ...at(8, 0), time: 0.5 }],
])('%j is refused, and changes nothing', (settlement) => {
  const history = historyOf([at(16, 0.001)])
  expect(() => history.take(settlement)).toThrow(expect.objectContaining({ code: 'internal_error' }))
  expect(history.count).toBe(1)
  expect(() => new MarketFunding(market, 5, settlement)).toThrow('A settlement of BINANCE.BTC was refused')
})

test('the order of settlements and their repetition change nothing', () => {
  const settlement = fc.record({
    minute: fc.integer({ min: 0, max: 12 * 24 * 60 }),
    rate: fc.double({ min: -0.01, max: 0.01, noNaN: true }),
    intervalHours: fc.constantFrom(0.25, 1, 4, 8),
  })
  fc.assert(
    fc.property(
      fc
        .uniqueArray(settlement, { selector: ({ minute }) => minute, minLength: 1, maxLength: 150 })
        .chain((rows) => {
          const settlements = rows.map(({ minute, rate, intervalHours }) => ({
            time: START + minute * MINUTE_MS,
            rate,
            intervalHours,
          }))
          const repeated = fc.subarray(settlements)
          return fc.tuple(
            fc.constant(settlements),
            repeated.chain((again) => {
              const shuffled = [...settlements, ...again]
              return fc.shuffledSubarray(shuffled, { minLength: shuffled.length })
            }),
          )
        }),
      fc.boolean(),
      ([settlements, shuffled], reads) => {
        const inOrder = historyOf(settlements.toSorted((a, b) => a.time - b.time))
        const [first = expect.fail('no settlements'), ...others] = shuffled
        const mixed = new MarketFunding(market, 5, first)
        for (const next of others) {
          // What was read in between must not be remembered for longer than it holds.
          if (reads) daysOf(mixed, 13)
          mixed.take(next)
        }
        expect(daysOf(mixed, 13)).toEqual(daysOf(inOrder, 13))
        expect(mixed.newest).toEqual(inOrder.newest)
        expect(mixed.newestDay()).toEqual(inOrder.newestDay())
        expect(mixed.count).toBe(inOrder.count)
      },
    ),
    { numRuns: 200 },
  )
})
