import { assert } from '../../../contracts/errors/assert.ts'
import { isServiceError } from '../../../contracts/errors/errors.ts'
import type { ServiceEvent } from '../../../contracts/events/event-catalogue.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { ConcurrencyLimit } from '../../runtime/admission/concurrency-limit.ts'
import type { DeliveryLog } from '../deliveries/delivery-log.ts'
import {
  type Deliveries,
  initialDeliveries,
  isToRecover,
  wasAttempted,
} from '../deliveries/delivery-state.ts'
import { findExhausted } from '../deliveries/read-deliveries.ts'
import { SignalCursor, type SignalUser } from '../signals/signal-cursor.ts'
import type { SignalFeed } from '../signals/signal-feed.ts'
import { evolveSubscription, isSending, type Subscription } from '../state/subscription-state.ts'
import type { Allowance } from './allowance.ts'
import { AttemptBatch } from './attempt-batch.ts'
import { endpointRestMs, isFailing } from './delivery-policy.ts'
import type { DeliveryTarget, DispatcherOptions } from './dispatcher-options.ts'
import type { EndpointLog } from './endpoint-log.ts'
import { type NextDelivery, nextDelivery } from './next-delivery.ts'
import { type AttemptMade, type AttemptUser, sendAttempt, type Work } from './send-attempt.ts'
import type { Slot, Slots, SlotUser } from './slots.ts'

/** Pause before something that failed is tried again. */
const AGAIN_MS = 5_000
/** An endpoint that takes longer than this gets one attempt at a time. */
const SLOW_MS = 1_000
/** Interval at which the cursor of an idle endpoint is recorded, so that a restart reads no further back. */
const CHECKPOINT_MS = 900_000
/** Events after which an endpoint is taken for a working one. */
const TRIED_ANEW: ReadonlySet<ServiceEvent['type']> = new Set(['EndpointChanged', 'SubscriptionResumed'])

/** The parts of a dispatcher that its endpoints share. */
export interface EndpointContext extends DispatcherOptions {
  /** Monotonic clock, milliseconds. */
  readonly elapsed: () => number
  readonly feed: SignalFeed
  readonly slots: Slots
  readonly allowance: Pick<Allowance, 'take' | 'knows'>
  readonly subscriptions: EndpointLog
  /** Bounds how many endpoints read or write their logs at a time. */
  readonly limited: ConcurrencyLimit
  /** Calls `pump` after some milliseconds; for a second and more nothing is needed, since `tick` comes then. */
  readonly wakeIn: (endpoint: Endpoint, milliseconds: number) => void
  /** Called when its subscription is removed. */
  readonly removed: (endpoint: Endpoint) => void
}

/** The shard of an endpoint. */
export interface EndpointPlace {
  readonly shard: number
  /** Fencing token of the lease under which this process has the shard. */
  readonly token: number
  readonly cutOff: AbortSignal
}

/**
 * One endpoint. It asks the log for what it may send: its cursor stands in the delivery log, and what it reads ahead of
 * that is memory only. One that may send has something in flight, or a timer, or waits for a slot, or is at the head of
 * the feed; `tick` checks each of them once a second anyway.
 */
export class Endpoint implements SlotUser, AttemptUser, SignalUser {
  readonly shard: number
  readonly token: number
  readonly cutOff: AbortSignal
  /** When its next timer is due; undefined without one. */
  wakeAtMs: number | undefined
  readonly #context: EndpointContext
  readonly #signals: SignalCursor
  #subscription: Subscription
  #phase: 'loading' | 'ready' | 'closed' = 'loading'
  readonly #openedMs: number
  #loadedMs: number | undefined
  /** Its delivery log, taken over with the first attempt: most endpoints have nothing to be sent for a long while. */
  #log: DeliveryLog | undefined
  #known: Deliveries
  /** Something reads or writes for it; nothing begins meanwhile. */
  #isBusy = false
  /** It missed an event of its stream. */
  #isStale = false
  #isToForgive = false
  readonly #inFlight = new Set<number>()
  #sending = 0
  /** Failed attempts that are not recorded yet; nothing begins before that. */
  #failures = 0
  readonly #batch: AttemptBatch
  #restsUntilMs = 0
  #tookMs = 0
  #target: { readonly url: string; readonly origin: string } | undefined
  /** The account for which POSTs are counted, and the host. */
  #account: Parameters<Allowance['take']>[0]
  #hostWaitSinceMs: number | undefined
  #behindSinceMs: number | undefined
  #writtenMs: number
  #drained: PromiseWithResolvers<void> | undefined

