import { createBusyShare } from '../async/busy-share.ts'
import type { Clock } from '../async/clock.ts'
import { exposedGc } from './exposed-gc.ts'

const LOOK_EVERY_MS = 10_000
/** Share of the time since the last look in which a quiet process does something. */
const QUIET_SHARE = 0.05
/** So much more than after the last time is worth a collection, which holds all up for a tenth of a second. */
const WORTH_BYTES = 16_000_000

export interface MemoryBackOptions extends Pick<Clock, 'sleep'> {
  readonly signal: AbortSignal
  /** Share of the time since the last look in which this thread had work. */
  readonly busy?: () => number
  /** Resident bytes of the process. */
  readonly resident?: () => number
  readonly collect?: () => void
}

/**
 * Gives memory back to the system when a quiet time follows a busy one. V8 collects seldom where little is allocated, and
 * keeps the pages that a collection freed: without this a process stays at its largest for as long as it runs.
 */
export async function giveMemoryBack({
  sleep,
  signal,
  busy = createBusyShare(),
  resident = () => process.memoryUsage.rss(),
  collect = collector(),
}: MemoryBackOptions): Promise<void> {
  for (let left = 0; ; ) {
    await sleep(LOOK_EVERY_MS, signal)
    if (signal.aborted) return
    if (busy() > QUIET_SHARE || resident() < left + WORTH_BYTES) continue
    collect()
    left = resident()
  }
}

/** A collection as in a process that is short of memory: no other gives freed pages back. */
export function collector(): () => void {
  const collect = exposedGc()
  return () => collect({ type: 'major', flavor: 'last-resort' })
}
