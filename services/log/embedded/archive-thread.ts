import { existsSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { makePrivateFolder } from '../../runtime/sqlite/private-files.ts'
import { archiveLog } from './archive-log.ts'
import { archiveFolder } from './archived-contents.ts'
import { keepArchived } from './auto-archive.ts'
import { threadTime } from './beside-thread.ts'

const port = parentPort
if (port === null) throw new Error('archive-thread.ts runs as a worker thread')

const { file, olderThanMs } = workerData as { readonly file: string; readonly olderThanMs: number }
const time = threadTime(port)
await keepArchived({
  olderThanMs,
  archive(options) {
    // A link that leads nowhere stays: its disk is away, and the run says so.
    if (!existsSync(archiveFolder(file))) makePrivateFolder(archiveFolder(file))
    return archiveLog({ ...options, file, ...time })
  },
  ...time,
  report: (report) => port.postMessage(report),
})
