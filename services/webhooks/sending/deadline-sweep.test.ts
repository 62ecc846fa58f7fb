import { expect, test } from 'vitest'
import { createFakeClock } from '../../../testing/time/fake-clock.fixture.ts'
import { createDeadlineSweep, SWEEP_EVERY_MS } from './deadline-sweep.ts'

const LIMIT_MS = 15_000

function aSweep() {
  const clock = createFakeClock(0)
  const expired: string[] = []
  const sweep = createDeadlineSweep<{ startedAt: number; place: number; name: string }>(
    clock,
    LIMIT_MS,
    ({ name }) => {
      expired.push(`${name} ${clock.now()}`)
    },
  )
  const start = (name: string) => {
    const item = { startedAt: clock.now(), place: -1, name }
    sweep.add(item)
    return item
  }
  return { clock, sweep, start, expired }
}

test('ends what takes too long once, before its time is over, and nothing that has time', () => {
  const { clock, start, expired } = aSweep()
  start('a')
  clock.tick(1_000)
  start('b')
  clock.tick(13_749)
  expect(expired).toEqual([])
  clock.tick(1)
  expect(expired).toEqual(['a 14750'])
  clock.tick(60_000)
  expect(expired).toEqual(['a 14750', 'b 15750'])
})

test('leaves what ended alone, and looks only while there is something', () => {
  const { clock, sweep, start, expired } = aSweep()
  expect(clock.waiting()).toBe(0)
  const items = ['a', 'b'].map(start)
  expect(clock.waiting()).toBe(1)
  for (const item of items) sweep.delete(item)
  clock.tick(SWEEP_EVERY_MS)
  expect(clock.waiting()).toBe(0)
  start('c')
  clock.tick(LIMIT_MS)
  expect(expired).toEqual(['c 15000'])
  expect(clock.waiting()).toBe(0)
})
