import { setImmediate } from 'node:timers/promises'
import type { Clock } from '../../platform/async/clock.ts'

/** A clock that a test moves, and those who sleep by it. */
export interface ManualTime extends Pick<Clock, 'now' | 'sleep'> {
  /** Lets time pass: who sleeps wakes in order, and does what it has to before the next. */
  readonly advance: (milliseconds: number) => Promise<void>
}

export function createManualTime(start: number): ManualTime {
  let now = start
  const sleepers = new Set<{ readonly due: number; readonly wake: () => void }>()
  const rest = async (): Promise<void> => {
    for (let turn = 0; turn < 3; turn++) await setImmediate()
  }
  return {
    now: () => now,
    sleep(milliseconds, signal) {
      if (signal.aborted) return Promise.resolve()
      return new Promise((resolve) => {
        const wake = (): void => {
          sleepers.delete(sleeper)
          signal.removeEventListener('abort', wake)
          resolve()
        }
        const sleeper = { due: now + milliseconds, wake }
        sleepers.add(sleeper)
        signal.addEventListener('abort', wake, { once: true })
      })
    },
    async advance(milliseconds) {
      const end = now + milliseconds
      await rest()
      for (;;) {
        const next = [...sleepers].toSorted((a, b) => a.due - b.due)[0]
        if (next === undefined || next.due > end) break
        now = next.due
        next.wake()
        await rest()
      }
      now = end
    },
  }
}