  constructor(subscription: Subscription, place: EndpointPlace, context: EndpointContext) {
    this.shard = place.shard
    this.token = place.token
    this.cutOff = place.cutOff
    this.#context = context
    this.#subscription = subscription
    this.#known = initialDeliveries(subscription)
    const { subscriptionId: id, accountId: countedAs } = subscription
    this.#account = { id, countedAs, tier: 'free', hostname: undefined }
    this.#signals = new SignalCursor(context.feed, this, this.#known.cursor)
    this.#batch = new AttemptBatch(context.elapsed)
    this.#openedMs = context.elapsed()
    this.#writtenMs = this.#openedMs
  }

  get subscription(): Subscription {
    return this.#subscription
  }

  get subscriptionId(): string {
    return this.#subscription.subscriptionId
  }

  get filters(): Subscription['filters'] {
    return this.#subscription.filters
  }

  get owner(): string {
    return this.#subscription.accountId
  }

  get host(): string | undefined {
    return this.#target?.origin
  }

  get deliveries(): Deliveries {
    return this.#log?.state ?? this.#known
  }

  get isSlow(): boolean {
    return this.deliveries.failuresInARow > 0 || this.#tookMs > SLOW_MS
  }

  /** Since when it has not had everything that the log has for it; undefined where it waits by a limit. */
  get behindSinceMs(): number | undefined {
    return this.#behindSinceMs
  }

  /** Since when its logs could not be read; undefined once they were. */
  get loadingSinceMs(): number | undefined {
    return this.#phase === 'loading' ? (this.#loadedMs ?? this.#openedMs) : undefined
  }

  mayBegin(): boolean {
    const { leases } = this.#context
    const isOpen = this.#phase === 'ready' && isSending(this.#subscription)
    return isOpen && leases.held().some(({ shard, token }) => shard === this.shard && token === this.token)
  }

  isKnown(sequence: number): boolean {
    return this.#inFlight.has(sequence) || wasAttempted(this.deliveries, sequence)
  }

  found(): void {
    this.pump()
  }

