import { assert } from '../../../contracts/assert.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import type { NewEvent } from '../../../contracts/event.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { EncodedAppend } from '../encode-append.ts'
import type { AppendResult } from '../event-store.ts'
import type { AppendOutcome } from './commit-batch.ts'
import type { Writer } from './writer.ts'

/** An append, and its events as they were given, of which it holds the texts. */
interface Given {
  readonly append: EncodedAppend
  readonly events: readonly NewEvent[]
}

/** So many are not kept waiting for others of their turn: the writer begins while requests are still being read. */
const ENOUGH = 16

interface Waiting extends PromiseWithResolvers<AppendResult>, Given {}

/** The appends of a commit that is durable, and what became of each. */
export interface Committed {
  readonly batch: readonly Given[]
  readonly outcomes: readonly AppendOutcome[]
}

/** Followers of the log. */
interface Readers {
  /** Takes what a commit appended, in the order of the log, before its callers go on. */
  keep(committed: Committed): void
  wake(): void
}

/**
 * Group commit: appends that arrive while a batch is being committed wait together and share the next
 * commit, so one wait for the disk serves many callers. Nobody is answered before the commit.
 */
export class AppendQueue {
  readonly #writer: Writer
  readonly #now: () => number
  readonly #readers: Readers
  #waiting: Waiting[] = []
  #inFlight = 0
  #flushing: Promise<void> | undefined
  #enough = (): void => undefined

  constructor(writer: Writer, now: () => number, readers: Readers) {
    this.#writer = writer
    this.#now = now
    this.#readers = readers
  }

  get length(): number {
    return this.#waiting.length + this.#inFlight
  }

  push(append: EncodedAppend, events: readonly NewEvent[]): Promise<AppendResult> {
    const { length } = this.#waiting
    if (length >= LIMITS.appendQueue)
      throw new ServiceError('store_unavailable', { message: `${length} appends are waiting already` })
    const entry = { append, events, ...Promise.withResolvers<AppendResult>() }
    this.#waiting.push(entry)
    this.#flushing ??= this.#flush()
    if (this.#waiting.length === ENOUGH) this.#enough()
    return entry.promise
  }

  /** Resolves when everything pushed so far has its answer. */
  async drain(): Promise<void> {
    await this.#flushing
  }

  async #flush(): Promise<void> {
    await this.#aTurn()
    for (let commit = this.#commitNext(); commit !== undefined; ) {
      const answer = await commit
      let next = this.#commitNext()
      this.#readers.keep(answer())
      if (next === undefined) {
        await this.#aTurn()
        next = this.#commitNext()
      }
      // Readers take the thread for long, and do so while the writer is at work.
      this.#readers.wake()
      commit = next
    }
    this.#flushing = undefined
  }

  /** Later in this turn of the event loop, so that callers that are woken together are committed together, unless many are. */
  #aTurn(): Promise<void> {
    return new Promise((resolve) => {
      this.#enough = resolve
      setImmediate(resolve)
    })
  }

  /** Hands over to the writer what waits, if anything does. Resolves to the function that answers its callers. */
  #commitNext(): Promise<() => Committed> | undefined {
    const batch = takeBatch(this.#waiting)
    if (batch.length === 0) return undefined
    this.#waiting = this.#waiting.slice(batch.length)
    this.#inFlight += batch.length
    return this.#commit(batch)
  }

  async #commit(batch: readonly Waiting[]): Promise<() => Committed> {
    try {
      assert(batch.length <= LIMITS.commitAppends, 'a commit has no more appends than it may', batch.length)
      const at = new Date(this.#now()).toISOString()
      const outcomes = await this.#writer.commit(
        batch.map(({ append }) => append),
        at,
      )
      return () => {
        for (const [index, entry] of batch.entries()) settle(entry, outcomes[index])
        return { batch, outcomes }
      }
    } catch (error) {
      return () => {
        for (const entry of batch) entry.reject(error)
        return { batch, outcomes: [] }
      }
    } finally {
      this.#inFlight -= batch.length
    }
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
    const { revision, position, at } = outcome
    entry.resolve({ revision, position: String(position), replayed: at === undefined })
  }
}
