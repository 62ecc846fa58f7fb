import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import { type BatchCommitter, createBatchCommitter } from './commit-batch.ts'
import { eraseStream } from './erase-stream.ts'
import { unpackBatch } from './pack-batch.ts'
import { prepareWriter } from './schema.ts'
import { refusalOf } from './sqlite-refusal.ts'
import type { WriterOptions, WriterReply, WriterRequest } from './writer.ts'

const { file, maxPages } = workerData as WriterOptions
const port = parentPort
if (port === null) throw new Error('writer-thread.ts runs as a worker thread')

const reply = (message: WriterReply): void => port.postMessage(message)

function open(): { db: DatabaseSync; committer: BatchCommitter } | undefined {
  try {
    const db = new DatabaseSync(file)
    if (maxPages !== undefined) db.exec(`PRAGMA max_page_count = ${Math.trunc(maxPages)}`)
    prepareWriter(db)
    return { db, committer: createBatchCommitter(db) }
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
      reply({ kind: 'committed', outcomes: committer.commit(unpackBatch(request.batch), request.at) })
      return
    }
    if (request.kind === 'erase') {
      const refusal = eraseStream(db, request.stream)
      reply({ kind: 'erased', ...(refusal && { refusal }) })
      return
    }
    db.close()
    port.close()
  })
  reply({ kind: 'ready' })
}
