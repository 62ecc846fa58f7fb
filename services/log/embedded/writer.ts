import { Worker } from 'node:worker_threads'
import { ServiceError } from '../../../contracts/errors.ts'
import type { AppendRefusal } from '../decide-append.ts'
import type { EncodedAppend } from '../validate-append.ts'
import type { AppendOutcome } from './commit-batch.ts'

/** Commits batches and erases streams in the order they are given. */
export interface Writer {
  /** Whether its thread is gone; every commit is refused from then on. */
  readonly hasEnded: boolean
  /** A fault beside the commits, which are durable all the same. */
  readonly late?: string | undefined
  /** Resolves once the batch is on the disk; rejects when nobody knows whether it is. */
  commit(batch: readonly EncodedAppend[], at: string): Promise<AppendOutcome[]>
  /** Resolves once nothing of the stream is left in the files; rejects where that is not known. */
  erase(stream: string): Promise<void>
  close(): Promise<void>
}

export interface WriterOptions {
  /** The database file. */
  readonly file: string
  /** Pages the file may grow to, for a store that must not fill its disk; no limit without it. */
  readonly maxPages?: number
}

export type WriterRequest =
  | { readonly kind: 'commit'; readonly batch: readonly EncodedAppend[]; readonly at: string }
  | { readonly kind: 'erase'; readonly stream: string }
  | { readonly kind: 'close' }

export type WriterReply =
  | { readonly kind: 'ready' }
  | { readonly kind: 'failed'; readonly refusal: AppendRefusal }
  | { readonly kind: 'committed'; readonly outcomes: AppendOutcome[]; readonly late: string | undefined }
  | { readonly kind: 'erased'; readonly refusal?: AppendRefusal }

interface Waiting {
  /** The thread answers in the order it was asked. */
  settle(reply: WriterReply): void
  reject(error: ServiceError): void
}

/**
 * The one connection that writes, in a thread of its own: a commit waits for the disk, and on a slow disk
 * that wait would hold up every request of the process.
 */
export async function startWriter(options: WriterOptions): Promise<Writer> {
  const worker = new Worker(new URL('./writer-thread.ts', import.meta.url), {
    workerData: options,
    // It holds one batch at a time.
    resourceLimits: { maxYoungGenerationSizeMb: 8 },
  })
  const waiting: Waiting[] = []
  let ended: ServiceError | undefined
  let late: string | undefined

  const exited = new Promise<void>((resolve) => {
    worker.once('exit', () => {
      ended ??= new ServiceError('store_unavailable', { message: 'the writer of the event store has ended' })
      const unknown = new ServiceError('append_unknown', {
        message: 'the writer of the event store ended before it confirmed what it was asked',
        cause: ended,
      })
      for (const entry of waiting.splice(0)) entry.reject(unknown)
      resolve()
    })
  })

  await new Promise<void>((resolve, reject) => {
    worker.on('error', (error) => {
      ended = new ServiceError('store_unavailable', {
        message: `the writer failed: ${error.message}`,
        cause: error,
      })
      reject(ended)
    })
    worker.on('message', (reply: WriterReply) => {
      if (reply.kind === 'ready') resolve()
      // Once its connection is gone: a caller may open the file at once.
      else if (reply.kind === 'failed')
        void exited.then(() => reject(new ServiceError(reply.refusal.code, reply.refusal)))
      else waiting.shift()?.settle(reply)
    })
  })

  const ask = (request: WriterRequest): Promise<WriterReply> => {
    if (ended !== undefined) return Promise.reject(ended)
    return new Promise((settle, reject) => {
      waiting.push({ settle, reject })
      worker.postMessage(request)
    })
  }

  return {
    get hasEnded() {
      return ended !== undefined
    },
    get late() {
      return late
    },
    async commit(batch, at) {
      const reply = await ask({ kind: 'commit', batch, at })
      if (reply.kind !== 'committed') return []
      late = reply.late
      return reply.outcomes
    },
    async erase(stream) {
      const reply = await ask({ kind: 'erase', stream })
      if (reply.kind === 'erased' && reply.refusal === undefined) return
      const refusal = reply.kind === 'erased' ? reply.refusal : undefined
      throw new ServiceError(refusal?.code ?? 'append_unknown', refusal)
    },
    async close() {
      if (ended === undefined) worker.postMessage({ kind: 'close' } satisfies WriterRequest)
      await exited
    },
  }
}
