import fc from 'fast-check'
import { expect, test } from 'vitest'
import { LIMITS } from '../../../contracts/limits.ts'
import { createRateBudget } from './rate-budget.ts'
import { createVirtualClock } from './testing/virtual-clock.ts'

const never = new AbortController().signal

/** When requests of these weights go out, where all ask at once. */
async function sentAt(weights: readonly number[], options: { pauseUntil?: number } = {}): Promise<number[]> {
  const clock = createVirtualClock(1_000_000)
  const budget = createRateBudget({ msPerUnit: 50, burstUnits: 4, now: clock.now, sleep: clock.sleep })
  if (options.pauseUntil !== undefined) budget.pauseUntil(options.pauseUntil)
  const times: number[] = []
  const all = weights.map(async (weight) => {
    await budget.take(weight, never)
    times.push(clock.now() - 1_000_000)
  })
  await clock.runUntil(Promise.all(all))
  return times
}

test('a burst goes out at once, the rest at the rate of the venue', async () => {
  expect(await sentAt([1, 1, 1, 1, 1, 1, 1, 1])).toEqual([0, 0, 0, 0, 0, 50, 100, 150])
  expect(await sentAt([4, 10, 1])).toEqual([0, 0, 500])
})

test('no stretch of time holds more weight than the rate allows, beside a burst and one request', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 20 }), { maxLength: 30 }), async (weights) => {
      const times = await sentAt(weights)
      expect(times).toEqual(times.toSorted((a, b) => a - b))
      for (const [first, from] of times.entries()) {
        for (let last = first; last < times.length; last++) {
          const weight = weights.slice(first, last).reduce((sum, one) => sum + one, 0)
          expect(weight * 50).toBeLessThanOrEqual((times[last] as number) - from + 4 * 50 + 20 * 50)
        }
      }
    }),
    { numRuns: 30 },
  )
})

test('a pause that the venue asked for holds for all, and no longer than is believed', async () => {
  expect(await sentAt([1, 1], { pauseUntil: 1_030_000 })).toEqual([30_000, 30_000])
  const [first] = await sentAt([1], { pauseUntil: 9_000_000_000 })
  expect(first).toBe(LIMITS.venueRetryAfterMs)
})

test('a clock that was set back does not hold requests up', async () => {
  let time = 10 * LIMITS.venueBudgetAheadMs
  const waits: number[] = []
  const budget = createRateBudget({
    msPerUnit: 50,
    burstUnits: 1,
    now: () => time,
    sleep: (milliseconds) => {
      waits.push(milliseconds)
      time += milliseconds
      return Promise.resolve()
    },
  })
  await budget.take(10, never)
  time -= 5 * LIMITS.venueBudgetAheadMs
  await budget.take(1, never)
  expect(waits).toEqual([])
})
