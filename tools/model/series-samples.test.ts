import fc from 'fast-check'
import { expect, test } from 'vitest'
import { RACE_OUTCOMES } from '../../contracts/outcome.ts'
import { HOUR_MS } from '../../contracts/timeframes.ts'
import { createRace } from '../../services/engine/race.ts'
import { closesAsRaces, runRace, type SeriesSamples, windowReturn } from './series-samples.ts'

const bar = fc.record({
  open: fc.integer({ min: 95, max: 105 }),
  up: fc.nat(6),
  down: fc.nat(6),
  gap: fc.nat(20),
})

test('races end as those of the service do, gaps and all', () => {
  fc.assert(
    fc.property(
      fc.array(bar, { minLength: 5, maxLength: 5 }),
      fc.constantFrom(0.01, 0.03, 0.06),
      (shapes, barrier) => {
        let openTime = 0
        const bars = shapes.map(({ open, up, down, gap }) => {
          // One bar in twenty is missing.
          openTime += gap === 0 ? 2 * HOUR_MS : HOUR_MS
          return {
            openTime,
            open,
            high: open + up,
            low: open - down,
            close: open + up / 2 - down / 2,
            volume: 1,
          }
        })
        const start = { barClose: (bars[0]?.openTime ?? 0) + HOUR_MS, barMs: HOUR_MS, windowBars: 4, barrier }
        const race = createRace(start)
        const ends = bars.flatMap((one) => race.take(one) ?? [])
        const expected = ends.at(-1) ?? race.end()
        const found = { race: -1, rise: 0 }
        runRace(bars, 0, HOUR_MS, 4, barrier, found)
        expect(RACE_OUTCOMES[found.race]).toBe(expected.race)
        const { entryPrice, exitPrice } = expected
        if (exitPrice === null || entryPrice === null) expect(found.rise).toBeNaN()
        else expect(found.rise).toBe(exitPrice / entryPrice - 1)
        const { closePrice } = expected
        const rise = windowReturn(bars, 0, HOUR_MS, 4)
        if (closePrice === null || entryPrice === null) expect(rise).toBeNaN()
        else expect(rise).toBe(closePrice / entryPrice - 1)
      },
    ),
  )
})

test('the side that a window closes on wins its race; a close at the entry decides nothing', () => {
  const close = Float32Array.of(0.01, -0.01, 0, Number.NaN)
  const { race, rise } = closesAsRaces({ close } as SeriesSamples)
  expect(Array.from(race, (one) => RACE_OUTCOMES[one])).toEqual(['up', 'down', 'timeout', 'incomplete'])
  expect(rise).toBe(close)
})
