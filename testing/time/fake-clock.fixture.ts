import { setImmediate } from 'node:timers/promises'
import type { Clock } from '../../services/runtime/async/clock.ts'
import { createSleepers } from './sleepers.fixture.ts'

/** A clock that stands until a test moves it. */
export interface FakeClock extends Clock {
  /** Calls again and again until what it returns is called. */
  every(milliseconds: number, work: () => void): () => void
  /** Sleepers, and callbacks that are called again and again. */
  waiting(): number
  /** Lets everything happen that is due now. */
  idle(): Promise<void>
  /** Lets time pass: those whose time has come wake in order, each doing what it has to before the next. */
  advance(milliseconds: number): Promise<void>
  /** Lets time pass in steps, with everything that is due in each. */
  pass(milliseconds: number, stepMs?: number): Promise<void>
  /** Lets time pass at once: who wakes has done nothing yet when it returns. */
  tick(milliseconds: number): void
  /** Lets time pass at once until the next who waits, if anybody does. */
  skip(): void
  /** Sets the wall clock: nobody sleeps longer or shorter for that. */
  step(milliseconds: number): void
}

/** Turns of the event loop in which everything that is ready has had its say. */
const TURNS = 30
/** Long enough for chains of promises to come to rest. */
const SHORT_TURNS = 3

/** @example const clock = createFakeClock(0); const nap = clock.sleep(50, signal); await clock.advance(50) */
export function createFakeClock(start: number): FakeClock {
  const sleepers = createSleepers()
  /** Wall time as if nobody had set the clock. All who wait are held by it, so that what is due at one instant is due at once. */
  let time = start
  let stepped = 0

  async function idle(turns = TURNS): Promise<void> {
    for (let turn = 0; turn < turns; turn++) {
      sleepers.wake(time)
      await setImmediate()
    }
  }

  /** Goes to the next that is due until then, and wakes it. */
  function next(end: number): boolean {
    const until = sleepers.earliest()
    if (until > end || until === Number.POSITIVE_INFINITY) return false
    time = Math.max(time, until)
    sleepers.wakeFirst()
    return true
  }

  return {
    now: () => time + stepped,
    elapsed: () => time - start,
    sleep: (milliseconds, signal) =>
      milliseconds <= 0 ? Promise.resolve() : sleepers.sleepUntil(time + milliseconds, signal),
    every(milliseconds, work) {
      let stop = (): void => undefined
      const again = (): void => {
        stop = sleepers.callAt(time + milliseconds, () => {
          again()
          work()
        })
      }
      again()
      return () => stop()
    },
    waiting: () => sleepers.count(),
    idle: () => idle(),
    async advance(milliseconds) {
      const end = time + milliseconds
      for (let isDue = true; isDue; ) {
        for (let turn = 0; turn < SHORT_TURNS; turn++) await setImmediate()
        isDue = next(end)
      }
      time = Math.max(time, end)
    },
    async pass(milliseconds, stepMs = 1_000) {
      for (let left = milliseconds; left > 0; left -= stepMs) {
        time += Math.min(stepMs, left)
        await idle()
      }
    },
    tick(milliseconds) {
      const end = time + milliseconds
      while (next(end));
      time = Math.max(time, end)
    },
    skip: () => void next(sleepers.earliest()),
    step(milliseconds) {
      stepped += milliseconds
    },
  }
}
