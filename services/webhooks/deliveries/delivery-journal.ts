import type { DeliveryCursor } from '../../../contracts/delivery-events.ts'
import { isServiceError, ServiceError } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { CONFLICTS } from '../../log/append-until-known.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import { type Deliveries, sentThrough, withReplayEnded } from './delivery-state.ts'
import {
  type AttemptsToRecord,
  type Plan,
  type PlanContext,
  planAdvance,
  planAttempts,
  planMove,
  planSnapshot,
} from './plan-flush.ts'
import type { Deliverable } from './read-deliveries.ts'

/** The delivery log of one subscription in the hand of the process that holds it. */
export interface DeliveryJournal {
  /** As the log has it; what waits to be appended is not in it yet. */
  readonly state: Deliveries
  /** True once another process has taken over: nothing can be recorded here any more. */
  readonly isLost: boolean
  /**
   * Records attempts. What comes while an append is under way shares the next one; while the log does not answer
   * it is repeated until it does, so a slow log slows the sending down instead of losing what came of it.
   *
   * @returns the state, once it is durable
   * @throws ServiceError `lease_lost` where another process has taken over: the attempt was made, and the new
   * holder makes it again, with the same id and body; `internal_error`, `event_invalid`, `append_too_large`;
   * those of the store once this process stops.
   */
  record(...attempts: readonly AttemptsToRecord[]): Promise<Deliveries>
  /**
   * Moves the cursor on through a stretch of the log that had nothing for the subscription, so that it need not
   * be looked through again. Without effect while something that was numbered before is not attempted.
   *
   * @param cursor as the matcher has it
   */
  advance(cursor: DeliveryCursor): Promise<Deliveries>
  /**
   * Moves the cursor where the newest resumption of the subscription says, unless that was done before.
   *
   * @param underWay numbers of deliveries that are being sent, and none is begun until this resolves
   */
  move(subscription: Pick<Deliverable, 'moved'>, underWay?: Iterable<number>): Promise<Deliveries>
  /** Writes down that a replay is through, of which nothing is left to be sent. */
  endReplay(replayId: string, through: number): Promise<Deliveries>
  /** Begins to count failures anew, as of an endpoint that its owner resumed. */
  forgiveFailures(): Promise<Deliveries>
}

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

/** Attempts behind a snapshot after which the next is written; more where it is large. */
const SNAPSHOT_ATTEMPTS = 256
const SNAPSHOT_PER_OPEN = 4
/** An attempt without its detail; and room that is left in an append for the rest of its events. */
const ATTEMPT_BYTES = 1_000
const FLUSH_BYTES = LIMITS.appendBytes / 2

export function createDeliveryJournal(options: JournalOptions): DeliveryJournal {
  const { subscriptionId, append, now } = options
  const queue: Waiting[] = []
  let { state } = options
  /** The fault that ended it: nothing is recorded any more. */
  let broken: unknown
  let isDraining = false

  /** Decides on what the log has, and appends; where that has moved on under our own token, decides anew. */
  async function commit(decide: (from: Deliveries) => Plan | undefined): Promise<void> {
    for (let races = 0; races < CONFLICTS.most; races++) {
      const plan = decide(state)
      if (plan === undefined || plan.events.length === 0) return
      const moved = await append(plan, state.revision)
      state = moved ?? plan.after
      if (moved === undefined) return
    }
    throw new ServiceError('store_unavailable', {
      message: `what happened to subscription ${subscriptionId} could not be recorded: its log moved on ${CONFLICTS.most} times meanwhile`,
    })
  }

  async function flush(batch: readonly Waiting[]): Promise<void> {
    const [first] = batch
    if (first === undefined) return
    const records = batch.flatMap(({ attempts }) => attempts ?? [])
    await commit(first.attempts === undefined ? first.plan : (from) => planAttempts(from, records, options))
    for (const { resolve } of batch) resolve(state)
  }

  /** Flushes; where one of several cannot be recorded, the others are not held back by it. */
  async function flushEach(batch: readonly Waiting[]): Promise<void> {
    try {
      await flush(batch)
    } catch (error) {
      if (isServiceError(error, 'lease_lost')) broken = error
      const isOneOfMany = batch.length > 1 && isServiceError(error) && OWN_FAULTS.has(error.code)
      if (!isOneOfMany) for (const { reject } of batch) reject(error)
      else for (const waiting of batch) await flushEach([waiting])
    }
  }

  /** Writes the state down whole once much was recorded since that was done last. */
  async function snapshotWhereDue(): Promise<void> {
    if (state.sinceSnapshot < SNAPSHOT_ATTEMPTS + SNAPSHOT_PER_OPEN * state.open.size) return
    try {
      await commit((from) => planSnapshot(from, from, options))
    } catch (error) {
      // Nobody waits for it: the next call of `record` rejects with it. Earlier records are durable.
      broken = error
    }
  }

  async function drain(): Promise<void> {
    isDraining = true
    while (queue.length > 0) {
      const batch = takeBatch(queue)
      if (broken === undefined) await flushEach(batch)
      else for (const { reject } of batch) reject(broken)
      if (broken === undefined) await snapshotWhereDue()
    }
    isDraining = false
  }

  function push(attempts: Waiting['attempts'], plan: Waiting['plan']): Promise<Deliveries> {
    if (broken !== undefined) return Promise.reject(broken)
    return new Promise((resolve, reject) => {
      const made = (attempts ?? []).flatMap((one) => one.attempts)
      queue.push({ attempts, count: made.length, bytes: bytesOf(made), plan, resolve, reject })
      if (!isDraining) void drain()
    })
  }

  return {
    get state() {
      return state
    },
    get isLost() {
      return isServiceError(broken, 'lease_lost')
    },
    record: (...attempts) => push(attempts, () => undefined),
    advance: (cursor) => push(undefined, (from) => planAdvance(from, cursor, options)),
    move: ({ moved }, underWay = []) => {
      const move = { moved, underWay: [...underWay] }
      return push(undefined, (from) => planMove(from, move, now(), options))
    },
    endReplay: (replayId, through) =>
      push(undefined, (from) =>
        sentThrough(from, replayId) >= through
          ? undefined
          : planSnapshot(from, withReplayEnded(from, replayId, through), options),
      ),
    forgiveFailures: () =>
      push(undefined, (from) =>
        from.failuresInARow === 0
          ? undefined
          : planSnapshot(from, { ...from, failuresInARow: 0, firstFailureAt: null }, options),
      ),
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
  return queue.splice(0, taken)
}

/** Bytes of attempts as JSON, at most. */
const bytesOf = (attempts: AttemptsToRecord['attempts']): number =>
  attempts.reduce(
    (sum, { detail }) =>
      sum + ATTEMPT_BYTES + (detail === null ? 0 : Buffer.byteLength(JSON.stringify(detail))),
    0,
  )
