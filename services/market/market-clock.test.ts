import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { type ClockAnchor, marketTimeAt, openMarketClock, planAnchor } from './market-clock.ts'

describe('marketTimeAt', () => {
  it('is the wall clock without an anchor', () => {
    expect(marketTimeAt(undefined, 1_234)).toBe(1_234)
  })

  it('runs at the speed of the anchor, and waits when the wall clock steps behind it', () => {
    const anchor = { wallTime: 1_000, marketTime: 5_000, speed: 60 }
    expect(marketTimeAt(anchor, 1_010)).toBe(5_600)
    expect(marketTimeAt(anchor, 400)).toBe(5_000)
  })
})

describe('planAnchor', () => {
  it('records nothing while the speed stays', () => {
    expect(planAnchor(undefined, 9_000, 1)).toBeUndefined()
    expect(planAnchor({ wallTime: 1, marketTime: 2, speed: 60 }, 9_000, 60)).toBeUndefined()
  })

  it('keeps the market ahead when it slows down to 1', () => {
    const fast = { wallTime: 1_000, marketTime: 1_000, speed: 60 }
    expect(planAnchor(fast, 2_000, 1)).toEqual({ wallTime: 2_000, marketTime: 61_000, speed: 1 })
  })

  it('never lets market time jump, whatever the speeds', () => {
    const step = fc.record({ waitMs: fc.nat(100_000), speed: fc.constantFrom(0.5, 1, 7.3, 60, 1_000) })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
        let anchor: ClockAnchor | undefined
        let wall = 1_700_000_000_000
        for (const { waitMs, speed } of steps) {
          const before = marketTimeAt(anchor, wall)
          wall += waitMs
          const reached = marketTimeAt(anchor, wall)
          expect(reached).toBeGreaterThanOrEqual(before)
          anchor = planAnchor(anchor, wall, speed) ?? anchor
          expect(marketTimeAt(anchor, wall)).toBe(reached)
        }
      }),
    )
  })
})

test('a log that cannot be followed any more is reported, and fails nothing else', async () => {
  const store = {
    head: async () => '0',
    read: async function* () {},
    subscribe: () => ({
      [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new Error('another log answers')) }),
    }),
  }
  const failures: unknown[] = []
  const clock = await openMarketClock(store as never, {
    speed: undefined,
    newId: () => '',
    signal: new AbortController().signal,
    onFailure: (error) => void failures.push(error),
  })
  await setImmediate()
  await clock.ended()
  expect(failures).toEqual([new Error('another log answers')])
})
