import { Worker } from 'node:worker_threads'

/** The first seed with findings, and its findings. */
export interface Finding {
  readonly seed: number
  readonly found: readonly string[]
}

/** A thread for seeds: answers each message, a seed, with a {@link Finding}, also where nothing was found. */
interface Thread {
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'message', listener: (finding: Finding) => void): unknown
  postMessage(seed: number): void
  terminate(): Promise<unknown>
}

/**
 * So many a thread lives through before another takes its place. Node.js keeps a composite signal for as long as it has
 * listeners and no source of it aborts, and a process that is killed aborts nothing: a seed leaves 1.6 MB.
 */
const SEEDS_PER_THREAD = 400

/**
 * Lives seeds through in several threads, and ends with the lowest that finds something: the same one for any number of threads.
 *
 * @param onDone told how many are done
 * @returns undefined where none finds anything
 * @example await runSeeds({ from: 1, seeds: 100, jobs: 2, plant: undefined, onDone: () => undefined })
 */
export async function runSeeds(options: {
  readonly from: number
  readonly seeds: number
  readonly jobs: number
  readonly plant: string | undefined
  readonly onDone: (done: number) => void
  readonly start?: (plant: string | undefined) => Thread
}): Promise<Finding | undefined> {
  const { from, seeds, jobs, plant, onDone, start = startThread } = options
  let [next, done] = [from, 0]
  let first: Finding | undefined
  const isLeft = (): boolean => next < Math.min(from + seeds, first?.seed ?? Number.POSITIVE_INFINITY)

  function workOn(thread: Thread): Promise<void> {
    let lived = 0
    return new Promise((resolve, reject) => {
      const goOn = (): void => {
        if (!isLeft() || lived === SEEDS_PER_THREAD) return resolve()
        lived += 1
        thread.postMessage(next++)
      }
      thread.on('error', reject)
      thread.on('message', ({ seed, found }: Finding) => {
        if (found.length > 0 && seed < (first?.seed ?? Number.POSITIVE_INFINITY)) first = { seed, found }
        done += 1
        onDone(done)
        goOn()
      })
      goOn()
    })
  }

  async function work(): Promise<void> {
    do {
      const thread = start(plant)
      threads.add(thread)
      await workOn(thread)
      threads.delete(thread)
      await thread.terminate()
    } while (isLeft())
  }

  const threads = new Set<Thread>()
  try {
    await Promise.all(Array.from({ length: Math.min(jobs, seeds) }, work))
  } finally {
    await Promise.all([...threads].map((thread) => thread.terminate()))
  }
  return first
}

const startThread = (plant: string | undefined): Thread =>
  new Worker(new URL('./seeds-thread.ts', import.meta.url), { workerData: { plant } })
