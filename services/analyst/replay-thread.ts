import { setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { assert } from '../../contracts/errors/assert.ts'
import { isServiceError } from '../../contracts/errors/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { LogReader } from '../log/embedded/log-reader.ts'
import { createTurns } from '../runtime/admission/turns.ts'
import { replaysOnThisThread } from './replay-source.ts'
import type { ReplayAsk, ReplayMessage } from './replay-worker.ts'

/** Chunks that may wait for their reader: one is made while another is written. */
const CHUNKS_AHEAD = 2

/**
 * Linux gives each thread a priority of its own, and one of replays yields to those that answer calls and write.
 * Elsewhere it would be that of the whole process.
 */
const LOWER_PRIORITY = 10

/** The thread of replays: reads the log over a connection of its own, so that nothing it does holds others up. */
const port = parentPort
if (port === null) throw new Error('replay-thread.ts runs as a worker thread')

if (process.platform === 'linux') setPriority(LOWER_PRIORITY)
const { file } = workerData as { readonly file: string }
const log = new LogReader(file)
const replay = replaysOnThisThread(
  log,
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
)

interface UnderWay {
  readonly ending: AbortController
  /** Chunks that may be made. */
  wanted: number
  wake: () => void
}

const underWay = new Map<number, UnderWay>()
const post = (message: ReplayMessage, transfer: ArrayBuffer[] = []): void =>
  port.postMessage(message, transfer)

async function run({ id, request }: Extract<ReplayAsk, { kind: 'open' }>): Promise<void> {
  const one: UnderWay = { ending: new AbortController(), wanted: CHUNKS_AHEAD, wake: () => undefined }
  underWay.set(id, one)
  try {
    const { chunks, notes } = replay({ ...request, signal: one.ending.signal })
    for await (const chunk of chunks) {
      if (one.ending.signal.aborted) break
      assert(typeof chunk !== 'string', 'rows are written as bytes')
      // Small ones share their memory with others.
      const bytes = chunk.byteLength === chunk.buffer.byteLength ? chunk : new Uint8Array(chunk)
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

function close(): void {
  for (const { ending, wake } of underWay.values()) {
    ending.abort()
    wake()
  }
  log.close()
  port?.close()
}

port.on('message', (ask: ReplayAsk) => {
  if (ask.kind === 'open') {
    void run(ask)
    return
  }
  if (ask.kind === 'close') return close()
  const one = underWay.get(ask.id)
  if (one === undefined) return
  if (ask.kind === 'more') one.wanted += 1
  else one.ending.abort()
  one.wake()
})
