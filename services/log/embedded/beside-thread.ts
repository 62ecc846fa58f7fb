import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { LIMITS } from '../../../contracts/limits.ts'

/** A thread beside the service, which begins once the start of the process is over. @returns ends it */
export function startThread(
  script: URL,
  data: unknown,
  told: { readonly report: (message: unknown) => void; readonly failed: (problem: string) => void },
): () => Promise<void> {
  let worker: Worker | undefined
  const begin = setTimeout(() => {
    // It holds one page of the log, or one block, at a time.
    worker = new Worker(script, { workerData: data, resourceLimits: { maxYoungGenerationSizeMb: 4 } })
    worker.on('message', told.report)
    worker.on('error', ({ message }) => told.failed(message))
    worker.once('exit', () => (worker = undefined))
    // Last: a listener for messages keeps the process from its end again.
    worker.unref()
  }, LIMITS.scrubBeginMs).unref()
  return async () => {
    clearTimeout(begin)
    if (worker === undefined) return
    worker.ref()
    const exited = once(worker, 'exit')
    worker.postMessage('close')
    await exited
  }
}
