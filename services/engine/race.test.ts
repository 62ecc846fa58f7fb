import { describe, expect, test } from 'vitest'
import type { Candle } from '../../contracts/domain/candle.ts'
import { createRace, type RaceResult } from './race.ts'

const BAR_MS = 60_000

/** The bar at a place after the verdict's bar: 0 is the one the race is entered at. */
const bar = (place: number, open: number, high: number, low: number, close = open): Candle => ({
  openTime: place * BAR_MS,
  open,
  high,
  low,
  close,
  volume: 1,
})

/** The result of a race of two bars with barriers of 1 %. */
function run(bars: readonly Candle[]): RaceResult | undefined {
  const race = createRace({ barClose: 0, barMs: BAR_MS, windowBars: 2, barrier: 0.01 })
  return bars.map((one) => race.take(one)).findLast((result) => result !== undefined)
}

const quiet = (place: number) => bar(place, 100, 100.5, 99.5, 100.25)

describe('a race', () => {
  test.each([
    ['the upper barrier', [bar(0, 100, 101, 99.5), quiet(1)], 'up', 101, 1],
    ['the lower barrier', [bar(0, 100, 100.5, 99), quiet(1)], 'down', 99, 1],
    ['the upper barrier in the last bar', [quiet(0), bar(1, 100, 101, 99.5)], 'up', 101, 2],
    ['the upper barrier, then the lower', [bar(0, 100, 101, 99.5), bar(1, 100, 100, 50)], 'up', 101, 1],
    ['both in one bar', [bar(0, 100, 101, 99), quiet(1)], 'both', null, 1],
    ['the upper barrier by a gap, then the lower', [quiet(0), bar(1, 102, 102, 98)], 'up', 102, 2],
    ['the lower barrier by a gap, then the upper', [quiet(0), bar(1, 98, 102, 98)], 'down', 98, 2],
    ['the upper barrier by its open, then the lower', [quiet(0), bar(1, 101, 101, 98)], 'up', 101, 2],
    ['the lower barrier by its open, then the upper', [quiet(0), bar(1, 99, 102, 99)], 'down', 99, 2],
    ['neither', [quiet(0), quiet(1), bar(2, 100, 200, 50)], 'timeout', 100.25, undefined],
  ])('that reaches %s', (_, bars, race, exitPrice, decidedBars) => {
    const decidedAt = decidedBars === undefined ? null : decidedBars * BAR_MS
    expect(run(bars)).toMatchObject({ race, entryPrice: 100, exitPrice, decidedAt })
  })

  test('is entered at the open of the bar after the verdict, not at the close of the verdict’s', () => {
    expect(run([bar(-1, 50, 400, 1), bar(0, 100, 100.4, 99.6), quiet(1)])).toMatchObject({
      race: 'timeout',
      entryPrice: 100,
    })
  })

  test('knows the last close of its window, whenever it ended; not where a bar of the window is missing', () => {
    const decided = bar(0, 100, 101, 99.5)
    expect(run([decided, quiet(1)])).toMatchObject({ race: 'up', exitPrice: 101, closePrice: 100.25 })
    expect(run([quiet(0), quiet(1)])).toMatchObject({ race: 'timeout', closePrice: 100.25 })
    expect(run([decided, quiet(2)])).toMatchObject({ race: 'up', closePrice: null })
  })

  test('says nothing before its window is over, also once it is decided', () => {
    expect(run([bar(0, 100, 101, 99.5)])).toBeUndefined()
    expect(run([])).toBeUndefined()
  })

  test('knows how far the price went until it ended', () => {
    const result = run([bar(0, 100, 100.5, 99.25), bar(1, 100, 102, 99.5)])
    expect(result?.highest).toBeCloseTo(0.02, 12)
    expect(result?.lowest).toBeCloseTo(-0.0075, 12)
  })

  test('without the bar it is entered at has no entry and no outcome', () => {
    expect(run([quiet(1)])).toEqual({
      race: 'incomplete',
      entryPrice: null,
      exitPrice: null,
      decidedAt: null,
      highest: null,
      lowest: null,
      closePrice: null,
    })
  })

  test('that misses a bar before anything is decided stays without an outcome', () => {
    expect(run([quiet(0), bar(2, 100, 200, 50)])).toMatchObject({ race: 'incomplete', entryPrice: 100 })
  })

  test('that misses a bar after its end keeps its outcome', () => {
    expect(run([bar(0, 100, 101, 99.5), bar(5, 100, 100, 50)])).toMatchObject({ race: 'up' })
  })
})
