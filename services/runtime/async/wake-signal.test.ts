import { expect, test } from 'vitest'
import { sleep } from './sleep.ts'
import { createWakeSignal, waitAtMost } from './wake-signal.ts'

test('wakes who sleeps, and keeps awake who has not seen the last notification', async () => {
  const ending = new AbortController()
  const how = { sleep, signal: ending.signal }
  const wake = createWakeSignal()
  const sleeping = waitAtMost(3_600_000, wake, 0, how)
  wake.notify()
  await sleeping
  await waitAtMost(3_600_000, wake, 0, how)
  await waitAtMost(1, wake, 1, how)
  const last = waitAtMost(3_600_000, wake, 1, how)
  ending.abort()
  await expect(last).resolves.toBeUndefined()
})
