import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import { type BatchCommitter, createBatchCommitter } from './commit-batch.ts'
import { eraseStream } from './erase-stream.ts'
import { keepNewest } from './log-end.ts'
import { prepareWriter } from './schema.ts'
import { refusalOf } from './sqlite-errors.ts'
import type { WriterOptions, WriterReply, WriterRequest } from './writer.ts'

const { file, maxPages } = workerData as WriterOptions
const port = parentPort
if (port === null) throw new Error('writer-thread.ts runs as a worker thread')

const newest = keepNewest(dirname(file))
/** Why the newest event could not be noted. */
let late: string | undefined

const reply = (message: WriterReply): void => port.postMessage(message)

function open(): { db: DatabaseSync; committer: BatchCommitter } | undefined {
  try {
    const db = new DatabaseSync(file)
    if (maxPages !== undefined) db.exec(`PRAGMA max_page_count = ${Math.trunc(maxPages)}`)
    prepareWriter(db)
    return { db, committer: createBatchCommitter(db, (event) => void (late = newest.note(event))) }
  } catch (error) {
    reply({ kind: 'failed', refusal: refusalOf(error, false) })
    return undefined
  }
}

const opened = open()
if (opened !== undefined) {
  const { db, committer } = opened
  port.on('message', (request: WriterRequest) => {
    if (request.kind === 'commit') {
      const outcomes = committer.commit(request.batch, request.at)
      reply({ kind: 'committed', outcomes, late })
      return
    }
    if (request.kind === 'erase') {
      const refusal = eraseStream(db, request.stream)
      reply({ kind: 'erased', ...(refusal && { refusal }) })
      return
    }
    db.close()
    newest.close()
    port.close()
  })
  reply({ kind: 'ready' })
}
