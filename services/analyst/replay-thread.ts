import { setPriority } from 'node:os'
import { dirname, join } from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import { assert } from '../../contracts/assert.ts'
import { isServiceError } from '../../contracts/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { LogReader } from '../log/embedded/log-reader.ts'
import { openWrittenPages } from '../log/embedded/written-pages.ts'
import { createTurns } from '../runtime/admission/turns.ts'
import { reportInvariantsToMainThread } from '../runtime/async/thread-invariants.ts'
import { ROW_LAYOUT } from './formats/verdict-columns.ts'
import { replaysOnThisThread } from './replay-source.ts'
import { openReplayWorker, type ReplayAsk, type ReplayMessage, startThread } from './replay-worker.ts'

/** Chunks that may wait for their reader: one is made while another is written. */
const CHUNKS_AHEAD = 2

/** The thread of replays: reads the log over a connection of its own, so that nothing it does holds others up. */
const port = parentPort
if (port === null) throw new Error('replay-thread.ts runs as a worker thread')
reportInvariantsToMainThread()

/**
 * Linux gives each thread a priority of its own, and this one yields to those that answer calls and write. Elsewhere
 * it would be that of the whole process.
 */
const LOWER_PRIORITY = 10
if (process.platform === 'linux') setPriority(LOWER_PRIORITY)

const { file, isAhead } = workerData as { readonly file: string; readonly isAhead?: boolean }
const reader = new LogReader(file)
const pages = openWrittenPages(join(dirname(file), 'replays.db'), file, ROW_LAYOUT)
/** A thread like this one, whose chunks nobody reads: it only keeps pages. */
const ahead = isAhead ? undefined : openReplayWorker({ file, start: () => startThread(file, true) })
const replay = replaysOnThisThread(
  {
    read: (stream, options = {}) => reader.read(stream, options),
    readAll: (options = {}) => reader.readAll(options),
    head: async () => reader.head(),
    streams: (prefix) => reader.streams(prefix),
  },
  createTurns({
    turnMs: LIMITS.replayTurnMs,
    restMs: () => 1,
    time: {
      elapsed: () => performance.now(),
      // Between turns the thread reads its messages; a timer would rest for longer than that takes.
      after(_milliseconds, begin) {
        const rest = setImmediate(begin)
        return () => clearImmediate(rest)
      },
    },
  }),
  pages.pagesOf,
  ahead?.replay,
)

interface UnderWay {
  readonly ending: AbortController
  /** Chunks that may be made. */
  wanted: number
  wake: () => void
}

const underWay = new Map<number, UnderWay>()
const post = (message: ReplayMessage, transfer: readonly ArrayBuffer[] = []): void =>
  port.postMessage(message, transfer)

async function run({ id, request }: Extract<ReplayAsk, { kind: 'open' }>): Promise<void> {
  const one: UnderWay = { ending: new AbortController(), wanted: CHUNKS_AHEAD, wake: () => undefined }
  underWay.set(id, one)
  try {
    const { chunks, notes } = replay({ ...request, signal: one.ending.signal })
    for await (const chunk of chunks) {
      if (one.ending.signal.aborted) break
      if (isAhead) continue
      assert(typeof chunk !== 'string', 'rows are written as bytes')
      // Small ones share their memory with others.
      const bytes = chunk.buffer.byteLength > Buffer.poolSize ? chunk : new Uint8Array(chunk)
      post({ kind: 'chunk', id, chunk: bytes, notes: notes() }, [bytes.buffer as ArrayBuffer])
      one.wanted -= 1
      while (one.wanted <= 0 && !one.ending.signal.aborted) {
        await new Promise<void>((wake) => {
          one.wake = wake
        })
      }
    }
    post({ kind: 'done', id, notes: notes() })
  } catch (error) {
    if (isServiceError(error)) {
      const { code, message, details } = error
      post({ kind: 'failed', id, refusal: { code, message, ...(details && { details }) } })
    } else post({ kind: 'failed', id, error })
  } finally {
    underWay.delete(id)
  }
}

async function close(): Promise<void> {
  for (const { ending, wake } of underWay.values()) {
    ending.abort()
    wake()
  }
  await ahead?.close()
  reader.close()
  pages.close()
  port?.close()
}

port.on('message', (ask: ReplayAsk) => {
  if (ask.kind === 'open') {
    void run(ask)
    return
  }
  if (ask.kind === 'close') {
    void close()
    return
  }
  const one = underWay.get(ask.id)
  if (one === undefined) return
  if (ask.kind === 'more') one.wanted += 1
  else one.ending.abort()
  one.wake()
})
