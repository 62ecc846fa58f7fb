import { setImmediate } from 'node:timers/promises'
import { assert } from '../../../contracts/errors/assert.ts'
import { isServiceError, ServiceError } from '../../../contracts/errors/errors.ts'
import {
  CursorMoved,
  CursorTaken,
  DeliveriesAttempted,
  type DeliveryAttempt,
  type DeliveryCursor,
  type OpenDelivery,
} from '../../../contracts/events/delivery-events.ts'
import { builtEvent, newEvent } from '../../../contracts/events/event-definition.ts'
import { deliveryStream } from '../../../contracts/events/streams.ts'
import type { NewEvent } from '../../../contracts/infra/event.ts'
import { comparePositions } from '../../../contracts/infra/position.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { appendWithRetry, CONFLICTS, type LogUse, RETRY_IN_BACKGROUND } from '../../log/append-with-retry.ts'
import {
  cursorAfter,
  type Deliveries,
  type DeliveryFact,
  evolveDeliveries,
  toSnapshot,
  withMove,
  withRecovered,
} from './delivery-state.ts'
import { placeIn } from './prepare-delivery.ts'
import { type Deliverable, readDeliveries } from './read-deliveries.ts'

/** The delivery logs of all subscriptions. */
export interface DeliveryLogs {
  /**
   * The deliveries of a subscription as anybody may see them: its newest state, with the cursor where its owner
   * moved it to.
   */
  load(subscription: Deliverable): Promise<Deliveries>
  /**
   * Takes a subscription over. From then on the log refuses each append of a former holder, because it
   * names a revision that has passed.
   *
   * @param token of the lease under which it is taken; rises whenever the work changes hands
   * @param holder names this process
   * @throws ServiceError `lease_lost` where somebody took it under a higher token; those of the store.
   */
  take(subscription: Deliverable, token: number, holder: string): Promise<DeliveryLog>
}

/**
 * @example
 * const logs = openDeliveryLogs({ store, newId, now: Date.now, sleep, signal })
 * const log = await logs.take(subscription, lease.token, holder)
 * await log.record(attempt) // durable
 */
export const openDeliveryLogs = (options: LogUse): DeliveryLogs => ({
  load: async (subscription) => withMove(await readDeliveries(options.store, subscription), subscription),
  async take(subscription, token, holder) {
    const log = new DeliveryLog(options, subscription, token)
    await log.takeOver(holder)
    await log.move(subscription)
    return log
  },
})

/** A fact to append; its data names subscription and token itself. */
type NewFact =
  | {
      readonly type: 'DeliveriesAttempted'
      readonly cursor: DeliveryCursor
      readonly attempts: DeliveryAttempt[]
    }
  | { readonly type: 'CursorMoved' | 'CursorTaken'; readonly to: Deliveries; readonly holder?: string }

/** Events to append at the revision of a state, and the state they lead to. */
interface Plan {
  readonly events: readonly NewEvent[]
  readonly after: Deliveries
}

/** Decides over a state. */
type Decide = (from: Deliveries) => readonly NewFact[]

interface Waiting {
  /** Empty for a change that has an append of its own. */
  readonly attempts: readonly DeliveryAttempt[]
  readonly decide: Decide
  readonly resolve: (state: Deliveries) => void
  readonly reject: (error: unknown) => void
}

/** Attempts after a snapshot before the next is written; more where it is large. */
const SNAPSHOT_ATTEMPTS = 256
const SNAPSHOT_PER_OPEN = 4

/** Faults of one record, which others that share its append have no part in. */
const OWN_FAULTS: ReadonlySet<string> = new Set(['event_invalid', 'payload_too_large', 'internal_error'])

/**
 * The delivery log of one subscription, owned by this process. While the store does not answer, an append is repeated,
 * so a slow store slows the sending down and loses no result. All changes reject with ServiceError `lease_lost` once
 * another process has taken over, and with those of the store once this process stops.
 */
export class DeliveryLog {
  readonly #options: LogUse
  readonly #subscription: Deliverable
  readonly #token: number
  readonly #queue: Waiting[] = []
  #state: Deliveries | undefined
  /** The fault that ended it: nothing is recorded any more. */
  #broken: unknown
  #isWriting = false

