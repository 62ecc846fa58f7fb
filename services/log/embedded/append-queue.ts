import { ServiceError } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { EncodedAppend } from '../encode-append.ts'
import type { AppendResult } from '../event-store.ts'
import type { AppendOutcome } from './commit-batch.ts'
import type { Writer } from './writer.ts'

interface Waiting {
  readonly append: EncodedAppend
  resolve(result: AppendResult): void
  reject(error: unknown): void
}

export interface AppendQueue {
  push(append: EncodedAppend): Promise<AppendResult>
  readonly length: number
  /** Resolves when everything pushed so far has its answer. */
  drain(): Promise<void>
}

/**
 * Group commit: appends that arrive while a batch is being committed wait together and share the next
 * commit, so one wait for the disk serves many callers. Nobody is answered before the commit.
 */
export function createAppendQueue(options: {
  writer: Writer
  now: () => number
  onCommitted: () => void
  maxWaiting?: number
}): AppendQueue {
  const { writer, now, onCommitted, maxWaiting = LIMITS.appendQueue } = options
  let waiting: Waiting[] = []
  let inFlight = 0
  let isFlushing = false
  let drained: PromiseWithResolvers<void> | undefined

  async function flush(): Promise<void> {
    while (waiting.length > 0) {
      const batch = takeBatch(waiting)
      waiting = waiting.slice(batch.length)
      inFlight = batch.length
      try {
        const at = new Date(now()).toISOString()
        const outcomes = await writer.commit(
          batch.map((entry) => entry.append),
          at,
        )
        onCommitted()
        for (const [index, entry] of batch.entries()) settle(entry, outcomes[index])
      } catch (error) {
        for (const entry of batch) entry.reject(error)
      }
      inFlight = 0
    }
    isFlushing = false
    drained?.resolve()
    drained = undefined
  }

  return {
    push(append) {
      if (waiting.length >= maxWaiting) {
        return Promise.reject(
          new ServiceError('store_unavailable', { message: `${waiting.length} appends are waiting already` }),
        )
      }
      return new Promise((resolve, reject) => {
        waiting.push({ append, resolve, reject })
        if (isFlushing) return
        isFlushing = true
        // Later in this turn of the event loop, so that callers woken together are committed together.
        setImmediate(() => void flush())
      })
    },
    get length() {
      return waiting.length + inFlight
    },
    drain() {
      if (!isFlushing) return Promise.resolve()
      drained ??= Promise.withResolvers<void>()
      return drained.promise
    },
  }
}

function takeBatch(waiting: readonly Waiting[]): Waiting[] {
  let bytes = 0
  let count = 0
  for (const { append } of waiting) {
    bytes += append.bytes
    if (count > 0 && (count >= LIMITS.commitAppends || bytes > LIMITS.commitBytes)) break
    count += 1
  }
  return waiting.slice(0, count)
}

function settle(entry: Waiting, outcome: AppendOutcome | undefined): void {
  if (outcome === undefined) {
    entry.reject(new ServiceError('append_unknown', { message: 'the writer gave no outcome for an append' }))
  } else if ('code' in outcome) {
    entry.reject(new ServiceError(outcome.code, outcome))
  } else {
    entry.resolve({ ...outcome, position: String(outcome.position) })
  }
}
