import { assert } from '../../../contracts/assert.ts'
import { isServiceError } from '../../../contracts/errors.ts'
import type { Allowance } from './allowance.ts'
import { type AttemptRecorder, createAttemptRecorder } from './attempt-recorder.ts'
import { createAttemptRoom } from './attempt-room.ts'
import type { Endpoint } from './endpoint.ts'
import type { EndpointItem } from './endpoint-state.ts'
import { type AttemptContext, type AttemptEnd, type AttemptMade, runAttempt } from './run-attempt.ts'
import { Scheduler, type Turn } from './scheduler.ts'

/** Attempts that wait to be recorded, beyond which nothing is begun: the log is too slow, or away. */
const MOST_UNDER_WAY = 1_024
/** The tail waits for endpoints as quick as this that wait only for their turn; slower ones fall behind. */
const SWIFT_MS = 100

export interface AttemptsOptions extends AttemptContext {
  readonly allowance: Pick<Allowance, 'take'>
}

/** Begins attempts whenever there is something to send and room for it, and sees each to its end. */
export class Attempts {
  readonly #options: AttemptsOptions
  readonly #recorder: AttemptRecorder
  readonly #scheduler: Scheduler<Endpoint>
  #underWay = 0
  #turn: PromiseWithResolvers<void> | undefined

  constructor(options: AttemptsOptions) {
    const { elapsed, sleep, busy = () => 0 } = options
    this.#options = options
    this.#scheduler = new Scheduler(elapsed, createAttemptRoom(elapsed, busy))
    const hasMore = (endpoint: Endpoint): boolean =>
      this.#scheduler.isSending(endpoint) || endpoint.hasWork || endpoint.isPaced
    this.#recorder = createAttemptRecorder({ elapsed, sleep, hasMore })
  }

  /** Attempts that are being sent or recorded. */
  get underWay(): number {
    return this.#underWay
  }

  /** Queues an endpoint that may have something to send. */
  offer(endpoint: Endpoint): void {
    this.#scheduler.offer(endpoint)
  }

  /** Begins as many attempts as there is room for. */
  pump(): void {
    while (this.#underWay < MOST_UNDER_WAY) {
      const taken = this.#scheduler.take()
      if (taken === undefined) break
      const item = this.#isHeld(taken.endpoint) ? undefined : taken.endpoint.take()
      if (item === undefined) this.#scheduler.done(taken)
      else this.#begin(taken, item)
      this.#scheduler.offer(taken.endpoint)
    }
    this.#turn?.resolve()
    this.#turn = undefined
  }

  /** Lets an endpoint wait where its owner, or its host, has had as much as it may. */
  #isHeld(endpoint: Endpoint): boolean {
    const { allowance, apply, directory, elapsed, report } = this.#options
    const wait = allowance.take(endpoint)
    if (wait === undefined) return false
    if (wait.isForHost) endpoint.waitsForHostSince(elapsed())
    apply(endpoint, { kind: 'held', waitMs: wait.ms })
    // The owner may have a new plan by then.
    Promise.resolve(directory.target(endpoint.state.subscription))
      .then((target) => target && endpoint.sendsTo(target))
      .catch(report)
    return true
  }

  /** Whether a quick endpoint waits only for its turn: the tail waits for it then. */
  isHeldUp(endpoint: Endpoint): boolean {
    const isSwift = (endpoint.state.tookMs ?? Number.POSITIVE_INFINITY) <= SWIFT_MS
    return isSwift && endpoint.mayBegin && this.#scheduler.isHeldUp(endpoint)
  }

  drop(endpoint: Endpoint): void {
    this.#scheduler.drop(endpoint)
  }

  /** Resolves when the next endpoint has had its turn. */
  nextTurn(): Promise<void> {
    this.#turn ??= Promise.withResolvers()
    return this.#turn.promise
  }

  /** Resolves when what is under way for these has ended. */
  async drained(endpoints: ReadonlySet<Endpoint>): Promise<void> {
    for (const endpoint of endpoints) while (endpoint.attempts > 0) await this.nextTurn()
  }

  #begin(taken: Turn<Endpoint>, item: EndpointItem): void {
    const { endpoint } = taken
    this.#underWay += 1
    assert(this.#underWay <= MOST_UNDER_WAY, 'attempts under way are bounded', this.#underWay)
    const { health, subscription } = endpoint.state
    if (health.state === 'degraded' || subscription.sending.perSecond !== null)
      this.#options.apply(endpoint, { kind: 'begun' })
    let isSent = false
    const onSent = (): void => {
      if (isSent) return
      isSent = true
      this.#scheduler.done(taken)
      this.offer(endpoint)
      this.pump()
    }
    // While it waits to be durable, nothing of it is kept but its record: so many wait that a collection would copy much.
    runAttempt(this.#options, endpoint, item, onSent)
      .then((end) => this.#record(endpoint, end))
      .then(
        (end) => this.#ended(endpoint, item, end),
        (fault: unknown) => this.#ended(endpoint, item, undefined, fault),
      )
      .then(onSent)
      .finally(() => this.pump())
      .catch(this.#options.report)
  }

  #record(endpoint: Endpoint, end: AttemptEnd): AttemptEnd | Promise<AttemptEnd> {
    return end.kind === 'made' ? this.#recorder.record(endpoint, end).then(() => end) : end
  }

  /** An attempt is over, and durable if it was made, unless a fault kept it from that. */
  #ended(endpoint: Endpoint, item: EndpointItem, end: AttemptEnd | undefined, fault?: unknown): void {
    const { apply, report } = this.#options
    endpoint.ended(item)
    this.#underWay -= 1
    assert(this.#underWay >= 0, 'what ends was under way', this.#underWay)
    if (end?.kind === 'made') this.#recorded(endpoint, item, end)
    else if (end?.kind === 'not_begun') apply(endpoint, { kind: 'undone', item })
    else if (isServiceError(fault, 'lease_lost')) apply(endpoint, { kind: 'lost' })
    else if (fault !== undefined) {
      apply(endpoint, { kind: 'undone', item })
      report(fault)
    }
    apply(endpoint, { kind: 'free' })
  }

  #recorded(endpoint: Endpoint, item: EndpointItem, { attempt, decision, sealedUrl }: AttemptMade): void {
    const { reason, at, durationMs } = attempt
    const { result } = decision
    const signalAt = item.kind === 'first' && result === 'delivered' ? item.matched.signal.at : undefined
    const firstAfterMs = signalAt && at + durationMs - signalAt
    this.#options.metrics?.attempt?.({ result, reason, durationMs, firstAfterMs })
    // A former address says nothing of the present one.
    const isThere = endpoint.state.subscription.sealedUrl === sealedUrl
    const counted = isThere ? decision : { ...decision, change: undefined }
    this.#options.apply(endpoint, { kind: 'recorded', item, decision: counted })
  }
}
