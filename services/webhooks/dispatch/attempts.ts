import { isServiceError } from '../../../contracts/errors.ts'
import { createAttemptRecorder } from './attempt-recorder.ts'
import type { Endpoint } from './endpoint.ts'
import type { EndpointItem } from './endpoint-state.ts'
import { type AttemptContext, runAttempt } from './run-attempt.ts'
import { type Schedulable, Scheduler, type Turn } from './scheduler.ts'

export interface AttemptsOptions extends Omit<AttemptContext, 'recorder'> {
  /** Monotonic clock, milliseconds. */
  readonly elapsed: () => number
}

/** Attempts that wait to be recorded, beyond which nothing is begun: the log is too slow, or away. */
const MOST_UNDER_WAY = 1_024
/** The tail waits for endpoints that are quicker than this and only wait for their turn; the others fall behind. */
const SWIFT_MS = 100

/** An endpoint as the scheduler sees it. */
interface Sendable extends Schedulable {
  readonly endpoint: Endpoint
  /** Attempts of it that are being sent or recorded. */
  busy: number
  sending: number
  idle: PromiseWithResolvers<void> | undefined
}

function sendable(endpoint: Endpoint): Sendable {
  const owner = endpoint.state.subscription.accountId
  return {
    endpoint,
    owner,
    busy: 0,
    sending: 0,
    idle: undefined,
    get work() {
      return endpoint.work
    },
    get pace() {
      return endpoint.state.pace
    },
    get isBehind() {
      return endpoint.state.source === 'behind'
    },
    get host() {
      return endpoint.host
    },
  }
}

/** Begins attempts whenever there is something to send and room for it, and sees each to its end. */
export class Attempts {
  readonly #report: AttemptsOptions['report']
  readonly #apply: AttemptsOptions['apply']
  readonly #context: AttemptContext
  readonly #scheduler: Scheduler<Sendable>
  readonly #known = new Map<Endpoint, Sendable>()
  #underWay = 0
  #turn: PromiseWithResolvers<void> | undefined

  constructor(options: AttemptsOptions) {
    const { elapsed, report, sleep, apply } = options
    this.#report = report
    this.#apply = apply
    this.#scheduler = new Scheduler(elapsed)
    const hasMore = (endpoint: Endpoint): boolean =>
      (this.#known.get(endpoint)?.sending ?? 0) > 0 || endpoint.work !== undefined
    this.#context = { ...options, recorder: createAttemptRecorder({ elapsed, sleep, hasMore }) }
  }

  /** Attempts that are being sent or recorded. */
  get underWay(): number {
    return this.#underWay
  }

  /** Queues an endpoint that may have something to send. */
  offer(endpoint: Endpoint): void {
    if (endpoint.work === undefined) return
    const one = this.#known.get(endpoint) ?? sendable(endpoint)
    this.#known.set(endpoint, one)
    this.#scheduler.offer(one)
  }

  /** Begins as many attempts as there is room for. */
  pump(): void {
    while (this.#underWay < MOST_UNDER_WAY) {
      const taken = this.#scheduler.take()
      if (taken === undefined) break
      const item = taken.endpoint.endpoint.take()
      if (item === undefined) this.#scheduler.done(taken)
      else this.#begin(taken, item)
      this.#scheduler.offer(taken.endpoint)
    }
    this.#turn?.resolve()
    this.#turn = undefined
  }

  /** Whether it waits only for its turn. */
  isHeldUp(endpoint: Endpoint): boolean {
    const one = this.#known.get(endpoint)
    const isSwift = (endpoint.state.tookMs ?? Number.POSITIVE_INFINITY) <= SWIFT_MS
    return one !== undefined && isSwift && endpoint.mayBegin && this.#scheduler.isHeldUp(one)
  }

  drop(endpoint: Endpoint): void {
    const one = this.#known.get(endpoint)
    if (one === undefined) return
    this.#scheduler.drop(one)
    if (one.busy === 0) this.#known.delete(endpoint)
  }

  /** Resolves when the next endpoint has had its turn. */
  nextTurn(): Promise<void> {
    this.#turn ??= Promise.withResolvers()
    return this.#turn.promise
  }

  /** Resolves when nothing is under way for these any more. */
  async drained(endpoints: Iterable<Endpoint>): Promise<void> {
    for (const endpoint of endpoints) {
      const one = this.#known.get(endpoint)
      if (one === undefined || one.busy === 0) continue
      one.idle ??= Promise.withResolvers()
      await one.idle.promise
    }
  }

  #begin(taken: Turn<Sendable>, item: EndpointItem): void {
    const one = taken.endpoint
    this.#underWay += 1
    one.busy += 1
    one.sending += 1
    if (one.endpoint.state.health.state === 'degraded') this.#apply(one.endpoint, { kind: 'probe_begun' })
    this.#attend(taken, item).then(() => this.#leave(one), this.#report)
  }

  #leave(one: Sendable): void {
    one.busy -= 1
    if (one.busy > 0) return
    one.idle?.resolve()
    one.idle = undefined
    if (one.endpoint.state.phase === 'closed') this.#known.delete(one.endpoint)
  }

  /** Runs one attempt to its end. Never rejects: a fault is reported, and the endpoint goes on. */
  async #attend(taken: Turn<Sendable>, item: EndpointItem): Promise<void> {
    const { endpoint } = taken.endpoint
    let isSent = false
    const onSent = (): void => {
      if (isSent) return
      isSent = true
      taken.endpoint.sending -= 1
      this.#scheduler.done(taken)
      this.offer(endpoint)
      this.pump()
    }
    try {
      const end = await runAttempt(this.#context, endpoint, item, onSent)
      endpoint.ended(item)
      if (end.kind === 'recorded') this.#apply(endpoint, { kind: 'recorded', item, decision: end.decision })
      if (end.kind === 'not_begun') this.#apply(endpoint, { kind: 'undone', item, againMs: end.againMs })
    } catch (error) {
      endpoint.ended(item)
      if (isServiceError(error, 'lease_lost')) this.#apply(endpoint, { kind: 'lost' })
      else {
        this.#apply(endpoint, { kind: 'undone', item })
        this.#report(error)
      }
    }
    this.#underWay -= 1
    onSent()
    this.#apply(endpoint, { kind: 'free' })
    this.pump()
  }
}
