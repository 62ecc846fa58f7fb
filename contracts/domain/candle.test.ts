import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Candle, candleFault, candleSchema } from './candle.ts'

const SOUND: Candle = { openTime: 1_735_689_600_000, open: 10, high: 12, low: 9, close: 11, volume: 0 }

const hostile = fc.oneof(
  fc.constantFrom(0, -0, -1, Number.NaN, Infinity, -Infinity, Number.MIN_VALUE, Number.MAX_VALUE, 2 ** 53),
  fc.double(),
)
/** Sound bars, and bars with any of their numbers put wrong. */
const aBar: fc.Arbitrary<Candle> = fc
  .record({
    prices: fc.array(fc.double({ min: 1e-9, max: 1e9, noNaN: true }), { minLength: 4, maxLength: 4 }),
    openTime: fc.nat(),
    volume: fc.double({ min: 0, max: 1e12, noNaN: true }),
    wrong: fc.array(fc.tuple(fc.constantFrom(...(Object.keys(SOUND) as (keyof Candle)[])), hostile), {
      maxLength: 2,
    }),
  })
  .map(({ prices, openTime, volume, wrong }) => {
    const [low = 1, open = 1, close = 1, high = 1] = prices.toSorted((a, b) => a - b)
    return { openTime, open, high, low, close, volume, ...Object.fromEntries(wrong) }
  })

test('the quick check and the schema agree on every bar', () => {
  const seen = { sound: 0, faulty: 0 }
  fc.assert(
    fc.property(aBar, (bar) => {
      const isSound = candleSchema.safeParse(bar).success
      seen[isSound ? 'sound' : 'faulty'] += 1
      expect(candleFault(bar) === undefined, candleFault(bar) ?? 'no fault').toBe(isSound)
    }),
    { numRuns: 5_000 },
  )
  // The agreement says something only where both kinds were drawn.
  expect(Math.min(seen.sound, seen.faulty)).toBeGreaterThan(500)
})

test('a bar that never moved is sound', () => {
  expect(candleFault({ openTime: 0, open: 1, high: 1, low: 1, close: 1, volume: 0 })).toBeUndefined()
})

test.each<[Partial<Candle>, string]>([
  [{ openTime: -1 }, 'open time -1 is not a time'],
  [{ openTime: 0.5 }, 'open time 0.5 is not a time'],
  [{ low: 0 }, 'price 0 is not a positive number'],
  [{ close: Number.NaN }, 'price NaN is not a positive number'],
  [{ high: Infinity }, 'price Infinity is not a positive number'],
  [{ high: 1e300 }, 'price 1e+300 is not from 1e-15 to 1000000000000000'],
  [{ low: 1e-300 }, 'price 1e-300 is not from 1e-15 to 1000000000000000'],
  [{ volume: 1e300 }, 'volume 1e+300 is above 1e+21'],
  [{ volume: -1 }, 'volume -1 is not a number from 0'],
  [{ low: 10.5 }, 'low 10.5 is above open or close'],
  [{ high: 10.5 }, 'high 10.5 is below open or close'],
])('%j is refused with the value seen', (change, fault) => {
  expect(candleFault({ ...SOUND, ...change })).toBe(fault)
})
