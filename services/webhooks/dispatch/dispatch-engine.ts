import { setImmediate } from 'node:timers/promises'
import { reasonOf } from '../../../contracts/errors.ts'
import type { ServiceEvent } from '../../../contracts/event-catalogue.ts'
import type { Position } from '../../../contracts/position.ts'
import type { Lease } from '../../log/leases/leases.ts'
import { createDelayQueue } from '../../runtime/async/delay-queue.ts'
import { mapConcurrently } from '../../runtime/async/map-concurrently.ts'
import { createWakeSignal } from '../../runtime/async/wake-signal.ts'
import { evolveSubscription, type Subscription } from '../state/subscription-state.ts'
import { createAllowance } from './allowance.ts'
import { Attempts } from './attempts.ts'
import { createAttendance } from './attendance.ts'
import { createBackPressure } from './back-pressure.ts'
import { createCarryOut, type SlowEffect } from './carry-out.ts'
import { isStray, strayError } from './decide-endpoint.ts'
import type { DispatcherHealth, DispatcherOptions } from './dispatcher-options.ts'
import { Endpoint, type Surroundings } from './endpoint.ts'
import { createEndpointLog } from './endpoint-log.ts'
import { countLongBehind, createEndpointRegistry, type HeldShard, shardHealth } from './endpoint-registry.ts'
import { type Effect, type Input, isOfEveryAttempt, type Timer } from './endpoint-state.ts'
import { writeDownQuiet } from './journals.ts'
import { LogReader, type SignalSink } from './log-reader.ts'
import { QueuedSignals, SignalMemory } from './queued-signals.ts'

const CATCH_UP_PER_SECOND = 500
/** Endpoints whose logs are read at a time, when shards are taken up. */
const LOADS_AT_ONCE = 32
/** How long attempts have to come to their end when a shard is given up. */
const LETTING_GO_MS = 5_000
/** Events that end the sending to an endpoint, or to its address, at once. */
const STOPPING = ['EndpointChanged', 'SubscriptionPaused', 'SubscriptionDisabled', 'SubscriptionRemoved']
const WRITES_AT_ONCE = 32

/** A dispatcher at work: its inputs, and the one place that carries out what follows from them. */
export class DispatchEngine {
  readonly #options: DispatcherOptions
  readonly #signal: AbortSignal
  readonly #elapsed: () => number
  readonly #registry
  readonly #due = createDelayQueue<{ readonly endpoint: Endpoint; readonly timer: Timer }>()
  /** Wakes the loop: a timer was set that is due before all others. */
  readonly sooner = createWakeSignal()
  readonly #background = new Set<Promise<unknown>>()
  readonly #memory = new SignalMemory()
  readonly #endpoints
  readonly #journalOf
  readonly #reader
  readonly #attempts
  readonly #carryOut
  readonly #attendance
  /** Endpoints whose logs are to be read. */
  readonly #toLoad: Endpoint[] = []
  #loading = 0
  readonly #backPressure
  #problem: string | undefined
  #isLooking = false
  #isToLookAgain = false
  /** Since when the tail has not been at the end of the log; undefined while it is. */
  #behindSinceMs: number | undefined
  /** How far {@link #lookAhead} has come since the tail set out. */
  #lookedAhead: Position | undefined
  #gainedTogether: { readonly shards: HeldShard[]; readonly done: Promise<void> } | undefined
  #strays = 0

