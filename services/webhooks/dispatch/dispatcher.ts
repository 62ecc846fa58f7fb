import { createHash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { reasonOf } from '../../../contracts/errors/errors.ts'
import type { ServiceEvent } from '../../../contracts/events/event-catalogue.ts'
import { type Position, START } from '../../../contracts/infra/position.ts'
import type { Lease } from '../../log/leases/leases.ts'
import { createConcurrencyLimit } from '../../runtime/admission/concurrency-limit.ts'
import { createDelayQueue } from '../../runtime/async/delay-queue.ts'
import { createWakeSignal, waitAtMost } from '../../runtime/async/wake-signal.ts'
import { SignalFeed } from '../signals/signal-feed.ts'
import { evolveSubscription, type Subscription } from '../state/subscription-state.ts'
import { createAllowance } from './allowance.ts'
import { isFailing } from './delivery-policy.ts'
import type { Dispatcher, DispatcherHealth, DispatcherOptions, ShardHealth } from './dispatcher-options.ts'
import { Endpoint, type EndpointContext } from './endpoint.ts'
import { createEndpointLog } from './endpoint-log.ts'
import { SIGNALS_SUBJECT } from './signal-relay.ts'
import { createSlots } from './slots.ts'

/** Interval at which the log is read and all endpoints are checked; a lost notification costs this. */
const TICK_MS = 1_000
/** Pause of a process that cannot begin. */
const BEGIN_AGAIN_MS = 1_000
/** Endpoints that read or write their logs at a time, apart from their attempts. */
const LOADS_AT_ONCE = 32
/** Time that attempts have to come to their end when a shard is given up. */
const LETTING_GO_MS = 5_000
/** An endpoint that is behind for longer counts as long behind. */
const LONG_BEHIND_MS = 60_000

/** A shard that this process has. */
interface HeldShard extends Lease {
  /** Ends its attempts that take too long when it is given up. */
  readonly cutOff: AbortController
  readonly endpoints: Set<Endpoint>
}

/**
 * Sends the signals of the log to those who subscribed them, at least once each, with the same id every time. The bus
 * only wakes it: the log says what is to be sent, and the delivery logs what was.
 *
 * @example
 * const dispatcher = createDispatcher({ store, bus, leases, shards: 16, directory, deliveries, sender, sign, … })
 * const running = dispatcher.run(signal)
 */
export function createDispatcher(options: DispatcherOptions): Dispatcher {
  let work: DispatcherWork | undefined
  return {
    async run(signal) {
      const head = await headOf(options, signal)
      if (head === undefined) return
      work = new DispatcherWork(options, head, signal)
      await work.run()
    },
    health: () => work?.health() ?? NOT_BEGUN,
  }
}

/** The end of the log, once the store says where that is; undefined once the signal is aborted. */
async function headOf(
  { store, report, sleep }: DispatcherOptions,
  signal: AbortSignal,
): Promise<Position | undefined> {
  while (!signal.aborted) {
    try {
      return await store.head()
    } catch (error) {
      report(error)
      await sleep(BEGIN_AGAIN_MS, signal)
    }
  }
  return undefined
}

const NOT_BEGUN: DispatcherHealth = {
  shards: [],
  position: START,
  attemptsUnderWay: 0,
  problem: 'not begun',
  behindMs: 0,
  longBehind: 0,
  unattended: 0,
  unattendedMs: 0,
}

/**
 * The shard of an account, with all its subscriptions: one process counts all that the account sends. The same in
 * every process and release.
 *
 * @example shardOf('019abcde-7c00-7001-8000-00000000000a', 16) // 0 to 15
 */
export const shardOf = (accountId: string, shards: number): number =>
  createHash('sha256').update(accountId).digest().readUInt32BE(0) % shards

/** A dispatcher at work: the feed, the endpoints of its shards, and their clock. */
class DispatcherWork {
  readonly #options: DispatcherOptions
  readonly #signal: AbortSignal
  readonly #elapsed: () => number
  readonly #feed: SignalFeed
  readonly #context: EndpointContext
  readonly #slots = createSlots()
  readonly #shards = new Map<number, HeldShard>()
  readonly #endpoints = new Map<string, Endpoint>()
  readonly #due = createDelayQueue<Endpoint>()
  /** A timer was set that is due before all others. */
  readonly #sooner = createWakeSignal()
  #gaining: Promise<void> | undefined
  #problem: string | undefined
  /** Since when the feed has not been at the end of the log; undefined while it is. */
  #behindSinceMs: number | undefined

  constructor(options: DispatcherOptions, after: Position, signal: AbortSignal) {
    const { store, leases, shards, now } = options
    const elapsed = options.elapsed ?? (() => performance.now())
    this.#options = options
    this.#signal = signal
    this.#elapsed = elapsed
    this.#feed = new SignalFeed({
      store,
      after,
      signal,
      onSubscription: (event) => this.#onSubscription(event),
      onMoved: () => this.#pumpAll(),
    })
    const share = (): number => Math.max(1, leases.held().length) / shards
    this.#context = {
      ...options,
      // A page whose reading ended with the dispatcher did not fail.
      report: (error) => error !== signal.reason && options.report(error),
      elapsed,
      feed: this.#feed,
      slots: this.#slots,
      allowance: createAllowance({ now, elapsed, share }),
      subscriptions: createEndpointLog({ ...options, signal }),
      limited: createConcurrencyLimit(LOADS_AT_ONCE),
      wakeIn: (endpoint, milliseconds) => this.#wakeIn(endpoint, milliseconds),
      removed: (endpoint) => this.#remove(endpoint),
    }
  }

  async run(): Promise<void> {
    const { bus, leases } = this.#options
    const signal = this.#signal
    bus.listen(SIGNALS_SUBJECT, () => void this.#read(), { signal })
    const work = {
      gained: (lease: Lease) => this.#gained(lease),
      lost: (lease: Lease) => this.#lost(lease),
    }
    await Promise.all([leases.run(work, signal), this.#followClock()])
  }

  health(): DispatcherHealth {
    const nowMs = this.#elapsed()
    const endpoints = [...this.#endpoints.values()]
    const since = (times: readonly (number | undefined)[]): number[] =>
      times.flatMap((atMs) => (atMs === undefined ? [] : [nowMs - atMs]))
    const loading = since(endpoints.map(({ loadingSinceMs }) => loadingSinceMs))
    const behind = since(endpoints.map(({ behindSinceMs }) => behindSinceMs))
    return {
      shards: [...this.#shards.values()].map(shardHealth).toSorted((a, b) => a.shard - b.shard),
      position: this.#feed.position,
      attemptsUnderWay: this.#slots.underWay,
      problem: this.#problem,
      behindMs: this.#behindSinceMs === undefined ? 0 : nowMs - this.#behindSinceMs,
      longBehind: behind.filter((forMs) => forMs > LONG_BEHIND_MS).length,
      unattended: loading.length,
      unattendedMs: loading.reduce((most, forMs) => Math.max(most, forMs), 0),
    }
  }

  async #followClock(): Promise<void> {
    const { sleep } = this.#options
    const signal = this.#signal
    for (let tickedMs = Number.NEGATIVE_INFINITY; !signal.aborted; ) {
      this.#doDue()
      if (this.#elapsed() - tickedMs >= TICK_MS) {
        tickedMs = this.#elapsed()
        // Not waited for: a long way through the log must not keep what comes due meanwhile.
        void this.#read()
        for (const endpoint of this.#endpoints.values()) endpoint.tick()
      }
      const seen = this.#sooner.count
      const dueMs = Math.min(this.#due.nextAt ?? Number.POSITIVE_INFINITY, tickedMs + TICK_MS)
      await waitAtMost(Math.max(1, dueMs - this.#elapsed()), this.#sooner, seen, { sleep, signal })
    }
  }

  async #read(): Promise<void> {
    this.#behindSinceMs ??= this.#elapsed()
    try {
      if (!(await this.#feed.follow())) return
      this.#behindSinceMs = undefined
      this.#problem = undefined
    } catch (error) {
      this.#problem = reasonOf(error)
      if (!this.#signal.aborted) this.#options.report(error)
    }
  }

  #pumpAll(): void {
    for (const endpoint of this.#endpoints.values()) endpoint.pump()
  }

  #wakeIn(endpoint: Endpoint, milliseconds: number): void {
    if (milliseconds >= TICK_MS) return
    const atMs = this.#elapsed() + milliseconds
    if (endpoint.wakeAtMs !== undefined && endpoint.wakeAtMs <= atMs) return
    endpoint.wakeAtMs = atMs
    if (atMs < (this.#due.nextAt ?? Number.POSITIVE_INFINITY)) this.#sooner.notify()
    this.#due.add(atMs, endpoint)
  }

  #doDue(): void {
    const nowMs = this.#elapsed()
    for (let endpoint = this.#due.take(nowMs); endpoint !== undefined; endpoint = this.#due.take(nowMs)) {
      endpoint.wakeAtMs = undefined
      endpoint.pump()
    }
  }

  #onSubscription(event: ServiceEvent): void {
    if (!('subscriptionId' in event.data)) return
    const endpoint = this.#endpoints.get(event.data.subscriptionId)
    if (endpoint !== undefined) return endpoint.follow(event)
    const subscription = evolveSubscription(undefined, event)
    if (subscription !== undefined) this.#open(subscription)
  }

  /** Opens the endpoint of a subscription whose shard is held; its logs are read first. */
  #open(subscription: Subscription): void {
    const { subscriptionId, accountId } = subscription
    const held = this.#shards.get(shardOf(accountId, this.#options.shards))
    if (held === undefined || this.#endpoints.has(subscriptionId)) return
    const { shard, token, cutOff } = held
    const endpoint = new Endpoint(subscription, { shard, token, cutOff: cutOff.signal }, this.#context)
    this.#endpoints.set(subscriptionId, endpoint)
    held.endpoints.add(endpoint)
    endpoint.pump()
  }

  #remove(endpoint: Endpoint): void {
    this.#endpoints.delete(endpoint.subscriptionId)
    this.#shards.get(endpoint.shard)?.endpoints.delete(endpoint)
    endpoint.close().catch(this.#options.report)
  }

  /** @throws what keeps the subscriptions of the shard from being read: it is given up, and gained anew */
  async #gained(lease: Lease): Promise<void> {
    this.#shards.set(lease.shard, { ...lease, cutOff: new AbortController(), endpoints: new Set() })
    // Shards that are gained together are taken up together.
    this.#gaining ??= setImmediate().then(() => {
      this.#gaining = undefined
      return this.#takeUp()
    })
    await this.#gaining
  }

  async #takeUp(): Promise<void> {
    const { position, subscriptions } = await this.#options.directory.all()
    for (const subscription of subscriptions) this.#open(subscription)
    // The feed may have passed later changes before the endpoints were opened.
    await this.#feed.repeatSubscriptions(position)
  }

  async #lost({ shard }: Lease): Promise<void> {
    const held = this.#shards.get(shard)
    if (held === undefined) return
    this.#shards.delete(shard)
    const ending = [...held.endpoints].map((endpoint) => {
      this.#endpoints.delete(endpoint.subscriptionId)
      return endpoint.close().catch((error: unknown) => endpoint.failed(error))
    })
    const letGo = new AbortController()
    const timeUp = this.#options.sleep(LETTING_GO_MS, letGo.signal).then(() => held.cutOff.abort())
    await Promise.all(ending)
    letGo.abort()
    await timeUp
  }
}

function shardHealth({ shard, endpoints }: HeldShard): ShardHealth {
  const count = { behind: 0, failing: 0, disabled: 0, pendingRetries: 0 }
  for (const { subscription, deliveries, behindSinceMs } of endpoints) {
    if (behindSinceMs !== undefined) count.behind += 1
    if (subscription.state === 'active' && isFailing(deliveries)) count.failing += 1
    if (subscription.state === 'disabled') count.disabled += 1
    count.pendingRetries += deliveries.open.size
  }
  return { shard, subscriptions: endpoints.size, ...count }
}