  /** Something could not be done: it begins again from where the delivery log stands, in a while. */
  failed(error: unknown): void {
    // Another process took the log over: it is read again, should its shard stay here.
    if (isServiceError(error, 'lease_lost')) this.#reload()
    else if (this.#phase !== 'closed' || !isServiceError(error)) this.#context.report(error)
    this.#signals.reset(this.deliveries.cursor)
    this.#rest(AGAIN_MS)
  }

  sendsTo({ url, tier, countedAs }: DeliveryTarget): void {
    this.#account = { ...this.#account, tier, countedAs }
    if (this.#target?.url === url) return
    const { origin, hostname } = new URL(url)
    this.#target = { url, origin }
    this.#account = { ...this.#account, hostname }
  }

  /** Follows an event of its subscription. */
  follow(event: ServiceEvent): void {
    const before = this.#subscription
    if (event.revision <= before.revision) return
    if (event.revision === before.revision + 1) this.#change(evolveSubscription(before, event) ?? before)
    else {
      this.#isStale = true
      this.#reload()
    }
    const { failuresInARow, open } = this.deliveries
    if (TRIED_ANEW.has(event.type) && failuresInARow + open.size > 0) this.#isToForgive = true
    this.pump()
  }

  /** Checks it, as once a second; records the cursor of one that has been idle for long. */
  tick(): void {
    this.pump()
    const nowMs = this.#context.elapsed()
    const cursor = this.#phase === 'ready' ? this.#signals.atHead : undefined
    const isHeld = cursor !== undefined || this.#restsUntilMs > nowMs || !this.mayBegin()
    this.#behindSinceMs = isHeld || isFailing(this.deliveries) ? undefined : (this.#behindSinceMs ?? nowMs)
    if (cursor === undefined || this.#inFlight.size > 0 || nowMs - this.#writtenMs < CHECKPOINT_MS) return
    this.#writtenMs = nowMs
    this.#alone(async () => {
      await this.#takeOver()
      const idle = this.#signals.atHead
      if (idle !== undefined) await this.#log?.advance(idle)
    })
  }

  /** Begins what may begin. Called when the feed moved, a slot fell free, a timer fired, or an attempt ended. */
  pump(): void {
    const { elapsed, now, slots, allowance, wakeIn } = this.#context
    if (this.#batch.isDue) this.#batch.flush(this.#log)
    if (this.#isBusy || this.#phase === 'closed') return
    const restMs = this.#restsUntilMs - elapsed()
    if (restMs > 0) return wakeIn(this, restMs)
    if (this.#phase === 'loading')
      return this.#inFlight.size > 0 ? undefined : this.#alone(() => this.#load())
    if (!isSending(this.#subscription)) return
    if (this.#isAsked) return this.#alone(() => this.#obey())
    while (this.#restsUntilMs <= elapsed()) {
      const waitMs = endpointRestMs(this.deliveries, now())
      if (waitMs > 0) return wakeIn(this, waitMs)
      const next = this.#next()
      if (typeof next === 'number') return wakeIn(this, next)
      if (this.#log === undefined) return this.#alone(() => this.#takeOver())
      const slot = slots.take(this)
      if (slot === undefined) return
      const wait = allowance.take(this.#account)
      if (wait !== undefined) return this.#hold(slot, wait)
      this.#begin(next, slot)
    }
    wakeIn(this, this.#restsUntilMs - elapsed())
  }

  /** Ends it; resolves once what was under way is recorded, and its cursor with it. */
  async close(): Promise<void> {
    const cursor = this.#phase === 'ready' ? this.#signals.atHead : undefined
    this.#phase = 'closed'
    this.#context.slots.drop(this)
    this.#batch.flush(this.#log)
    if (this.#inFlight.size > 0) await (this.#drained = Promise.withResolvers<void>()).promise
    if (cursor !== undefined && this.#log?.isLost === false) await this.#log.advance(cursor)
  }

  #rest(milliseconds: number): void {
    this.#restsUntilMs = Math.max(this.#restsUntilMs, this.#context.elapsed() + milliseconds)
    this.#context.wakeIn(this, milliseconds)
  }

  /** Does one thing with its logs at a time. */
  #alone(work: () => Promise<void>): void {
    if (this.#isBusy) return
    this.#isBusy = true
    this.#context
      .limited(this.owner, work)
      .catch((error: unknown) => this.failed(error))
      .finally(() => {
        this.#isBusy = false
        this.pump()
      })
  }

  #change(subscription: Subscription): void {
    if (subscription.revision < this.#subscription.revision) return
    this.#subscription = subscription
    if (subscription.state === 'removed') this.#context.removed(this)
  }

  #reload(): void {
    if (this.#phase !== 'ready') return
    this.#phase = 'loading'
    this.#loadedMs = this.#context.elapsed()
  }

  async #load(): Promise<void> {
    const { subscriptions, deliveries, directory, allowance } = this.#context
    this.#isStale = false
    const subscription = await subscriptions.newest(this.#subscription)
    this.#known = await deliveries.load(subscription)
    this.#log = undefined
    const target = await directory.target(subscription)
    if (target !== undefined) this.sendsTo(target)
    allowance.knows(this.#account, this.#known.posts)
    this.#change(subscription)
    if (this.#isStale || this.#phase !== 'loading') return
    this.#signals.reset(this.#known.cursor)
    const { failuresInARow, lastAttemptAt } = this.#known
    if (failuresInARow > 0 && subscription.changedAt > (lastAttemptAt ?? 0)) this.#isToForgive = true
    this.#phase = 'ready'
  }

  async #takeOver(): Promise<void> {
    if (this.#log !== undefined) return
    const { deliveries, holder } = this.#context
    this.#log = await deliveries.take(this.#subscription, this.token, holder)
    // A former holder may have gone on since it was read.
    this.#signals.reset(this.#log.state.cursor)
  }

  get #isAsked(): boolean {
    const { moved } = this.#subscription
    const { movedBy } = this.deliveries
    const isMoved = moved !== null && moved.revision > (movedBy ?? -1)
    return isMoved || this.#isToForgive || isToRecover(this.#subscription, this.deliveries)
  }

  /** Does what its owner asked for: moves the cursor, forgives failures, tries again what was given up. */
  async #obey(): Promise<void> {
    await this.#takeOver()
    const [log, subscription] = [this.#log, this.#subscription]
    if (log === undefined) return
    if (this.#isToForgive) await log.forgiveFailures()
    this.#isToForgive = false
    await log.move(subscription, this.#inFlight)
    const { recovery } = subscription
    if (recovery !== null && isToRecover(subscription, log.state)) {
      const asked = { ...recovery, open: log.state.open }
      const { found } = await findExhausted(this.#context.store, this.subscriptionId, asked)
      await log.recover(found, recovery.revision)
    }
    this.#signals.reset(log.state.cursor)
  }

  #next(): NextDelivery | number {
    if (this.#failures > 0) return Number.POSITIVE_INFINITY
    return nextDelivery({
      deliveries: this.deliveries,
      inOrder: this.#subscription.sending.inOrder,
      isSlow: this.isSlow,
      inFlight: this.#inFlight,
      sending: this.#sending,
      now: this.#context.now(),
      newest: () => this.#signals.first(),
    })
  }

  /** Waits where its owner, or its host, has had as much as it may. */
  #hold(slot: Slot, wait: NonNullable<ReturnType<Allowance['take']>>): void {
    const { elapsed, random, directory, report } = this.#context
    if (wait.isForHost) this.#hostWaitSinceMs ??= elapsed()
    // All endpoints of an owner wait for the same moment: a random part decides which of them goes first.
    this.#rest(wait.ms + random() * 100)
    // The slot is given back later, since others that wait for it may have to wait as well, in a long row.
    queueMicrotask(() => slot.ended())
    // The owner may have a new plan by then.
    Promise.resolve(directory.target(this.#subscription))
      .then((target) => target && this.sendsTo(target))
      .catch(report)
  }

  #begin(next: NextDelivery, slot: Slot): void {
    const { perSecond } = this.#subscription.sending
    const nowMs = this.#context.elapsed()
    const work = { ...next, hostWaitMs: Math.round(nowMs - (this.#hostWaitSinceMs ?? nowMs)) }
    this.#hostWaitSinceMs = undefined
    if (perSecond !== null) this.#rest(1_000 / perSecond)
    if (work.matched !== undefined) this.#signals.shift()
    assert(!this.#inFlight.has(work.sequence), 'a delivery is under way once', work.sequence)
    this.#inFlight.add(work.sequence)
    this.#sending += 1
    assert(this.#sending <= LIMITS.webhookAttemptsPerEndpoint, 'an endpoint has few attempts', this.#sending)
    void this.#attempt(work, slot)
  }

  async #attempt(work: Work, slot: Slot): Promise<void> {
    try {
      // Nothing comes between the end of its POST and the count of its failure.
      let made: Awaited<ReturnType<typeof sendAttempt>>
      try {
        made = await sendAttempt(this.#context, this, work)
      } finally {
        this.#sending -= 1
        assert(this.#sending >= 0, 'an attempt ends once', this.#sending)
      }
      if (typeof made !== 'string') await this.#finish(made, work, slot)
      else if (made !== 'needless') this.#signals.reset(this.deliveries.cursor)
      if (made === 'not_begun' && this.mayBegin()) this.#rest(AGAIN_MS)
    } catch (error) {
      this.failed(error)
    } finally {
      this.#inFlight.delete(work.sequence)
      slot.ended()
      if (this.#inFlight.size === 0) this.#drained?.resolve()
      this.pump()
    }
  }

  /** Records an attempt, and does what follows from it. */
  async #finish(made: AttemptMade, { matched }: NextDelivery, slot: Slot): Promise<void> {
    const { metrics, mail, report, wakeIn } = this.#context
    const { attempt, decision, subscription } = made
    const { reason, at, durationMs } = attempt
    const { result, failing, disable } = decision
    const hasFailed = result !== 'delivered'
    this.#tookMs = durationMs
    if (hasFailed) this.#failures += 1
    slot.sent()
    this.pump()
    try {
      const recorded = this.#batch.add(attempt)
      const isLast = this.#sending === 0 || this.#failures > 0 || this.#phase === 'closed'
      if (isLast || this.#batch.isFull) this.#batch.flush(this.#log)
      else wakeIn(this, LIMITS.webhookRecordMs)
      await recorded
      const firstAfterMs = matched && !hasFailed ? at + durationMs - matched.signal.at : undefined
      metrics?.attempt?.({ result, reason, durationMs, firstAfterMs })
      if (failing !== undefined) mail(subscription, { state: 'failing', ...failing }).catch(report)
      if (disable !== undefined) await this.#disable(subscription, disable)
    } finally {
      if (hasFailed) this.#failures -= 1
      assert(this.#failures >= 0, 'a failure is recorded once', this.#failures)
    }
  }

  async #disable(tried: Subscription, reason: string): Promise<void> {
    const { subscriptions, mail, report } = this.#context
    const { subscription, isDisabled } = await subscriptions.disable(tried, reason)
    this.#change(subscription)
    if (!isDisabled) return
    mail(subscription, { state: 'disabled', since: subscription.stateSince, reason }).catch(report)
  }
}
