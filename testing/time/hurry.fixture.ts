import { sleep } from '../../services/runtime/async/sleep.ts'

const TIMES_AS_FAST = 100

/** Sleeps a hundredth of what it is asked for: for parts that poll a log while other parts run in real time. */
export const hurry = (milliseconds: number, signal: AbortSignal): Promise<void> =>
  sleep(milliseconds / TIMES_AS_FAST, signal)
