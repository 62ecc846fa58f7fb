import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { LIMITS } from '../../../contracts/limits.ts'
import type { ScrubOptions, ScrubReport } from './scrub-log.ts'

export interface Scrub {
  /** Undefined until it has begun. */
  report(): ScrubReport | undefined
  close(): Promise<void>
}

/** Scrubs a log in a thread of its own, which begins once the start of the process is over. */
export function startScrub(
  files: Pick<ScrubOptions, 'file' | 'readModels'>,
  told: {
    readonly damaged: (report: ScrubReport) => void
    readonly readModelsDamaged: (what: string) => void
  },
): Scrub {
  let newest: ScrubReport | undefined
  let worker: Worker | undefined
  const begin = setTimeout(() => {
    worker = new Worker(new URL('./scrub-thread.ts', import.meta.url), {
      workerData: files,
      // It holds one page at a time.
      resourceLimits: { maxYoungGenerationSizeMb: 4 },
    })
    worker.unref()
    worker.on('message', (report: ScrubReport) => {
      if (report.damaged > (newest?.damaged ?? 0)) told.damaged(report)
      if (report.readModels !== undefined) told.readModelsDamaged(report.readModels)
      newest = report
    })
    worker.on('error', ({ message: problem }) => {
      newest = { position: 0, head: 0, endedAt: null, damaged: 0, damage: [], ...newest, problem }
    })
    worker.once('exit', () => (worker = undefined))
  }, LIMITS.scrubBeginMs).unref()
  return {
    report: () => newest,
    async close() {
      clearTimeout(begin)
      if (worker === undefined) return
      worker.ref()
      const exited = once(worker, 'exit')
      worker.postMessage('close')
      await exited
    },
  }
}