  /** @param after position at which the log is read on; each gained shard looks through what came before */
  constructor(options: DispatcherOptions, after: Position, signal: AbortSignal) {
    const { store, leases, deliveries, holder } = options
    this.#options = options
    this.#signal = signal
    this.#elapsed = options.elapsed ?? (() => performance.now())
    this.#registry = createEndpointRegistry(options.shards)
    this.#endpoints = createEndpointLog({ ...options, signal })
    this.#journalOf = (endpoint: Endpoint) =>
      endpoint.own(() => deliveries.take(endpoint.state.subscription, endpoint.token, holder))
    this.#reader = new LogReader({ store, after, sink: this.#sink(), signal })
    const share = (): number => Math.max(1, leases.held().length) / options.shards
    const allowance = createAllowance({ now: options.now, elapsed: this.#elapsed, share })
    this.#attempts = new Attempts({
      ...options,
      allowance,
      elapsed: this.#elapsed,
      journalOf: this.#journalOf,
      apply: (endpoint, input) => this.#apply(endpoint, input),
      holds: ({ shard, token }) => leases.held().some((held) => held.shard === shard && held.token === token),
      cutOff: ({ shard }) => this.#registry.shard(shard)?.cutOff.signal ?? signal,
    })
    this.#backPressure = createBackPressure(this.#attempts, signal)
    this.#attendance = createAttendance({
      registry: this.#registry,
      directory: options.directory,
      open: (subscription) => this.#open(subscription),
      elapsed: this.#elapsed,
    })
    this.#carryOut = createCarryOut({
      ...options,
      allowance,
      endpoints: this.#endpoints,
      journalOf: this.#journalOf,
    })
  }

  /** Work in the background is awaited at the end, and its faults are reported. */
  #inBackground(work: Promise<unknown>): void {
    const done = work.catch(this.#options.report).finally(() => this.#background.delete(done))
    this.#background.add(done)
  }

  #surroundings(endpoint: Endpoint, input?: Input): Surroundings {
    const { now, random, catchUpPerSecond = CATCH_UP_PER_SECOND } = this.#options
    const isAlong = endpoint.state.source === 'tail' && !isOfEveryAttempt(input)
    const tailCursor = isAlong ? this.#reader.cursor(endpoint.id) : undefined
    return { nowMs: this.#elapsed(), wallMs: now(), random: random(), tailCursor, catchUpPerSecond }
  }

  /** Something has happened to an endpoint: the one place where what follows from it is carried out. */
  #apply(endpoint: Endpoint, input: Input): void {
    for (const effect of endpoint.handle(input, this.#surroundings(endpoint, input)))
      this.#perform(endpoint, effect)
    this.#attempts.offer(endpoint)
  }

  #happen(endpoint: Endpoint, input: Input | undefined): void {
    if (input === undefined) return
    this.#apply(endpoint, input)
    this.#attempts.pump()
  }

  #perform(endpoint: Endpoint, effect: Effect): void {
    switch (effect.kind) {
      case 'wake':
        if (effect.atMs < (this.#due.nextAt ?? Number.POSITIVE_INFINITY)) this.sooner.notify()
        return this.#due.add(effect.atMs, { endpoint, timer: effect.timer })
      case 'detach':
        return this.#reader.detach(endpoint.id)
      case 'read':
        return this.#reader.readFor(endpoint.state.subscription, endpoint.state.readFrom)
      case 'close':
        this.#registry.remove(endpoint)
        // Its delivery log may have been taken from us while we hold its shard; then it is opened again.
        if (endpoint.state.subscription.state !== 'removed') this.#attendance.doubt()
        return this.#attempts.drop(endpoint)
      case 'load':
        this.#toLoad.push(endpoint)
        return this.#loadMore()
      case 'drain':
      case 'recover':
      case 'say':
        return this.#inBackground(this.#follow(endpoint, effect))
      case 'mail':
        return this.#inBackground(this.#options.mail(endpoint.state.subscription))
      case 'drop_queue':
      case 'retry':
        return undefined
    }
  }

  async #follow(endpoint: Endpoint, effect: SlowEffect): Promise<void> {
    this.#happen(endpoint, await this.#carryOut(endpoint, effect))
  }

  #loadMore(): void {
    while (this.#loading < LOADS_AT_ONCE) {
      const endpoint = this.#toLoad.shift()
      if (endpoint === undefined) return
      this.#loading += 1
      const loaded = this.#follow(endpoint, { kind: 'load' }).finally(() => {
        this.#loading -= 1
        this.#loadMore()
      })
      this.#inBackground(loaded)
    }
  }

  #sink(): SignalSink {
    const get = (subscriptionId: string): Endpoint | undefined => this.#registry.get(subscriptionId)
    const happen = (subscriptionId: string, input: Input): void => {
      const endpoint = get(subscriptionId)
      if (endpoint !== undefined) this.#happen(endpoint, input)
    }
    return {
      offer: (matched, weight, source) => {
        const endpoint = get(matched.subscriptionId)
        if (endpoint?.state.source !== source) return true
        if (!endpoint.offer(matched, weight)) return false
        this.#attempts.offer(endpoint)
        this.#attempts.pump()
        if (source === 'tail') this.#backPressure.look(endpoint)
        return true
      },
      hasRoom: (id) => get(id)?.hasRoom ?? false,
      joining: (id) => {
        const endpoint = get(id)
        const mayJoin = endpoint?.mayBegin === true && endpoint.state.health.state === 'active'
        return mayJoin ? endpoint.state.subscription : undefined
      },
      joined: (id, cursor) => happen(id, { kind: 'joined', cursor }),
      leftBehind: (id, cursor) => happen(id, { kind: 'left_behind', cursor }),
      read: (id, cursor, found) => happen(id, { kind: 'read', cursor, found }),
      readFailed: (ids, error) => {
        this.#options.report(error)
        for (const id of ids) happen(id, { kind: 'failed', what: 'read' })
      },
      subscription: (event) => this.#onSubscription(event),
      whenRoom: () => this.#backPressure.whenRoom(),
    }
  }

  #onSubscription(event: ServiceEvent): void {
    if (!('subscriptionId' in event.data)) return
    const { subscriptionId } = event.data
    const endpoint = this.#registry.get(subscriptionId)
    const before = endpoint?.state.subscription
    if (before !== undefined && event.revision <= before.revision) return
    const subscription = evolveSubscription(before, event)
    if (subscription === undefined) return
    if (endpoint !== undefined) this.#happen(endpoint, { kind: 'subscription', subscription })
    else if (event.type === 'SubscriptionCreated') this.#open(subscription)
  }

  /** Opens the endpoint of a subscription whose shard is held; its logs are read first. */
  #open(subscription: Subscription): void {
    const { subscriptionId, startAfter } = subscription
    const held = this.#registry.heldFor(subscriptionId)
    if (held === undefined || this.#registry.get(subscriptionId) !== undefined) return
    const { shard, token } = held
    const readFrom = { after: startAfter, sequence: 1 }
    const place = { shard, token, readFrom, nowMs: this.#elapsed(), signals: new QueuedSignals(this.#memory) }
    const endpoint = new Endpoint(subscription, place)
    this.#registry.add(endpoint)
    this.#perform(endpoint, { kind: 'load' })
  }

  /** @throws what keeps the subscriptions of the shard from being read: it is given up, and gained anew */
  async gained(lease: Lease): Promise<void> {
    const held = this.#registry.open(lease)
    // Shards that are gained together are taken up together.
    this.#gainedTogether ??= { shards: [], done: setImmediate().then(() => this.#takeUp()) }
    this.#gainedTogether.shards.push(held)
    await this.#gainedTogether.done
  }

  async #takeUp(): Promise<void> {
    const shards = new Set((this.#gainedTogether?.shards ?? []).map(({ shard }) => shard))
    this.#gainedTogether = undefined
    const { position, subscriptions } = await this.#options.directory.all()
    for (const subscription of subscriptions) {
      if (shards.has(this.#registry.shardOf(subscription.subscriptionId))) this.#open(subscription)
    }
    // The tail may have passed later changes before the endpoints were opened.
    await this.#reader.showSubscriptions(position)
  }

  async lost({ shard }: Lease): Promise<void> {
    const held = this.#registry.shard(shard)
    if (held === undefined) return
    const endpoints = new Set(held.endpoints)
    const cursors = Array.from(endpoints, (endpoint) => ({
      endpoint,
      cursor: this.#reader.cursor(endpoint.id),
    }))
    this.#registry.close(shard)
    for (const endpoint of endpoints) this.#apply(endpoint, { kind: 'lost' })
    const letGo = new AbortController()
    const timeUp = this.#options.sleep(LETTING_GO_MS, letGo.signal).then(() => held.cutOff.abort())
    await this.#attempts.drained(endpoints)
    letGo.abort()
    await timeUp
    await mapConcurrently(cursors, WRITES_AT_ONCE, async ({ endpoint: { journal }, cursor }) => {
      if (cursor !== undefined && journal?.isLost === false) await journal.advance(cursor)
    }).catch(this.#options.report)
  }

  /** Does what has come due. */
  doDue(): void {
    const nowMs = this.#elapsed()
    for (let due = this.#due.take(nowMs); due !== undefined; due = this.#due.take(nowMs)) {
      this.#apply(due.endpoint, { kind: 'timer', timer: due.timer })
    }
    this.#attempts.pump()
  }

  /** In how many milliseconds something comes due next; undefined where nothing does. */
  get nextDueInMs(): number | undefined {
    const { nextAt } = this.#due
    return nextAt === undefined ? undefined : nextAt - this.#elapsed()
  }

  /** Opens subscriptions that have no endpoint, reads for stray endpoints, and records the cursors of quiet ones. */
  async tend(): Promise<void> {
    // Not waited for: the directory may be behind the log, or away.
    this.#inBackground(this.#attendance.tend())
    for (const endpoint of this.#straying()) {
      this.#options.metrics?.stray?.()
      this.#options.report(strayError(endpoint.state))
      this.#happen(endpoint, { kind: 'stray' })
    }
    await writeDownQuiet(this.#registry.all(), {
      nowMs: this.#elapsed(),
      cursorOf: (endpoint) => this.#reader.cursor(endpoint.id),
      journalOf: this.#journalOf,
      onWritten: (endpoint) => this.#apply(endpoint, { kind: 'written' }),
    })
  }

  #straying(): Endpoint[] {
    const found = [...this.#registry.all()].filter((endpoint) =>
      isStray(endpoint.state, endpoint.situation(this.#surroundings(endpoint))),
    )
    this.#strays = found.length
    return found
  }

  /** Makes an endpoint of this process follow the newest events of its stream. */
  readonly sync = async (subscriptionId: string): Promise<void> => {
    const endpoint = this.#registry.get(subscriptionId)
    if (endpoint === undefined) return
    const subscription = await this.#endpoints.newest(endpoint.state.subscription)
    this.#happen(endpoint, { kind: 'subscription', subscription })
  }

  /** While the tail is being read, finds the endpoints that must stop: nothing more may be sent to them. */
  async #lookAhead(): Promise<void> {
    const from = this.#lookedAhead ?? this.#reader.position
    const { store } = this.#options
    const upTo = await store.head()
    const reading = { after: from, upTo, filter: { types: STOPPING }, signal: this.#signal }
    for await (const { data } of store.readAll(reading)) {
      if (typeof data.subscriptionId === 'string') await this.sync(data.subscriptionId)
    }
    if (this.#isLooking) this.#lookedAhead = upTo
  }

  /** Reads what is new in the log. */
  look(): Promise<void> {
    const looking = this.#lookOn()
    this.#inBackground(looking)
    return looking
  }

  async #lookOn(): Promise<void> {
    const { report } = this.#options
    this.#isToLookAgain = true
    if (this.#isLooking) return this.#lookAhead().catch(report)
    this.#isLooking = true
    this.#lookedAhead = undefined
    this.#behindSinceMs ??= this.#elapsed()
    try {
      while (this.#isToLookAgain && !this.#signal.aborted) {
        this.#isToLookAgain = false
        await this.#reader.follow()
        this.#behindSinceMs = this.#isToLookAgain ? this.#elapsed() : undefined
      }
      this.#problem = undefined
    } catch (error) {
      this.#problem = reasonOf(error)
      report(error)
    } finally {
      this.#isLooking = false
    }
  }

  holdsShardOf(subscriptionId: string): boolean {
    return this.#registry.heldFor(subscriptionId) !== undefined
  }

  health(): DispatcherHealth {
    const nowMs = this.#elapsed()
    return {
      shards: [...this.#registry.shards()].map(shardHealth).toSorted((a, b) => a.shard - b.shard),
      position: this.#reader.position,
      attemptsUnderWay: this.#attempts.underWay,
      problem: this.#problem,
      behindMs: this.#behindSinceMs === undefined ? 0 : nowMs - this.#behindSinceMs,
      longBehind: countLongBehind(this.#registry.all(), nowMs),
      strays: this.#strays,
      ...this.#attendance.unattended(),
    }
  }

  /** Resolves once nothing is under way, after the loss of every shard. */
  async drained(): Promise<void> {
    while (this.#background.size > 0) await Promise.all(this.#background)
  }
}
