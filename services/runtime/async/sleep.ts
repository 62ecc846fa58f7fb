import { setTimeout as wait } from 'node:timers/promises'

/** Longest single timer: longer waits are made of several, since timers hold 32 bits. */
const LONGEST_MS = 1_000_000_000

/** Waits, or returns at once when the signal is aborted. Never rejects. */
export async function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  for (let left = milliseconds; left > 0 && !signal.aborted; left -= LONGEST_MS) {
    try {
      await wait(Math.min(left, LONGEST_MS), undefined, { signal })
    } catch (error) {
      if (!signal.aborted) throw error
    }
  }
}
