import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createDelayQueue } from './delay-queue.ts'

test('gives what is due in the order of its time, whatever the order of adding', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(1_000)), fc.nat(1_000), (times, now) => {
      const queue = createDelayQueue<number>()
      for (const time of times) queue.add(time, time)
      expect(queue.nextAt).toBe(times.length === 0 ? undefined : Math.min(...times))
      const taken: number[] = []
      for (let item = queue.take(now); item !== undefined; item = queue.take(now)) taken.push(item)
      expect(taken).toEqual(times.filter((time) => time <= now).toSorted((a, b) => a - b))
      expect(queue.size).toBe(times.length - taken.length)
    }),
  )
})