  constructor(options: LogUse, subscription: Deliverable, token: number) {
    this.#options = options
    this.#subscription = subscription
    this.#token = token
  }

  /** As the log has it; records that wait to be appended are not in it yet. */
  get state(): Deliveries {
    assert(this.#state !== undefined, 'a delivery log is taken over before it is used')
    return this.#state
  }

  /** True once another process has taken over: nothing can be recorded here any more. */
  get isLost(): boolean {
    return isServiceError(this.#broken, 'lease_lost')
  }

  /** @throws ServiceError `lease_lost` where another process has taken it under a higher token */
  async takeOver(holder: string): Promise<void> {
    this.#state = await this.#newest()
    await this.#commit((to) => [{ type: 'CursorTaken', to, holder }])
  }

  /** Records attempts; calls during an append share the next one. @returns the state, once it is durable */
  record(...attempts: readonly DeliveryAttempt[]): Promise<Deliveries> {
    return this.#push(attempts, () => [])
  }

  /**
   * Moves the cursor on through a part of the log that had nothing for the subscription, so that it need not be read
   * again. Without effect while an earlier number is not attempted.
   */
  advance(cursor: DeliveryCursor): Promise<Deliveries> {
    return this.#change((from) => {
      const isBehind = comparePositions(cursor.after, from.cursor.after) > 0
      return cursor.sequence === from.cursor.sequence && isBehind ? { ...from, cursor } : undefined
    })
  }

