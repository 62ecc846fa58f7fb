import { createHash } from 'node:crypto'
import { afterEach, beforeEach } from 'vitest'
import {
  AS_IT_COMES,
  type Sending,
  type SubscriptionFilter,
} from '../../../../contracts/domain/subscription.ts'
import { aVerdict } from '../../../../contracts/domain/verdict.fixture.ts'
import {
  EVENT_CATALOGUE,
  type EventType,
  VerdictRecorded,
} from '../../../../contracts/events/event-catalogue.ts'
import { newEvent } from '../../../../contracts/events/event-definition.ts'
import { subscriptionStream, verdictStream } from '../../../../contracts/events/streams.ts'
import type { SubscriptionPaused } from '../../../../contracts/events/subscription-events.ts'
import type { Position } from '../../../../contracts/infra/position.ts'
import { appendNext } from '../../../../testing/append-next.ts'
import { createMemoryLog, openMemoryStore } from '../../../../testing/memory-store/memory-store.ts'
import { createFakeClock, type FakeClock } from '../../../../testing/time/fake-clock.fixture.ts'
import type { EventStore } from '../../../log/event-store.ts'
import { createSoleLeases } from '../../../log/leases/leases.ts'
import { SharedLeases } from '../../../log/leases/shared-leases.ts'
import type { Bus } from '../../../runtime/bus/bus.ts'
import { createInProcessBus } from '../../../runtime/bus/in-process-bus.ts'
import { createFactIds } from '../../../runtime/ids/fact-id.ts'
import { openDeliveryLogs } from '../../deliveries/delivery-log.ts'
import type { Deliveries } from '../../deliveries/delivery-state.ts'
import { readDeliveries } from '../../deliveries/read-deliveries.ts'
import type { Sender, SendOutcome } from '../../sending/sender.ts'
import { createSign } from '../../sending/sign.ts'
import { aFilter, anId, NOON } from '../../signals/testing/signal-log.fixture.ts'
import { createSecret } from '../../subscriptions/subscription-secrets.ts'
import { createDispatcher } from '../dispatcher.ts'
import type { Dispatcher, DispatcherOptions } from '../dispatcher-options.ts'
import { relaySignals } from '../signal-relay.ts'
import { createLogDirectory } from './log-directory.fixture.ts'
import { createMortal, type Mortal } from './mortal.fixture.ts'

export const SHARDS = 4
export const ACCOUNT = anId('account')
const SECRET = createSecret((bytes) => new Uint8Array(bytes).fill(7))

/** One POST that an endpoint saw. */
export interface Post {
  readonly at: number
  readonly url: string
  readonly deliveryId: string
  readonly sequence: number
  readonly attempt: number
  readonly sha256: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: { readonly event: string; readonly data: Readonly<Record<string, unknown>> }
}

export type Endpoint = (post: Post, signal: AbortSignal | undefined) => SendOutcome | Promise<SendOutcome>

export const answered = (status: number, retryAfterMs?: number): SendOutcome => ({
  kind: 'answered',
  status,
  retryAfterMs,
  durationMs: 1,
  detail: status < 300 ? '' : 'no',
})
export const unreachable: SendOutcome = {
  kind: 'connect_failed',
  status: undefined,
  retryAfterMs: undefined,
  durationMs: 1,
  detail: 'connection refused',
}

/** A dispatcher of the world, as one process runs it. */
export interface RunningDispatcher {
  readonly dispatcher: Dispatcher
  /** The part of the world that this process reaches; undefined where it cannot be killed. */
  readonly mortal: Mortal | undefined
  stop(): Promise<void>
}

/** The world of one test. */
export let world: DispatchWorld
export function useDispatchWorld(): void {
  beforeEach(() => {
    world = new DispatchWorld()
  })
  afterEach(() => world.stopAll())
}

