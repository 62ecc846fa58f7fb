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

export type Attempts = ReturnType<typeof createAttempts>

/** Attempts that wait to be recorded, beyond which nothing is begun: the log is too slow, or away. */
const MOST_UNDER_WAY = 1_024
/** Quicker endpoints are waited for by the tail when they wait for their turn; the others fall behind it. */
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
export function createAttempts(options: AttemptsOptions) {
  const { elapsed, report, sleep, apply } = options
  const scheduler = new Scheduler<Sendable>(elapsed)
  const known = new Map<Endpoint, Sendable>()
  const hasMore = (endpoint: Endpoint): boolean =>
    (known.get(endpoint)?.sending ?? 0) > 0 || endpoint.work !== undefined
  const context: AttemptContext = { ...options, recorder: createAttemptRecorder({ elapsed, sleep, hasMore }) }
  let underWay = 0
  let turn: PromiseWithResolvers<void> | undefined

  function of(endpoint: Endpoint): Sendable {
    const found = known.get(endpoint)
    if (found !== undefined) return found
    const made = sendable(endpoint)
    known.set(endpoint, made)
    return made
  }

  /** Something may be there to send for an endpoint. */
  function offer(endpoint: Endpoint): void {
    if (endpoint.work !== undefined) scheduler.offer(of(endpoint))
  }

  /** Begins what there is room for. */
  function pump(): void {
    while (underWay < MOST_UNDER_WAY) {
      const taken = scheduler.take()
      if (taken === undefined) break
      const item = taken.endpoint.endpoint.take()
      if (item === undefined) scheduler.done(taken)
      else begin(taken, item)
      scheduler.offer(taken.endpoint)
    }
    turn?.resolve()
    turn = undefined
  }

  function begin(taken: Turn<Sendable>, item: EndpointItem): void {
    underWay += 1
    taken.endpoint.busy += 1
    taken.endpoint.sending += 1
    const { endpoint } = taken.endpoint
    if (endpoint.state.health.state === 'degraded') apply(endpoint, { kind: 'probe_begun' })
    attend(taken, item).then(() => leave(taken.endpoint), report)
  }

  function leave(one: Sendable): void {
    one.busy -= 1
    if (one.busy > 0) return
    one.idle?.resolve()
    one.idle = undefined
    if (one.endpoint.state.phase === 'closed') known.delete(one.endpoint)
  }

  /** Runs one attempt to its end. Never rejects: a fault is reported, and the endpoint goes on. */
  async function attend(taken: Turn<Sendable>, item: EndpointItem): Promise<void> {
    const { endpoint } = taken.endpoint
    let isSent = false
    const onSent = (): void => {
      if (isSent) return
      isSent = true
      taken.endpoint.sending -= 1
      scheduler.done(taken)
      offer(endpoint)
      pump()
    }
    try {
      const end = await runAttempt(context, endpoint, item, onSent)
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
    }
    underWay -= 1
    onSent()
    apply(endpoint, { kind: 'free' })
    pump()
  }

  return {
    /** Attempts that are being sent or recorded. */
    get underWay(): number {
      return underWay
    },
    offer,
    /** Whether it waits only for its turn. */
    isHeldUp(endpoint: Endpoint): boolean {
      const one = known.get(endpoint)
      const isSwift = (endpoint.state.tookMs ?? Number.POSITIVE_INFINITY) <= SWIFT_MS
      return one !== undefined && isSwift && endpoint.mayBegin && scheduler.isHeldUp(one)
    },
    pump,
    drop(endpoint: Endpoint): void {
      const one = known.get(endpoint)
      if (one === undefined) return
      scheduler.drop(one)
      if (one.busy === 0) known.delete(endpoint)
    },
    /** Resolves when the next endpoint has had its turn. */
    nextTurn(): Promise<void> {
      turn ??= Promise.withResolvers()
      return turn.promise
    },
    /** Resolves when nothing is under way for these any more. */
    async drained(endpoints: Iterable<Endpoint>): Promise<void> {
      for (const endpoint of endpoints) {
        const one = known.get(endpoint)
        if (one === undefined || one.busy === 0) continue
        one.idle ??= Promise.withResolvers()
        await one.idle.promise
      }
    },
  }
}
