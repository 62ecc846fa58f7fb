import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createTimeQueue } from './time-queue.ts'

describe('createTimeQueue', () => {
  it('hands out what was put in, earliest first', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(50)), (times) => {
        const queue = createTimeQueue<number>()
        for (const time of times) queue.put(time, time)
        const taken = times.map(() => {
          const earliest = queue.earliest()
          expect(queue.take()).toBe(earliest)
          return earliest
        })
        expect(taken).toEqual(times.toSorted((a, b) => a - b))
        expect(queue.earliest()).toBe(Number.POSITIVE_INFINITY)
        expect(queue.take()).toBeUndefined()
      }),
    )
  })

  it('keeps its order while items go in and out', () => {
    const step = fc.option(fc.nat(50), { nil: undefined })
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const queue = createTimeQueue<number>()
        const model: number[] = []
        const taken: (number | undefined)[] = []
        const expected: (number | undefined)[] = []
        for (const time of steps) {
          if (time === undefined) {
            taken.push(queue.take())
            expected.push(model.toSorted((a, b) => a - b)[0])
            model.splice(model.indexOf(Math.min(...model)), 1)
          } else {
            queue.put(time, time)
            model.push(time)
          }
        }
        expect(taken).toEqual(expected)
      }),
    )
  })
})
