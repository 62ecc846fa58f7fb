import { parentPort, workerData } from 'node:worker_threads'
import { sleep } from '../../runtime/async/sleep.ts'
import { reportInvariantsToMainThread } from '../../runtime/async/thread-invariants.ts'
import { type ScrubOptions, scrubLog } from './scrub-log.ts'

const port = parentPort
if (port === null) throw new Error('scrub-thread.ts runs as a worker thread')
reportInvariantsToMainThread()

const ending = new AbortController()
port.once('message', () => {
  ending.abort()
  port.close()
})
await scrubLog({
  ...(workerData as Pick<ScrubOptions, 'file' | 'readModels'>),
  now: Date.now,
  elapsed: () => performance.now(),
  sleep: (milliseconds) => sleep(milliseconds, ending.signal),
  signal: ending.signal,
  report: (report) => port.postMessage(report),
})
