import { setImmediate } from 'node:timers/promises'
import type { Clock } from '../clock.ts'
import { createSleepers } from './sleepers.fixture.ts'

/** A clock that stands until it is told to go on, and sleepers that wake by it. */
export interface FakeTime extends Pick<Clock, 'now' | 'sleep'> {
  /** Does not notice that the clock is set. */
  readonly elapsed: () => number
  /** Lets time pass in steps, with everything that is due in each. */
  pass(milliseconds: number, stepMs?: number): Promise<void>
  /** Lets everything happen that is due now. */
  idle(): Promise<void>
  /** Sets the clock without anybody sleeping through it. */
  step(milliseconds: number): void
}

/** FairScheduler of the event loop in which everything that is ready has had its say. */
const TURNS = 30

export function createFakeTime(start: number): FakeTime {
  const sleepers = createSleepers()
  let now = start
  /** Of sleepers: a clock that is set does not change how long anybody sleeps. */
  let slept = 0

  async function idle(): Promise<void> {
    for (let turn = 0; turn < TURNS; turn++) {
      sleepers.wake(slept)
      await setImmediate()
    }
  }

  return {
    now: () => now,
    elapsed: () => slept,
    sleep: (milliseconds, signal) =>
      milliseconds <= 0 ? Promise.resolve() : sleepers.sleepUntil(slept + milliseconds, signal),
    idle,
    async pass(milliseconds, stepMs = 1_000) {
      for (let left = milliseconds; left > 0; left -= stepMs) {
        now += Math.min(stepMs, left)
        slept += Math.min(stepMs, left)
        await idle()
      }
    },
    step(milliseconds) {
      now += milliseconds
    },
  }
}
