import type { NodeWorker, Profiler } from 'node:inspector'
import { Session } from 'node:inspector/promises'
import { relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = resolve(import.meta.dirname, '../..')
const IS_PRODUCT = /^(?:services|projections|contracts)\/.*\.ts$/
const IS_OF_TESTS = /\.(?:test|fixture|contract)\.ts$|\/testing\//

/** Calls of each function of the product, by `file name:offset`. */
export type Calls = ReadonlyMap<string, number>

/** Counts calls of this process, its worker threads included. */
export interface CallCounter {
  /** The calls since the last time it was asked. */
  take(): Promise<Calls>
  stop(): void
}

const COUNTING = { callCount: true, detailed: false, allowTriggeredUpdates: false }

/** Begins before the service, so that it sees the threads that the service starts. */
export async function countCalls(): Promise<CallCounter> {
  const session = new Session()
  session.connect()
  const threads = new Map<string, Thread>()
  session.on('NodeWorker.attachedToWorker', ({ params }) => {
    const thread = new Thread(session, params.sessionId)
    threads.set(params.sessionId, thread)
    // A thread that ends at once answers nothing, and has then nothing to count.
    void thread.post('Profiler.enable').then(() => thread.post('Profiler.startPreciseCoverage', COUNTING))
  })
  session.on('NodeWorker.detachedFromWorker', ({ params }) => threads.delete(params.sessionId))
  session.on('NodeWorker.receivedMessageFromWorker', ({ params }) =>
    threads.get(params.sessionId)?.take(params),
  )
  await session.post('NodeWorker.enable', { waitForDebuggerOnStart: false })
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', COUNTING)
  return {
    async take() {
      const here = session.post('Profiler.takePreciseCoverage')
      const there = [...threads.values()].map((thread) => thread.post('Profiler.takePreciseCoverage'))
      const taken = (await Promise.all([here, ...there])) as Profiler.TakePreciseCoverageReturnType[]
      return callsOf(taken.flatMap(({ result }) => result))
    },
    stop: () => session.disconnect(),
  }
}

/** The inspector of a worker thread, over that of this one. */
class Thread {
  readonly #session: Session
  readonly #sessionId: string
  readonly #waiting = new Map<number, (result: unknown) => void>()
  #newest = 0

  constructor(session: Session, sessionId: string) {
    this.#session = session
    this.#sessionId = sessionId
  }

  post(method: string, params: object = {}): Promise<unknown> {
    const id = ++this.#newest
    const answered = new Promise((answer) => this.#waiting.set(id, answer))
    const message = JSON.stringify({ id, method, params })
    return this.#session
      .post('NodeWorker.sendMessageToWorker', { sessionId: this.#sessionId, message })
      .then(() => answered)
  }

  take({ message }: NodeWorker.ReceivedMessageFromWorkerEventDataType): void {
    const { id, result } = JSON.parse(message) as { readonly id?: number; readonly result?: unknown }
    if (id === undefined) return
    this.#waiting.get(id)?.(result)
    this.#waiting.delete(id)
  }
}

function callsOf(scripts: readonly Profiler.ScriptCoverage[]): Calls {
  const calls = new Map<string, number>()
  for (const { url, functions } of scripts) {
    if (!url.startsWith('file:')) continue
    const file = relative(ROOT, fileURLToPath(url))
    if (!IS_PRODUCT.test(file) || IS_OF_TESTS.test(file)) continue
    for (const { functionName, ranges } of functions) {
      const [whole] = ranges
      // The function that begins the file is its loading.
      if (whole === undefined || whole.count === 0 || (whole.startOffset === 0 && functionName === ''))
        continue
      const name = `${file} ${functionName}:${whole.startOffset}`
      calls.set(name, (calls.get(name) ?? 0) + whole.count)
    }
  }
  return calls
}

export const fileOf = (name: string): string => name.slice(0, name.indexOf(' '))

export const functionOf = (name: string): string => name.slice(name.indexOf(' ') + 1).replace(/:\d+$/, '')
