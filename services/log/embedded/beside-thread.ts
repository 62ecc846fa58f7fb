import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { LIMITS } from '../../../contracts/limits.ts'

/** A thread beside the service, which begins once the start of the process is over and ends with `close`. */
export function startThread<Report>(
  script: URL,
  data: unknown,
  told: { readonly report: (report: Report) => void; readonly failed: (problem: string) => void },
): { close(): Promise<void> } {
  let worker: Worker | undefined
  const begin = setTimeout(() => {
    worker = new Worker(script, { workerData: data })
    worker.unref()
    worker.on('message', told.report)
    worker.on('error', ({ message }) => told.failed(message))
    worker.once('exit', () => (worker = undefined))
  }, LIMITS.scrubBeginMs).unref()
  return {
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
