import { existsSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { sleep } from '../../runtime/async/sleep.ts'
import { makePrivateFolder } from '../../runtime/sqlite/private-files.ts'
import { archiveLog } from './archive-log.ts'
import { archiveFolder } from './archived-contents.ts'
import { keepArchived } from './auto-archive.ts'

const port = parentPort
if (port === null) throw new Error('archive-thread.ts runs as a worker thread')

const ending = new AbortController()
port.once('message', () => {
  ending.abort()
  port.close()
})
const { file, olderThanMs } = workerData as { readonly file: string; readonly olderThanMs: number }
const rest = (milliseconds: number): Promise<void> => sleep(milliseconds, ending.signal)
await keepArchived({
  olderThanMs,
  archive(options) {
    // A link that leads nowhere stays: its disk is away, and the run says so.
    if (!existsSync(archiveFolder(file))) makePrivateFolder(archiveFolder(file))
    return archiveLog({
      ...options,
      file,
      signal: ending.signal,
      sleep: rest,
      elapsed: () => performance.now(),
    })
  },
  now: Date.now,
  sleep: rest,
  signal: ending.signal,
  report: (report) => port.postMessage(report),
})
