import { parentPort, workerData } from 'node:worker_threads'
import { reportInvariantsToMainThread } from '../../runtime/async/thread-invariants.ts'
import { threadTime } from './beside-thread.ts'
import { type ScrubOptions, scrubLog } from './scrub-log.ts'

const port = parentPort
if (port === null) throw new Error('scrub-thread.ts runs as a worker thread')
reportInvariantsToMainThread()

await scrubLog({
  ...(workerData as Pick<ScrubOptions, 'file' | 'readModels'>),
  ...threadTime(port),
  report: (report) => port.postMessage(report),
})
