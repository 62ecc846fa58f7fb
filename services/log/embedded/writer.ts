import { Worker } from 'node:worker_threads'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import type { AppendRefusal } from '../decide-append.ts'
import type { EncodedAppend } from '../validate-append.ts'
import type { AppendOutcome } from './commit-batch.ts'

/** Commits batches and erases streams in the order they are given. */
export type Writer = Awaited<ReturnType<typeof startWriter>>

export interface WriterOptions {
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

/**
 * The one connection that writes, in a thread of its own: a commit waits for the disk, and on a slow disk that wait would
 * hold up every request of the process. After the thread ended, the next request starts another; what was under way is
 * rejected as unknown.
 */
export async function startWriter(options: WriterOptions) {
  let thread = await startThread(options)
  let starting: Promise<WriterThread> | undefined
  let late: string | undefined

  /** One thread is started for all that find the last one ended: two would write to the same file. */
  async function ask(request: WriterRequest): Promise<WriterReply> {
    if (thread.hasEnded()) {
      starting ??= startThread(options).finally(() => {
        starting = undefined
      })
      thread = await starting
    }
    return thread.ask(request)
  }
  return {
    /** A fault beside the commits, which are durable all the same. */
    late: (): string | undefined => late,
    /** Resolves once the batch is on the disk; rejects when nobody knows whether it is. */
    async commit(batch: readonly EncodedAppend[], at: string): Promise<AppendOutcome[]> {
      const reply = await ask({ kind: 'commit', batch, at })
      if (reply.kind !== 'committed') return []
      late = reply.late
      return reply.outcomes
    },
    /** Resolves once nothing of the stream is left in the files; rejects if that is not known. */
    async erase(stream: string): Promise<void> {
      const reply = await ask({ kind: 'erase', stream })
      if (reply.kind === 'erased' && reply.refusal === undefined) return
      const refusal = reply.kind === 'erased' ? reply.refusal : undefined
      throw new ServiceError(refusal?.code ?? 'append_unknown', refusal)
    },
    async close(): Promise<void> {
      // A thread that is being started would keep the process up; its caller learns of a failure.
      await starting?.catch(() => undefined)
      await thread.close()
    },
  }
}

type WriterThread = Awaited<ReturnType<typeof startThread>>

async function startThread(options: WriterOptions) {
  const worker = new Worker(new URL('./writer-thread.ts', import.meta.url), {
    workerData: options,
    // It holds one batch at a time.
    resourceLimits: { maxYoungGenerationSizeMb: 8 },
  })
  /** The thread answers in the order it was asked. */
  const waiting: PromiseWithResolvers<WriterReply>[] = []
  let end: ServiceError | undefined
  const ended = (message: string, cause?: Error): ServiceError =>
    (end ??= new ServiceError('store_unavailable', { message, cause }))

  const exited = new Promise<void>((resolve) => {
    worker.once('exit', () => {
      const unknown = new ServiceError('append_unknown', {
        message: 'the writer of the event store ended before it confirmed what it was asked',
        cause: ended('the writer of the event store has ended'),
      })
      for (const entry of waiting.splice(0)) entry.reject(unknown)
      resolve()
    })
  })
  await new Promise<void>((resolve, reject) => {
    worker.on('error', (error: Error) => reject(ended(`the writer failed: ${error.message}`, error)))
    worker.on('message', (reply: WriterReply) => {
      if (reply.kind === 'ready') resolve()
      // Once its connection is gone: a caller may open the file at once.
      else if (reply.kind === 'failed')
        void exited.then(() => reject(new ServiceError(reply.refusal.code, reply.refusal)))
      else waiting.shift()?.resolve(reply)
    })
  })
  return {
    hasEnded: () => end !== undefined,
    ask(request: WriterRequest): Promise<WriterReply> {
      if (end !== undefined) return Promise.reject(end)
      const entry = Promise.withResolvers<WriterReply>()
      waiting.push(entry)
      worker.postMessage(request)
      return entry.promise
    },
    async close(): Promise<void> {
      if (end === undefined) worker.postMessage({ kind: 'close' } satisfies WriterRequest)
      await exited
    },
  }
}
