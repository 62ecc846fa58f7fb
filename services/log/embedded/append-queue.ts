import { assert } from '../../../contracts/errors/assert.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import type { NewEvent } from '../../../contracts/infra/event.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { AppendResult } from '../event-store.ts'
import type { EncodedAppend } from '../validate-append.ts'
import type { AppendOutcome } from './commit-batch.ts'
import type { Writer } from './writer.ts'

/** So many events are not kept waiting for others: a commit of them begins while requests are still being read. */
const ENOUGH = 24
/** While one commit waits for the disk, or its outcome for this thread, the writer has the next one. */
const COMMITS_AT_ONCE = 2

/** An append, and its events as they were passed in, of which it holds the texts. */
interface Waiting extends PromiseWithResolvers<AppendResult> {
  readonly append: EncodedAppend
  readonly events: readonly NewEvent[]
}

/** The appends of a commit that is durable, and what became of each. */
export interface Committed {
  readonly batch: readonly Pick<Waiting, 'append' | 'events'>[]
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
  #waitingEvents = 0
  readonly #underWay = new Set<readonly Waiting[]>()

  constructor(writer: Writer, now: () => number, readers: Readers) {
    this.#writer = writer
    this.#now = now
    this.#readers = readers
  }

  get length(): number {
    return this.#pending().length
  }

  /** @throws ServiceError `store_unavailable` if too many wait already */
  push(append: EncodedAppend, events: readonly NewEvent[]): Promise<AppendResult> {
    const { length } = this.#waiting
    if (length >= LIMITS.appendQueue)
      throw new ServiceError('store_unavailable', { message: `${length} appends are waiting already` })
    const entry = { append, events, ...Promise.withResolvers<AppendResult>() }
    this.#waiting.push(entry)
    this.#waitingEvents += events.length
    if (this.#waitingEvents >= ENOUGH) this.#begin()
    // Later in this turn of the event loop: callers that are woken together are committed together, unless many are.
    else if (length === 0) setImmediate(() => this.#begin())
    return entry.promise
  }

  /** Resolves when everything pushed so far has its answer. */
  async drain(): Promise<void> {
    await Promise.allSettled(this.#pending().map(({ promise }) => promise))
  }

  #pending(): Waiting[] {
    return [...this.#underWay, this.#waiting].flat()
  }

  /** Hands over to the writer what waits, if anything does and it is free, or enough for a second commit. */
  #begin(): void {
    if (this.#underWay.size >= (this.#waitingEvents >= ENOUGH ? COMMITS_AT_ONCE : 1)) return
    const batch = firstBatch(this.#waiting)
    if (batch.length === 0) return
    this.#waiting = this.#waiting.slice(batch.length)
    this.#waitingEvents -= batch.reduce((sum, { events }) => sum + events.length, 0)
    this.#underWay.add(batch)
    void this.#commit(batch)
  }

  async #commit(batch: readonly Waiting[]): Promise<void> {
    let outcomes: readonly AppendOutcome[] = []
    let failure: unknown
    try {
      assert(batch.length <= LIMITS.commitAppends, 'a commit has no more appends than it may', batch.length)
      const at = new Date(this.#now()).toISOString()
      const appends = batch.map(({ append }) => append)
      outcomes = await this.#writer.commit(appends, at)
    } catch (error) {
      failure = error
    }
    this.#underWay.delete(batch)
    this.#begin()
    for (const [index, entry] of batch.entries()) {
      if (failure === undefined) settle(entry, outcomes[index])
      else entry.reject(failure)
    }
    this.#readers.keep({ batch, outcomes })
    setImmediate(() => {
      // Readers take the thread for long, and do so while the writer is at work.
      this.#begin()
      this.#readers.wake()
    })
  }
}

function firstBatch(waiting: readonly Waiting[]): Waiting[] {
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
