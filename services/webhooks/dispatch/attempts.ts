import { assert } from '../../../contracts/assert.ts'
import { isServiceError } from '../../../contracts/errors.ts'
import { createAttemptRecorder } from './attempt-recorder.ts'
import { createAttemptRoom } from './attempt-room.ts'
import type { Endpoint } from './endpoint.ts'
import type { EndpointItem } from './endpoint-state.ts'
import { type AttemptContext, runAttempt } from './run-attempt.ts'
import { Scheduler, type Turn } from './scheduler.ts'

export interface AttemptsOptions extends Omit<AttemptContext, 'recorder'> {
  /** Monotonic clock, milliseconds. */
  readonly elapsed: () => number
}

/** Attempts that wait to be recorded, beyond which nothing is begun: the log is too slow, or away. */
const MOST_UNDER_WAY = 1_024
/** The tail waits for endpoints as quick as this that wait only for their turn; slower ones fall behind. */
const SWIFT_MS = 100

/** Begins attempts whenever there is something to send and room for it, and sees each to its end. */
export class Attempts {
  readonly #options: AttemptsOptions
  readonly #context: AttemptContext
  readonly #scheduler: Scheduler<Endpoint>
  readonly #running = new Map<Turn<Endpoint>, Promise<void>>()
  #underWay = 0
  #turn: PromiseWithResolvers<void> | undefined

  constructor(options: AttemptsOptions) {
    const { elapsed, sleep, busy = () => 0 } = options
    this.#options = options
    this.#scheduler = new Scheduler(elapsed, createAttemptRoom(elapsed, busy))
    const hasMore = (endpoint: Endpoint): boolean =>
      this.#scheduler.isSending(endpoint) || endpoint.work !== undefined || endpoint.isPaced
    this.#context = { ...options, recorder: createAttemptRecorder({ elapsed, sleep, hasMore }) }
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
      const item = taken.endpoint.take()
      if (item === undefined) this.#scheduler.done(taken)
      else this.#begin(taken, item)
      this.#scheduler.offer(taken.endpoint)
    }
    this.#turn?.resolve()
    this.#turn = undefined
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
    for (const [{ endpoint }, running] of this.#running) if (endpoints.has(endpoint)) await running
  }

  #begin(taken: Turn<Endpoint>, item: EndpointItem): void {
    const { endpoint } = taken
    this.#underWay += 1
    assert(this.#underWay <= MOST_UNDER_WAY, 'attempts under way are bounded', this.#underWay)
    const { health, subscription } = endpoint.state
    if (health.state === 'degraded' || subscription.sending.perSecond !== null)
      this.#options.apply(endpoint, { kind: 'begun' })
    this.#running.set(taken, this.#attend(taken, item).catch(this.#options.report))
  }

  /** Runs one attempt to its end. Never rejects: a fault is reported, and the endpoint goes on. */
  async #attend(taken: Turn<Endpoint>, item: EndpointItem): Promise<void> {
    const { endpoint } = taken
    const { apply, report } = this.#options
    let isSent = false
    const onSent = (): void => {
      if (isSent) return
      isSent = true
      this.#scheduler.done(taken)
      this.offer(endpoint)
      this.pump()
    }
    try {
      const end = await runAttempt(this.#context, endpoint, item, onSent)
      endpoint.ended(item)
      if (end.kind === 'recorded') apply(endpoint, { kind: 'recorded', item, decision: end.decision })
      if (end.kind === 'not_begun') apply(endpoint, { kind: 'undone', item, againMs: end.againMs })
    } catch (error) {
      endpoint.ended(item)
      if (isServiceError(error, 'lease_lost')) apply(endpoint, { kind: 'lost' })
      else {
        apply(endpoint, { kind: 'undone', item })
        report(error)
      }
    } finally {
      this.#running.delete(taken)
    }
    this.#underWay -= 1
    assert(this.#underWay >= 0, 'what ends was under way', this.#underWay)
    onSent()
    apply(endpoint, { kind: 'free' })
    this.pump()
  }
}