/** A log, endpoints that are functions, and dispatchers between them, on a clock that stands until it is told to go. */
export class DispatchWorld {
  readonly time: FakeClock = createFakeClock(NOON)
  readonly posts: Post[] = []
  readonly errors: unknown[] = []
  readonly mails: string[] = []
  readonly log = createMemoryLog()
  readonly store: EventStore = openMemoryStore({ now: this.time.now, log: this.log })
  readonly bus: Bus = createInProcessBus({ report: (fault) => this.errors.push(fault) })
  readonly idOf = createFactIds(Buffer.from('secret'))
  readonly #endpoints = new Map<string, Endpoint>()
  readonly #revisions = new Map<string, number>()
  readonly #running = new Set<RunningDispatcher>()
  #ids = 0

  readonly newId = (): string => anId(`new ${++this.#ids}`)

  endpoint(url: string, answer: Endpoint): void {
    this.#endpoints.set(url, answer)
  }

  /** Subscribes an address to everything from now on; its URL is its name. */
  async subscribe(
    name: string,
    change: {
      filter?: Partial<SubscriptionFilter>
      startAfter?: Position
      accountId?: string
      url?: string
      sending?: Partial<Sending>
    } = {},
  ): Promise<string> {
    const subscriptionId = anId(name)
    const startAfter = change.startAfter ?? (await this.store.head())
    await this.say(name, 'SubscriptionCreated', {
      accountId: change.accountId ?? ACCOUNT,
      generation: 0,
      sealedUrl: change.url ?? `https://${name}.example.com/`,
      sending: { ...AS_IT_COMES, ...change.sending },
      sealedSecret: SECRET,
      origin: `https://${name}.example.com`,
      filter: aFilter(change.filter),
      startAfter,
    })
    return subscriptionId
  }

  /** Appends what the owner of a subscription did to its stream. */
  async say(
    name: string,
    type: Extract<
      EventType,
      `Subscription${string}` | 'RecoveryRequested' | 'SecretRotated' | 'EndpointChanged'
    >,
    data: Readonly<Record<string, unknown>> = {},
  ): Promise<void> {
    const id = this.newId()
    const stream = subscriptionStream(anId(name))
    const meta = { correlationId: id, actor: 'owner' }
    const definition = EVENT_CATALOGUE[type] as typeof SubscriptionPaused
    const by = type === 'SubscriptionDisabled' ? { by: 'endpoint' } : {}
    const given = { subscriptionId: anId(name), reason: 'asked for', ...by, ...data }
    await appendNext(this.store, stream, [newEvent(definition, { id, data: given, meta })])
  }