  /**
   * Moves the cursor where the newest resumption of the subscription says, unless that was done before. What was to be
   * tried again is recorded as skipped.
   *
   * @param inFlight numbers of deliveries that are being sent, which no other signal is given
   */
  move({ moved }: Pick<Deliverable, 'moved'>, inFlight: Iterable<number> = []): Promise<Deliveries> {
    const given = [...inFlight]
    const at = this.#options.now()
    return this.#push([], (from) => {
      if (withMove(from, { moved }) === from) return []
      const skipped = [...from.open.values()].map((delivery) => skippedAt(delivery, at))
      const facts = attemptFacts(from, skipped)
      const to = withMove(facts.reduce(evolved, from), { moved }, given)
      assert(to.open.size === 0, 'a moved cursor gives up what was open', to.open.size)
      for (const one of given)
        assert(one < to.cursor.sequence, 'a number in flight is given to no other signal', one)
      return [...facts, { type: 'CursorMoved', to }]
    })
  }

  /** Lets deliveries that were given up wait for another try, unless that was done before for the owner's request. */
  recover(exhausted: readonly OpenDelivery[], revision: number): Promise<Deliveries> {
    const nextAt = this.#options.now()
    return this.#change((from) =>
      revision <= (from.recoveredBy ?? -1)
        ? undefined
        : withRecovered(from, exhausted, { recoveredBy: revision, nextAt }),
    )
  }

  /** Takes the endpoint for a working one, as its owner does: what waits for another try is due now. */
  forgiveFailures(): Promise<Deliveries> {
    const nextAt = this.#options.now()
    return this.#change((from) => {
      const open = new Map([...from.open].map(([sequence, one]) => [sequence, { ...one, nextAt }]))
      return { ...from, open, failuresInARow: 0, firstFailureAt: null, notBefore: null }
    })
  }

  #change(decide: (from: Deliveries) => Deliveries | undefined): Promise<Deliveries> {
    return this.#push([], (from) => {
      const to = decide(from)
      return to === undefined ? [] : [{ type: 'CursorMoved', to }]
    })
  }

  #push(attempts: readonly DeliveryAttempt[], decide: Decide): Promise<Deliveries> {
    if (this.#broken !== undefined) return Promise.reject(this.#broken)
    return new Promise((resolve, reject) => {
      this.#queue.push({ attempts, decide, resolve, reject })
      if (!this.#isWriting) void this.#write()
    })
  }

  async #write(): Promise<void> {
    this.#isWriting = true
    while (this.#queue.length > 0) {
      const batch = takeBatch(this.#queue)
      if (this.#broken === undefined) await this.#flush(batch)
      else for (const { reject } of batch) reject(this.#broken)
      if (this.#broken === undefined) await this.#snapshotWhereDue()
    }
    this.#isWriting = false
  }

  /** Flushes; where one of several cannot be recorded, the others are not held back by it. */
  async #flush(batch: readonly Waiting[]): Promise<void> {
    const attempts = batch.flatMap((one) => one.attempts)
    try {
      await this.#commit((from) =>
        attempts.length > 0 ? attemptFacts(from, attempts) : (batch[0]?.decide(from) ?? []),
      )
      for (const { resolve } of batch) resolve(this.state)
    } catch (error) {
      if (isServiceError(error, 'lease_lost')) this.#broken = error
      const isOneOfMany = batch.length > 1 && isServiceError(error) && OWN_FAULTS.has(error.code)
      if (!isOneOfMany) for (const { reject } of batch) reject(error)
      else for (const waiting of batch) await this.#flush([waiting])
    }
  }

  /** Writes the state down whole once much was recorded since that was done last. */
  async #snapshotWhereDue(): Promise<void> {
    const { sinceSnapshot, open } = this.state
    if (sinceSnapshot < SNAPSHOT_ATTEMPTS + SNAPSHOT_PER_OPEN * open.size) return
    try {
      await this.#commit((to) => [{ type: 'CursorMoved', to }])
    } catch (error) {
      // Nobody waits for it: the next call rejects with it. Earlier records are durable.
      this.#broken = error
    }
  }

  /** Decides over the state, and appends; where the log has moved on under our own token, decides anew. */
  async #commit(decide: Decide): Promise<void> {
    for (let races = 0; races < CONFLICTS.most; races++) {
      const before = this.state
      const plan = decide(before).reduce<Plan>((made, fact) => this.#planned(made, fact), {
        events: [],
        after: before,
      })
      if (plan.events.length === 0) return
      assert(plan.after.token === this.#token, 'a holder writes under its own token', plan.after.token)
      assert(
        plan.after.cursor.sequence >= before.cursor.sequence,
        'a cursor never goes back',
        plan.after.cursor.sequence,
      )
      const overtaken = await this.#append(plan, before.revision)
      this.#state = overtaken ?? plan.after
      if (overtaken === undefined) return
      await setImmediate()
    }
    throw new ServiceError('store_unavailable', {
      message: `what happened to subscription ${this.#subscription.subscriptionId} could not be recorded: its log moved on ${CONFLICTS.most} times meanwhile`,
    })
  }

  /** The plan that goes on with one more event. */
  #planned({ events, after }: Plan, fact: NewFact): Plan {
    const { subscriptionId } = this.#subscription
    const made = dataOf(fact, { subscriptionId, token: this.#token })
    const meta = { correlationId: `subscription ${subscriptionId}`, actor: 'dispatcher' }
    const event = eventOf(made, { id: this.#options.newId(), meta })
    const revision = after.revision === 'no-stream' ? 0 : after.revision + 1
    return {
      events: [...events, event],
      after: evolveDeliveries(after, { ...made, revision }),
    }
  }

  /** @returns undefined once it is durable; otherwise what the log says, where something else has the place */
  async #append({ events, after }: Plan, expected: Deliveries['revision']): Promise<Deliveries | undefined> {
    const stream = deliveryStream(this.#subscription.subscriptionId)
    const path = { ...this.#options, policy: RETRY_IN_BACKGROUND }
    const outcome = await appendWithRetry(path, { stream, events, expected })
    if (outcome.kind === 'appended') return undefined
    if (!isOvertaken(outcome.error)) throw outcome.error
    const newest = await this.#newest()
    // Nobody took it: the place is our own, or what has it came from this very holding.
    const from = Number(after.revision) - events.length + 1
    assert(from >= 0, 'an append has a revision', from)
    const reading = { from, limit: events.length }
    const found = await Array.fromAsync(this.#options.store.read(stream, reading))
    const isThere = events.every(({ id }, index) => found[index]?.id === id && found[index].revision >= from)
    return isThere ? undefined : newest
  }

  async #newest(): Promise<Deliveries> {
    const newest = await readDeliveries(this.#options.store, this.#subscription)
    if (newest.token <= this.#token) return newest
    throw new ServiceError('lease_lost', {
      message: `subscription ${this.#subscription.subscriptionId} was taken under token ${newest.token}; this process holds ${this.#token}`,
    })
  }
}

/** An event of a delivery log before it has a place. */
type Made = DeliveryFact extends infer Fact
  ? Fact extends DeliveryFact
    ? Pick<Fact, 'type' | 'data'>
    : never
  : never

function dataOf(fact: NewFact, own: { readonly subscriptionId: string; readonly token: number }): Made {
  if (fact.type === 'DeliveriesAttempted')
    return { type: fact.type, data: { ...own, cursor: fact.cursor, attempts: fact.attempts } }
  const state = toSnapshot(fact.to)
  return fact.type === 'CursorTaken'
    ? { type: fact.type, data: { ...own, holder: fact.holder ?? '', state } }
    : { type: fact.type, data: { ...own, state } }
}

/** Without a detail, all but the status of an attempt is ours; a detail holds words of the receiver, and is checked. */
function eventOf(made: Made, place: Pick<NewEvent, 'id' | 'meta'>): NewEvent {
  if (made.type === 'CursorTaken') return newEvent(CursorTaken, { ...place, data: made.data })
  if (made.type === 'CursorMoved') return newEvent(CursorMoved, { ...place, data: made.data })
  const isOurs = made.data.attempts.every(({ detail }) => detail === null)
  return (isOurs ? builtEvent : newEvent)(DeliveriesAttempted, { ...place, data: made.data })
}

/** The state after a fact, as far as the next one needs it. */
const evolved = (state: Deliveries, fact: NewFact): Deliveries =>
  fact.type === 'DeliveriesAttempted'
    ? evolveDeliveries(state, {
        type: fact.type,
        data: { ...fact, subscriptionId: '', token: state.token },
        revision: 0,
      })
    : fact.to

/**
 * The facts for attempts, few in each.
 *
 * @throws ServiceError `internal_error` where more would be open than may be: who sends must stop before.
 */
function attemptFacts(from: Deliveries, attempts: readonly DeliveryAttempt[]): NewFact[] {
  const facts: NewFact[] = []
  let state = from
  for (let at = 0; at < attempts.length; at += LIMITS.webhookAttemptsPerEvent) {
    const some = attempts.slice(at, at + LIMITS.webhookAttemptsPerEvent)
    assert(
      some.every(({ sequence }) => sequence >= 1),
      'deliveries are numbered from 1',
      at,
    )
    const fact = {
      type: 'DeliveriesAttempted',
      cursor: cursorAfter(state, some),
      attempts: some,
    } as const
    facts.push(fact)
    state = evolved(state, fact)
  }
  const most = LIMITS.webhookOpenDeliveries + LIMITS.webhookAttemptsAtOnce
  if (state.open.size <= most) return facts
  throw new ServiceError('internal_error', {
    message: `${state.open.size} deliveries of a subscription would wait for another try; ${most} may`,
  })
}

/** A delivery that a move of the cursor gives up. */
const skippedAt = (delivery: OpenDelivery, at: number): DeliveryAttempt => ({
  ...placeIn(delivery),
  attempt: delivery.attempt,
  status: null,
  reason: 'cursor_moved',
  at,
  durationMs: 0,
  hostWaitMs: 0,
  result: 'skipped',
  detail: null,
  nextAt: null,
  notBefore: null,
})

/** The oldest that wait, as many as share an append. */
function takeBatch(queue: Waiting[]): Waiting[] {
  let [taken, count] = [0, 0]
  for (const { attempts } of queue) {
    count += attempts.length
    if (taken > 0 && (attempts.length === 0 || count > LIMITS.webhookAttemptsPerEvent)) break
    taken += 1
    if (attempts.length === 0) break
  }
  assert(taken > 0, 'a flush takes something')
  return queue.splice(0, taken)
}

/** An append that names a revision cannot happen any more once another event is in its place. */
const isOvertaken = (error: unknown): boolean =>
  isServiceError(error, 'revision_conflict') || isServiceError(error, 'idempotency_conflict')
