import { assert } from '../../../contracts/assert.ts'
import type { DeliveryCursor, OpenDelivery } from '../../../contracts/delivery-events.ts'
import { isServiceError, ServiceError } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { CONFLICTS } from '../../log/append-with-retry.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import type { Deliveries } from './delivery-state.ts'
import {
  type AttemptsToRecord,
  type Plan,
  type PlanContext,
  planAdvance,
  planAttempts,
  planMove,
  planRecovery,
  planSnapshot,
} from './plan-flush.ts'
import type { Deliverable } from './read-deliveries.ts'

export interface JournalOptions extends PlanContext, Pick<Clock, 'now'> {
  /** As this process left it when it took over. */
  readonly state: Deliveries
  /**
   * Appends at the revision of a state, repeating it until it is durable.
   *
   * @returns undefined once it is; otherwise what the log says, where something else of the same token has the place
   * @throws ServiceError `lease_lost` where another process has taken over
   */
  readonly append: (plan: Plan, expected: Deliveries['revision']) => Promise<Deliveries | undefined>
}

interface Waiting {
  /** Undefined for what has an append of its own. */
  readonly attempts: readonly AttemptsToRecord[] | undefined
  readonly count: number
  readonly bytes: number
  /** The events to append; undefined where there are none. */
  readonly plan: (state: Deliveries) => Plan | undefined
  readonly resolve: (state: Deliveries) => void
  readonly reject: (error: unknown) => void
}

/** Attempts after a snapshot before the next is written; more where it is large. */
const SNAPSHOT_ATTEMPTS = 256
const SNAPSHOT_PER_OPEN = 4
/** An attempt without its detail; and room that is left in an append for the rest of its events. */
const ATTEMPT_BYTES = 1_000
const FLUSH_BYTES = LIMITS.appendBytes / 2

/** The delivery log of one subscription, owned by this process. */
export class DeliveryJournal {
  readonly #options: JournalOptions
  readonly #queue: Waiting[] = []
  #state: Deliveries
  /** The fault that ended it: nothing is recorded any more. */
  #broken: unknown
  #isDraining = false

  constructor(options: JournalOptions) {
    const { state, token } = options
    assert(state.token === token, 'a journal owns the log that it writes', state.token)
    this.#options = options
    this.#state = options.state
  }

  /** As the log has it; records that wait to be appended are not in it yet. */
  get state(): Deliveries {
    return this.#state
  }

  /** True once another process has taken over: nothing can be recorded here any more. */
  get isLost(): boolean {
    return isServiceError(this.#broken, 'lease_lost')
  }

  /**
   * Records attempts. Calls during an append share the next one; while the log does not answer, the append is repeated,
   * so a slow log slows the sending down and loses no result.
   *
   * @returns the state, once it is durable
   * @throws ServiceError `lease_lost` where another process has taken over: the attempt was made, and the new
   * holder makes it again, with the same id and body; `internal_error`, `event_invalid`, `append_too_large`;
   * those of the store once this process stops.
   */
  record(...attempts: readonly AttemptsToRecord[]): Promise<Deliveries> {
    return this.#push(attempts, () => undefined)
  }

  /**
   * Moves the cursor on through a stretch of the log that had nothing for the subscription, so that it need not
   * be looked through again. Without effect while an earlier number is not attempted.
   *
   * @param cursor as the matcher has it
   */
  advance(cursor: DeliveryCursor): Promise<Deliveries> {
    return this.#push(undefined, (from) => planAdvance(from, cursor, this.#options))
  }

  /**
   * Moves the cursor where the newest resumption of the subscription says, unless that was done before.
   *
   * @param underWay numbers of deliveries that are being sent, and none is begun until this resolves
   */
  move({ moved }: Pick<Deliverable, 'moved'>, underWay: Iterable<number> = []): Promise<Deliveries> {
    const move = { moved, underWay: [...underWay] }
    return this.#push(undefined, (from) => planMove(from, move, this.#options.now(), this.#options))
  }

  /**
   * Lets what was given up wait for another try, unless that was done before.
   *
   * @param revision of the owner's request
   */
  recover(exhausted: readonly OpenDelivery[], revision: number): Promise<Deliveries> {
    return this.#push(undefined, (from) =>
      planRecovery(from, { exhausted, revision }, this.#options.now(), this.#options),
    )
  }

  /** Takes the endpoint for a working one, as its owner does: what waits for another try is due now. */
  forgiveFailures(): Promise<Deliveries> {
    return this.#push(undefined, (from) => {
      const now = this.#options.now()
      const open = new Map([...from.open].map(([sequence, one]) => [sequence, { ...one, nextAt: now }]))
      const forgiven = { ...from, open, failuresInARow: 0, firstFailureAt: null, notBefore: null }
      return planSnapshot(from, forgiven, this.#options)
    })
  }

