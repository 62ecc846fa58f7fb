import { expect, test } from 'vitest'
import { createDeadlineSweep, SWEEP_EVERY_MS } from './deadline-sweep.ts'
import { createManualSweepClock } from './testing/manual-sweep-clock.fixture.ts'

const LIMIT_MS = 15_000

function aSweep() {
  const clock = createManualSweepClock()
  const expired: string[] = []
  const sweep = createDeadlineSweep<{ startedAt: number; name: string }>(clock, LIMIT_MS, ({ name }) => {
    expired.push(`${name} ${clock.now()}`)
  })
  const start = (name: string) => {
    const item = { startedAt: clock.now(), name }
    sweep.add(item)
    return item
  }
  return { clock, sweep, start, expired }
}

test('ends what takes too long once, before its time is over, and nothing that has time', () => {
  const { clock, start, expired } = aSweep()
  start('a')
  clock.advance(1_000)
  start('b')
  clock.advance(13_749)
  expect(expired).toEqual([])
  clock.advance(1)
  expect(expired).toEqual(['a 14750'])
  clock.advance(60_000)
  expect(expired).toEqual(['a 14750', 'b 15750'])
})

test('leaves what ended alone, and looks only while there is something', () => {
  const { clock, sweep, start, expired } = aSweep()
  expect(clock.timers()).toBe(0)
  const items = ['a', 'b'].map(start)
  expect(clock.timers()).toBe(1)
  for (const item of items) sweep.delete(item)
  clock.advance(SWEEP_EVERY_MS)
  expect(clock.timers()).toBe(0)
  start('c')
  clock.advance(LIMIT_MS)
  expect(expired).toEqual(['c 15000'])
  expect(clock.timers()).toBe(0)
})
