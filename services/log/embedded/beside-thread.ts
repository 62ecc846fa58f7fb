import { once } from 'node:events'
import { type MessagePort, Worker } from 'node:worker_threads'
import { LIMITS } from '../../../contracts/limits.ts'
import { sleep } from '../../runtime/async/sleep.ts'

/** A thread that has nothing to do for so long ends meanwhile: it would hold some 20 MB. */
const LONG_REST_MS = 30_000

/** A thread beside the service, which begins once the start of the process is over. @returns ends it */
export function startThread(
  script: URL,
  data: unknown,
  told: { readonly report: (message: unknown) => void; readonly failed: (problem: string) => void },
): () => Promise<void> {
  let worker: Worker | undefined
  const begin = (): void => {
    // It holds one page of the log, or one block, at a time.
    worker = new Worker(script, { workerData: data, resourceLimits: { maxYoungGenerationSizeMb: 4 } })
    worker.on('message', (message: { readonly restMs: number } | object) => {
      if ('restMs' in message) beginning = setTimeout(begin, message.restMs).unref()
      else told.report(message)
    })
    worker.on('error', ({ message }) => told.failed(message))
    worker.once('exit', () => (worker = undefined))
    // Last: a listener for messages keeps the process from its end again.
    worker.unref()
  }
  let beginning = setTimeout(begin, LIMITS.scrubBeginMs).unref()
  return async () => {
    clearTimeout(beginning)
    if (worker === undefined) return
    worker.ref()
    const exited = once(worker, 'exit')
    worker.postMessage('close')
    await exited
    clearTimeout(beginning)
  }
}

/** The time of such a thread, and until when it goes on: it ends where it would wait for long. */
export function threadTime(port: MessagePort) {
  const ending = new AbortController()
  const { signal } = ending
  const end = (): void => {
    ending.abort()
    port.close()
  }
  port.once('message', end)
  return {
    signal,
    now: Date.now,
    elapsed: () => performance.now(),
    async sleep(milliseconds: number): Promise<void> {
      if (milliseconds < LONG_REST_MS || signal.aborted) return sleep(milliseconds, signal)
      port.postMessage({ restMs: milliseconds })
      end()
    },
  }
}
