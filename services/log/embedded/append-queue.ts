import { assert } from '../../../contracts/assert.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { EncodedAppend } from '../encode-append.ts'
import type { AppendResult } from '../event-store.ts'
import type { AppendOutcome } from './commit-batch.ts'
import type { Writer } from './writer.ts'

interface Waiting extends PromiseWithResolvers<AppendResult> {
  readonly append: EncodedAppend
}

/**
 * Group commit: appends that arrive while a batch is being committed wait together and share the next
 * commit, so one wait for the disk serves many callers. Nobody is answered before the commit.
 */
export class AppendQueue {
  readonly #writer: Writer
  readonly #now: () => number
  readonly #onCommitted: () => void
  #waiting: Waiting[] = []
  #inFlight = 0
  #flushing: Promise<void> | undefined

  constructor(writer: Writer, now: () => number, onCommitted: () => void) {
    this.#writer = writer
    this.#now = now
    this.#onCommitted = onCommitted
  }

  get length(): number {
    return this.#waiting.length + this.#inFlight
  }

  async push(append: EncodedAppend): Promise<AppendResult> {
    const { length } = this.#waiting
    if (length >= LIMITS.appendQueue)
      throw new ServiceError('store_unavailable', { message: `${length} appends are waiting already` })
    const entry = { append, ...Promise.withResolvers<AppendResult>() }
    this.#waiting.push(entry)
    this.#flushing ??= this.#flush()
    return entry.promise
  }

  /** Resolves when everything pushed so far has its answer. */
  async drain(): Promise<void> {
    await this.#flushing
  }

  async #flush(): Promise<void> {
    // Later in this turn of the event loop, so that callers woken together are committed together.
    await new Promise((resolve) => setImmediate(resolve))
    while (this.#waiting.length > 0) {
      const batch = takeBatch(this.#waiting)
      this.#waiting = this.#waiting.slice(batch.length)
      this.#inFlight = batch.length
      try {
        assert(batch.length <= LIMITS.commitAppends, 'a commit has no more appends than it may', batch.length)
        const at = new Date(this.#now()).toISOString()
        const outcomes = await this.#writer.commit(
          batch.map(({ append }) => append),
          at,
        )
        this.#onCommitted()
        for (const [index, entry] of batch.entries()) settle(entry, outcomes[index])
      } catch (error) {
        for (const entry of batch) entry.reject(error)
      }
      this.#inFlight = 0
    }
    this.#flushing = undefined
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