  /**
   * Appends verdicts of one series, one for each call; with each the regime shifts where it is to: as the verdict says
   * itself, or as releases recorded it whose verdicts did not.
   */
  async verdicts(
    count: number,
    change: {
      coin?: string
      call?: 'BUY' | 'SELL' | 'HOLD'
      traceparent?: string
      shifts?: boolean
    } = {},
  ): Promise<void> {
    const coin = change.coin ?? 'BTC'
    const stream = verdictStream({ exchange: 'SIM', coin, timeframe: '1h' })
    for (let n = 0; n < count; n++) {
      const revision = (this.#revisions.get(stream) ?? -1) + 1
      const verdictId = this.newId()
      const barClose = NOON + revision * 3_600_000
      const previous = change.shifts === true ? { barClose: barClose - 1, regime: 'VOLATILE' as const } : null
      const data = aVerdict({ verdictId, coin, barClose, call: change.call ?? 'BUY', previous })
      const event = newEvent(VerdictRecorded, {
        id: verdictId,
        data,
        meta: {
          correlationId: verdictId,
          actor: 'engine',
          ...(change.traceparent !== undefined && { traceparent: change.traceparent }),
        },
      })
      this.#revisions.set(stream, revision)
      await this.store.append(stream, [event], { expected: revision === 0 ? 'no-stream' : revision - 1 })
    }
  }

  /** Starts a process that dispatches: alone, or one of several that share the shards. */
  async start(
    change: Partial<DispatcherOptions> & { relays?: boolean; shares?: boolean; isMortal?: boolean } = {},
  ): Promise<RunningDispatcher> {
    const { relays = true, shares = false, isMortal = false, ...options } = change
    const holder = `process-${this.newId()}`
    const ending = new AbortController()
    const dying = new AbortController()
    const { now } = this.time
    const sender: Sender = options.sender ?? {
      send: (request, signal) => this.#answer(request, signal),
      close: async () => undefined,
    }
    const { store: log, bus: wire } = this
    const mortal = isMortal
      ? createMortal({ store: log, bus: wire, sender, sleep: this.time.sleep })
      : undefined
    const sleep = options.sleep ?? mortal?.sleep ?? this.time.sleep
    const report = (error: unknown): void => void this.errors.push(error)
    const { newId, idOf } = this
    const store = options.store ?? mortal?.store ?? log
    const bus = options.bus ?? mortal?.bus ?? wire
    const group = { store, holder, newId, report, group: 'dispatcher', shards: SHARDS }
    const leases = shares ? new SharedLeases({ ...group, sleep, elapsed: now, now }) : createSoleLeases(group)
    const dispatcher = createDispatcher({
      store,
      bus,
      leases,
      shards: SHARDS,
      holder,
      newId,
      idOf,
      now,
      sleep,
      report,
      directory: createLogDirectory(store),
      deliveries: openDeliveryLogs({ store, newId, now, sleep, signal: dying.signal }),
      sender: mortal?.sender ?? sender,
      sign: createSign({ userAgent: 'test' }),
      baseUrl: () => 'https://signals.example.com',
      mail: async ({ subscriptionId }, { state }) => void this.mails.push(`${state} ${subscriptionId}`),
      elapsed: this.time.elapsed,
      random: () => 0.5,
      ...options,
    })
    const relaying = relays
      ? relaySignals({ store: log, bus, signal: ending.signal, report })
      : Promise.resolve()
    const run = dispatcher.run(ending.signal)
    const running = {
      dispatcher,
      mortal,
      stop: async () => {
        this.#running.delete(running)
        ending.abort()
        for (let turn = 0; turn < 8; turn++) await this.time.pass(1_000)
        // What was killed meanwhile has no end.
        if (mortal?.isDead !== true) await Promise.all([run, relaying])
        dying.abort()
      },
    }
    this.#running.add(running)
    await this.time.idle()
    return running
  }

  /** Ends all processes. @throws what one of them reported, since nothing is to be reported unless a test says so. */
  async stopAll(): Promise<void> {
    for (const running of this.#running) await running.stop()
    if (this.errors.length > 0) throw new AggregateError(this.errors, 'reported')
  }

  postsTo(name: string): Post[] {
    return this.posts.filter(({ url }) => url === `https://${name}.example.com/`)
  }

  /** Sequences that an endpoint saw, in their order of arrival. */
  sequences(name: string): number[] {
    return this.postsTo(name).map(({ sequence }) => sequence)
  }

  async deliveries(name: string): Promise<Deliveries> {
    return readDeliveries(this.store, { subscriptionId: anId(name), startAfter: 'start' })
  }

  /** Types of the events of a subscription's stream. */
  async told(name: string): Promise<string[]> {
    const types: string[] = []
    for await (const { type } of this.store.read(subscriptionStream(anId(name)))) types.push(type)
    return types
  }

  async #answer(
    { url, headers, body }: { url: string; headers: Readonly<Record<string, string>>; body: Uint8Array },
    signal: AbortSignal | undefined,
  ): Promise<SendOutcome> {
    const post: Post = {
      at: this.time.now(),
      url,
      deliveryId: headers['X-Service-Delivery'] ?? '',
      sequence: Number(headers['X-Service-Sequence']),
      attempt: Number(headers['X-Service-Attempt']),
      sha256: createHash('sha256').update(body).digest('hex'),
      headers,
      body: JSON.parse(Buffer.from(body).toString()) as Post['body'],
    }
    this.posts.push(post)
    const name = new URL(url).hostname.replace('.example.com', '')
    const startedMs = this.time.elapsed()
    const outcome = await (this.#endpoints.get(name) ?? (() => answered(200)))(post, signal)
    return { ...outcome, durationMs: Math.max(outcome.durationMs, this.time.elapsed() - startedMs) }
  }
}
