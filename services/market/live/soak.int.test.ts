import { expect, test } from 'vitest'
import { growthOf, runSoak } from './testing/run-soak.ts'

/** The short form; `npm run node services/market/live/testing/soak.ts` is the long one. */
test('half an hour of three venues with five coins each: no bar lost, no memory kept', async () => {
  const { samples, broken, faults } = await runSoak({
    venues: 3,
    coins: 5,
    minutes: 40,
    seed: 7,
    historyBars: 5,
    timeframes: ['1m', '5m', '1h'],
  })
  expect(faults).toBeGreaterThan(5)
  expect(broken).toEqual([])
  expect(samples).toHaveLength(20)
  expect(samples.at(-1)?.bars).toBeGreaterThan(15 * 40)
  // Loose, since so short a run is mostly start; a kept answer of each request would be several times this.
  expect(growthOf(samples)).toBeLessThan(0.15)
})

test('growth is what the second half adds', () => {
  const samples = (heaps: readonly number[]) =>
    heaps.map((heapBytes, minute) => ({ minute, heapBytes, bars: 0, requests: 0 }))
  expect(growthOf(samples([1, 2, 5, 9, 10, 10, 10, 10, 10, 10, 10, 10]))).toBe(0)
  expect(growthOf(samples([10, 10, 10, 10, 10, 10, 10, 10, 11, 12, 13, 14]))).toBeCloseTo(0.4)
})
