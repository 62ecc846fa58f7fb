import { setImmediate } from 'node:timers/promises'
import type { Clock } from '../../platform/async/clock.ts'

/** A wall clock that a test moves. */
export interface ManualTime extends Pick<Clock, 'now' | 'sleep'> {
  /** Lets time pass: those whose time has come wake in order, each doing what it has to before the next. */
  advance(milliseconds: number): Promise<void>
  /** Those who sleep. */
  sleepers(): number
}

/** @example const time = createManualTime(0); const nap = time.sleep(50, signal); await time.advance(50) */
export function createManualTime(start: number): ManualTime {
  let now = start
  const sleepers = new Set<{ readonly due: number; readonly wake: () => void }>()

  /** Long enough for chains of promises to come to rest. */
  const rest = async (): Promise<void> => {
    for (let turn = 0; turn < 3; turn++) await setImmediate()
  }

  return {
    now: () => now,
    sleepers: () => sleepers.size,
    sleep(milliseconds, signal) {
      if (signal.aborted || milliseconds <= 0) return Promise.resolve()
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
        const [next] = [...sleepers].toSorted((a, b) => a.due - b.due)
        if (next === undefined || next.due > end) break
        now = next.due
        next.wake()
        await rest()
      }
      now = end
    },
  }
}
