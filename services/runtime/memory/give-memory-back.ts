import type { Clock } from '../async/clock.ts'
import { exposedGc } from './exposed-gc.ts'

const LOOK_EVERY_MS = 20_000
/** A quiet thread has a processor for so long between two looks. Its event loop is at work while it waits for one, too. */
const QUIET_MS = 1_000
/** So much more than after the last time is worth a collection, which holds all up for a tenth of a second. */
const WORTH_BYTES = 8_000_000

export interface MemoryBackOptions extends Pick<Clock, 'sleep'> {
  readonly signal: AbortSignal
  /** For how long this thread has had a processor. */
  readonly spentMs?: () => number
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
  spentMs = threadMs,
  resident = () => process.memoryUsage.rss(),
  collect = collector(),
}: MemoryBackOptions): Promise<void> {
  for (let left = 0; !signal.aborted; ) {
    const before = spentMs()
    await sleep(LOOK_EVERY_MS, signal)
    const held = resident()
    if (signal.aborted || spentMs() - before > QUIET_MS || held < left + WORTH_BYTES) continue
    collect()
    // Another one follows where this one gave much: it may have come amid some work.
    left = held - resident() < WORTH_BYTES ? resident() : 0
  }
}

function threadMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

/** A collection as in a process that is short of memory: no other gives freed pages back. */
export function collector(): () => void {
  const collect = exposedGc()
  return () => collect({ type: 'major', flavor: 'last-resort' })
}
