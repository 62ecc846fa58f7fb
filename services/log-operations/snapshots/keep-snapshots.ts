import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { reasonOf } from '../../../contracts/errors.ts'
import { scratchFolder } from './snapshot.ts'
import type { ThreadData } from './snapshot-thread.ts'

/** The newest snapshot that this process knows of. */
export interface SnapshotReport {
  /** Unix milliseconds. */
  readonly takenAt?: number | undefined
  /** Why the newest try failed; it is made again. */
  readonly problem?: string
}

export interface KeepOptions {
  readonly everyMs: number
  /** Whether all read models follow the log: others are no beginning for anybody. */
  readonly isWhole: () => boolean
  /** @returns when the newest one was taken, by whichever process */
  readonly take: () => Promise<number | undefined>
  readonly report: (report: SnapshotReport) => void
  readonly now: () => number
  readonly sleep: (milliseconds: number) => Promise<void>
  readonly signal: AbortSignal
}

/** How soon read models that do not follow the log yet are looked at again, and a failure is tried again. */
const [NOT_WHOLE_MS, FAILED_MS] = [5_000, 60_000]

/** Takes a snapshot whenever the newest is as old as it may be. */
export async function keepSnapshots(options: KeepOptions): Promise<void> {
  const { everyMs, isWhole, take, report, now, sleep, signal } = options
  let takenAt: number | undefined
  while (!signal.aborted) {
    let wait = NOT_WHOLE_MS
    try {
      if (isWhole()) {
        takenAt = await take()
        report({ takenAt })
        wait = Math.min(Math.max(wait, (takenAt ?? 0) + everyMs - now()), everyMs)
      }
    } catch (error) {
      if (!signal.aborted) report({ takenAt, problem: reasonOf(error) })
      wait = FAILED_MS
    }
    await sleep(wait)
  }
}

/** Takes one in a thread of its own, so that packing keeps no caller waiting. */
export async function takeInThread(data: ThreadData, signal: AbortSignal): Promise<number | undefined> {
  const worker = new Worker(new URL('./snapshot-thread.ts', import.meta.url), {
    workerData: data,
    resourceLimits: { maxYoungGenerationSizeMb: 4 },
  })
  try {
    const [takenAt] = (await once(worker, 'message', { signal })) as [number | undefined]
    return takenAt
  } finally {
    await worker.terminate()
    rmSync(scratchFolder(data.file), { recursive: true, force: true })
  }
}
