import { Worker } from 'node:worker_threads'
import { ServiceError } from '../../contracts/errors/errors.ts'
import type { AppendRefusal } from '../log/decide-append.ts'
import type { Replay, ReplayNotes, ReplayRequest } from './replay-source.ts'

export interface ReplayWorkerOptions {
  /** The database file of the embedded store. */
  readonly file: string
  /** How its thread is started; tests put a faulty one in between. */
  readonly start?: (file: string) => Worker
  /** After how long without a replay the thread is ended. */
  readonly restMs?: number
}

/** Messages to the replay thread. */
export type ReplayAsk =
  | { readonly kind: 'open'; readonly id: number; readonly request: Omit<ReplayRequest, 'signal'> }
  /** One more chunk may be made. */
  | { readonly kind: 'more'; readonly id: number }
  | { readonly kind: 'end'; readonly id: number }
  | { readonly kind: 'close' }

/** Messages from the replay thread. */
export type ReplayMessage =
  | {
      readonly kind: 'chunk'
      readonly id: number
      readonly chunk: Uint8Array
      readonly notes: ReplayNotes
    }
  | { readonly kind: 'done'; readonly id: number; readonly notes: ReplayNotes }
  /** A refusal in a form that crosses threads, or any other error. */
  | {
      readonly kind: 'failed'
      readonly id: number
      readonly refusal?: AppendRefusal
      readonly error?: unknown
    }

const REST_MS = 60_000

/** Megabytes of its heap: what goes wrong there ends the thread and not the process. With less V8 collects twice as often. */
const HEAP_MEGABYTES = 2_048
/** With 64, rows are no quicker, and the thread holds some 65 MB more. */
const YOUNG_MEGABYTES = 24

const startThread = (file: string): Worker =>
  new Worker(new URL('./replay-thread.ts', import.meta.url), {
    workerData: { file },
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MEGABYTES, maxYoungGenerationSizeMb: YOUNG_MEGABYTES },
  })

/**
 * Replays on a thread of their own, over a connection that only reads: however many there are, calls are answered
 * meanwhile. The thread is started for the first replay, and again after it has ended, by a fault or for want of replays.
 * Replays that were under way then fail, and can be asked for again from where they had come to.
 */
export class ReplayWorker {
  readonly #options: ReplayWorkerOptions
  /** By the id of a replay, what takes its messages. */
  readonly #underWay = new Map<number, (told: ReplayMessage) => void>()
  #thread: Worker | undefined
  #resting: NodeJS.Timeout | undefined
  #lastId = 0
  #isClosed = false

  constructor(options: ReplayWorkerOptions) {
    this.#options = options
  }

  readonly replay = (request: ReplayRequest): Replay => {
    let notes: ReplayNotes = {}
    const chunks = this.#chunksOf(request, (told) => {
      notes = told
    })
    return { chunks, notes: () => notes }
  }

  /** Ends what is under way, and the thread. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#resting)
    const last = this.#thread
    if (last === undefined) return
    last.ref()
    const exited = new Promise((resolve) => last.once('exit', resolve))
    this.#ask({ kind: 'close' })
    await exited
  }

  #startThread(): Worker {
    const { start = startThread, file } = this.#options
    const started = start(file)
    let reason = 'the thread that reads replays has ended'
    started.on('message', (told: ReplayMessage) => this.#underWay.get(told.id)?.(told))
    started.on('error', (error) => {
      reason = `the thread that reads replays failed: ${error instanceof Error ? error.message : String(error)}`
    })
    started.once('exit', () => {
      // One that was let go had nothing under way.
      if (this.#thread !== started) return
      this.#thread = undefined
      const refusal = { code: 'store_unavailable', message: reason } as const
      for (const [id, post] of this.#underWay) post({ kind: 'failed', id, refusal })
    })
    // A process that has nothing else to do may end.
    started.unref()
    return started
  }

  /** Ends a thread that nobody asked anything for a while: it would hold 60 MB. */
  #letGo(): void {
    if (this.#underWay.size > 0) return
    this.#ask({ kind: 'close' })
    this.#thread = undefined
  }

  #ask(message: ReplayAsk): void {
    this.#thread?.postMessage(message)
  }

  async *#chunksOf(
    { signal, ...request }: ReplayRequest,
    onTold: (notes: ReplayNotes) => void,
  ): AsyncGenerator<Uint8Array, void, void> {
    if (this.#isClosed) throw new ServiceError('store_unavailable', { message: 'the store is closed' })
    this.#thread ??= this.#startThread()
    const id = ++this.#lastId
    const told: ReplayMessage[] = []
    let wake: () => void = () => undefined
    this.#underWay.set(id, (message) => {
      told.push(message)
      wake()
    })
    const leave = (): void => this.#ask({ kind: 'end', id })
    signal.addEventListener('abort', leave)
    try {
      this.#ask({ kind: 'open', id, request })
      if (signal.aborted) leave()
      for (;;) {
        const next = told.shift()
        if (next === undefined) {
          await new Promise<void>((resolve) => {
            wake = resolve
          })
        } else if (next.kind === 'chunk') {
          onTold(next.notes)
          this.#ask({ kind: 'more', id })
          yield next.chunk
        } else if (next.kind === 'done') return onTold(next.notes)
        else throw next.refusal === undefined ? next.error : failureOf(next.refusal)
      }
    } finally {
      signal.removeEventListener('abort', leave)
      this.#underWay.delete(id)
      leave()
      clearTimeout(this.#resting)
      this.#resting = setTimeout(() => this.#letGo(), this.#options.restMs ?? REST_MS).unref()
    }
  }
}

const failureOf = ({ code, ...refusal }: AppendRefusal): ServiceError => new ServiceError(code, refusal)