  /** Decides over the state, and appends; where the log has moved on under our own token, decides anew. */
  async #commit(decide: (from: Deliveries) => Plan | undefined): Promise<void> {
    for (let races = 0; races < CONFLICTS.most; races++) {
      const plan = decide(this.#state)
      if (plan === undefined || plan.events.length === 0) return
      const { after, events } = plan
      const before = this.#state.revision === 'no-stream' ? -1 : this.#state.revision
      assert(
        after.revision === before + events.length,
        'an append goes on where the log ends',
        after.revision,
      )
      assert(
        after.cursor.sequence >= this.#state.cursor.sequence,
        'a cursor never goes back',
        after.cursor.sequence,
      )
      assert(after.token === this.#state.token, 'a holder writes under its own token', after.token)
      const moved = await this.#options.append(plan, this.#state.revision)
      this.#state = moved ?? plan.after
      if (moved === undefined) return
    }
    throw new ServiceError('store_unavailable', {
      message: `what happened to subscription ${this.#options.subscriptionId} could not be recorded: its log moved on ${CONFLICTS.most} times meanwhile`,
    })
  }

  async #flush(batch: readonly Waiting[]): Promise<void> {
    const [first] = batch
    if (first === undefined) return
    const records = batch.flatMap(({ attempts }) => attempts ?? [])
    await this.#commit(
      first.attempts === undefined ? first.plan : (from) => planAttempts(from, records, this.#options),
    )
    for (const { resolve } of batch) resolve(this.#state)
  }

  /** Flushes; where one of several cannot be recorded, the others are not held back by it. */
  async #flushEach(batch: readonly Waiting[]): Promise<void> {
    try {
      await this.#flush(batch)
    } catch (error) {
      if (isServiceError(error, 'lease_lost')) this.#broken = error
      const isOneOfMany = batch.length > 1 && isServiceError(error) && OWN_FAULTS.has(error.code)
      if (!isOneOfMany) for (const { reject } of batch) reject(error)
      else for (const waiting of batch) await this.#flushEach([waiting])
    }
  }

  /** Writes the state down whole once much was recorded since that was done last. */
  async #snapshotWhereDue(): Promise<void> {
    if (this.#state.sinceSnapshot < SNAPSHOT_ATTEMPTS + SNAPSHOT_PER_OPEN * this.#state.open.size) return
    try {
      await this.#commit((from) => planSnapshot(from, from, this.#options))
    } catch (error) {
      // Nobody waits for it: the next call of `record` rejects with it. Earlier records are durable.
      this.#broken = error
    }
  }

  async #drain(): Promise<void> {
    this.#isDraining = true
    while (this.#queue.length > 0) {
      const batch = takeBatch(this.#queue)
      if (this.#broken === undefined) await this.#flushEach(batch)
      else for (const { reject } of batch) reject(this.#broken)
      if (this.#broken === undefined) await this.#snapshotWhereDue()
    }
    this.#isDraining = false
  }

  #push(attempts: Waiting['attempts'], plan: Waiting['plan']): Promise<Deliveries> {
    if (this.#broken !== undefined) return Promise.reject(this.#broken)
    return new Promise((resolve, reject) => {
      const made = (attempts ?? []).flatMap((one) => one.attempts)
      this.#queue.push({ attempts, count: made.length, bytes: bytesOf(made), plan, resolve, reject })
      if (!this.#isDraining) void this.#drain()
    })
  }
}

/** Faults of one record, which others that share its append have no part in. */
const OWN_FAULTS: ReadonlySet<string> = new Set(['event_invalid', 'append_too_large', 'internal_error'])

/** The oldest that wait, as many as share an append. */
function takeBatch(queue: Waiting[]): Waiting[] {
  let [taken, count, bytes] = [0, 0, 0]
  for (const waiting of queue) {
    count += waiting.count
    bytes += waiting.bytes
    const isAlone = waiting.attempts === undefined
    if (taken > 0 && (isAlone || bytes > FLUSH_BYTES || count > LIMITS.webhookAttemptsPerEvent)) break
    taken += 1
    if (isAlone) break
  }
  assert(taken > 0, 'a flush takes something')
  return queue.splice(0, taken)
}

/** Bytes of attempts as JSON, at most. */
const bytesOf = (attempts: AttemptsToRecord['attempts']): number =>
  attempts.reduce(
    (sum, { detail }) =>
      sum + ATTEMPT_BYTES + (detail === null ? 0 : Buffer.byteLength(JSON.stringify(detail))),
    0,
  )
