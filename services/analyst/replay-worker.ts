import { Worker } from 'node:worker_threads'
import { ServiceError } from '../../contracts/errors.ts'
import type { ReplayAsk, ReplayMessage } from './replay-messages.ts'
import type { Replay, ReplayRequest, ReplaySource } from './replay-source.ts'

export interface ReplayWorkerOptions {
  /** The database file of the embedded store. */
  readonly file: string
  /** How its thread is started; tests put a faulty one in between. */
  readonly start?: (file: string) => Worker
}

export type ReplayWorker = ReturnType<typeof openReplayWorker>

/** Bytes of its heap, so that what goes wrong there ends the thread and not the process. */
const HEAP_MEGABYTES = 512

const startThread = (file: string): Worker =>
  new Worker(new URL('./replay-thread.ts', import.meta.url), {
    workerData: { file },
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MEGABYTES },
  })

/** A replay on the thread: what has come of it, and who waits for more. */
interface UnderWay {
  readonly post: (told: ReplayMessage) => void
}

/**
 * Replays on a thread of their own, over a connection that only reads: however many there are, calls are answered
 * meanwhile. The thread is started for the first replay, and again after it has ended by itself; replays that were
 * under way then fail, and can be asked for again from where they had come to.
 */
export function openReplayWorker({ file, start = startThread }: ReplayWorkerOptions) {
  const underWay = new Map<number, UnderWay>()
  let thread: Worker | undefined
  let lastId = 0
  let isClosed = false

  function running(): Worker {
    if (isClosed) throw new ServiceError('store_unavailable', { message: 'the store is closed' })
    thread ??= startOne()
    return thread
  }

  function startOne(): Worker {
    const started = start(file)
    let reason = 'the thread that reads replays has ended'
    started.on('message', (told: ReplayMessage) => underWay.get(told.id)?.post(told))
    started.on('error', (error) => {
      reason = `the thread that reads replays failed: ${error instanceof Error ? error.message : String(error)}`
    })
    started.once('exit', () => {
      if (thread === started) thread = undefined
      const refusal = { code: 'store_unavailable', message: reason } as const
      for (const [id, { post }] of underWay) post({ kind: 'failed', id, refusal })
    })
    // A process that has nothing else to do may end.
    started.unref()
    return started
  }

  const ask = (message: ReplayAsk): void => thread?.postMessage(message)

  async function* chunksOf(
    { signal, ...request }: ReplayRequest,
    onTold: (goOnAfter: string | undefined) => void,
  ): AsyncGenerator<Uint8Array, void, void> {
    running()
    const id = ++lastId
    const told: ReplayMessage[] = []
    let wake: () => void = () => undefined
    underWay.set(id, {
      post(message) {
        told.push(message)
        wake()
      },
    })
    const leave = (): void => ask({ kind: 'end', id })
    signal.addEventListener('abort', leave)
    try {
      ask({ kind: 'open', id, request })
      if (signal.aborted) leave()
      for (;;) {
        const next = told.shift()
        if (next === undefined) {
          await new Promise<void>((resolve) => {
            wake = resolve
          })
        } else if (next.kind === 'chunk') {
          onTold(next.goOnAfter)
          ask({ kind: 'more', id })
          yield next.bytes
        } else if (next.kind === 'done') return onTold(next.goOnAfter)
        else throw next.refusal === undefined ? next.error : failureOf(next.refusal)
      }
    } finally {
      signal.removeEventListener('abort', leave)
      underWay.delete(id)
      leave()
    }
  }

  return {
    replay(request: ReplayRequest): Replay {
      let goOnAfter: string | undefined
      const chunks = chunksOf(request, (cursor) => {
        goOnAfter = cursor
      })
      return { chunks, goOnAfter: () => goOnAfter }
    },
    /** Ends what is under way, and the thread. */
    async close(): Promise<void> {
      isClosed = true
      const last = thread
      if (last === undefined) return
      last.ref()
      const exited = new Promise((resolve) => last.once('exit', resolve))
      last.postMessage({ kind: 'close' } satisfies ReplayAsk)
      await exited
    },
  }
}

const failureOf = ({
  code,
  ...refusal
}: {
  code: ConstructorParameters<typeof ServiceError>[0]
  message: string
}) => new ServiceError(code, refusal)
