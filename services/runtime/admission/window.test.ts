import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createWindow } from './window.ts'

describe('window counts', () => {
  test('begin with the first count, and end a window later whatever was counted since', () => {
    let now = 5_000
    const counts = createWindow({ now: () => now, windowMs: 1_000, maxSubjects: 100 })
    expect(counts.add('a')).toEqual({ count: 1, expiresInMs: 1_000 })
    now += 999
    expect(counts.add('a')).toEqual({ count: 2, expiresInMs: 1 })
    now += 1
    expect(counts.add('a')).toEqual({ count: 1, expiresInMs: 1_000 })
  })

  test('are what a list of all times would give', () => {
    const step = fc.record({
      subject: fc.constantFrom('a', 'b', 'c'),
      wait: fc.integer({ min: 0, max: 400 }),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        let now = 0
        const counts = createWindow({ now: () => now, windowMs: 1_000, maxSubjects: 1_000 })
        const windows = new Map<string, { from: number; count: number }>()
        for (const { subject, wait } of steps) {
          now += wait
          const known = windows.get(subject)
          const window = known !== undefined && now - known.from < 1_000 ? known : { from: now, count: 0 }
          window.count += 1
          windows.set(subject, window)
          expect(counts.add(subject)).toEqual({ count: window.count, expiresInMs: window.from + 1_000 - now })
        }
      }),
    )
  })

  test('hold no more subjects than they may, and none for long', () => {
    let now = 0
    const counts = createWindow({ now: () => now, windowMs: 1_000, maxSubjects: 100 })
    for (let n = 0; n < 10_000; n++) counts.add(`subject ${n}`)
    expect(counts.size()).toBeLessThanOrEqual(100)
    for (let window = 0; window < 3; window++) {
      now += 1_000
      counts.add('one')
    }
    expect(counts.size()).toBeLessThanOrEqual(2)
  })

  test('go on where a clock was set back', () => {
    let now = 1_000_000
    const counts = createWindow({ now: () => now, windowMs: 1_000, maxSubjects: 100 })
    for (let n = 0; n < 5; n++) counts.add('a')
    now = 0
    expect(counts.add('a')).toEqual({ count: 1, expiresInMs: 1_000 })
  })
})
