import { assert } from '../../../contracts/assert.ts'
import type { DeliveryCursor } from '../../../contracts/delivery-events.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Tier } from '../../../contracts/plans.ts'
import type { DeliveryJournal } from '../deliveries/delivery-journal.ts'
import { type Deliveries, wasAttempted } from '../deliveries/delivery-state.ts'
import type { Matched } from '../signals/signal.ts'
import type { Subscription } from '../state/subscription-state.ts'
import { decideEndpoint, sequenceOf } from './decide-endpoint.ts'
import type { DeliveryTarget } from './dispatcher-options.ts'
import {
  type Effect,
  type EndpointItem,
  type EndpointState,
  type Input,
  initialEndpoint,
  isNewsTurn,
  mayBegin,
  nextToProbe,
  type Pace,
  type Situation,
} from './endpoint-state.ts'
import type { QueuedSignals } from './queued-signals.ts'
import type { Schedulable } from './scheduler.ts'

/** The part of the situation that an endpoint does not hold itself. */
export type Surroundings = Omit<Situation, 'deliveries' | 'queued' | 'underWay'>

/** Attempts of one endpoint that wait to be recorded; past it the log is too slow for more. */
const MOST_UNDER_WAY = 64

/**
 * One endpoint: its state, its queue, and its attempts under way. Only `handle` changes the state: it decides over
 * each input and returns the effects.
 */
export class Endpoint implements Schedulable {
  readonly shard: number
  readonly token: number
  #state: EndpointState
  /** Its delivery log, once we own it; undefined before the first attempt. */
  #journal: DeliveryJournal | undefined
  #taking: Promise<DeliveryJournal> | undefined
  /** State of its delivery log when it was read, while we do not own the log and it has open deliveries. */
  #loaded: Deliveries | undefined
  #hostWaitSince: number | undefined
  #host: { readonly url: string; readonly origin: string; readonly hostname: string } | undefined
  #tier: Tier = 'free'
  #countedAs: string | undefined
  readonly #signals: QueuedSignals
  /** Sequences whose next try is due. */
  readonly #due = new Set<number>()
  /** Sequences that are being sent or recorded. */
  readonly #underWay = new Set<number>()
  #attempts = 0

  constructor(
    subscription: Subscription,
    place: {
      readonly shard: number
      readonly token: number
      readonly readFrom: DeliveryCursor
      readonly nowMs: number
      readonly signals: QueuedSignals
    },
  ) {
    this.shard = place.shard
    this.token = place.token
    this.#signals = place.signals
    this.#state = initialEndpoint(subscription, place)
  }

  get id(): string {
    return this.#state.subscription.subscriptionId
  }

  get state(): EndpointState {
    return this.#state
  }

  get journal(): DeliveryJournal | undefined {
    return this.#journal
  }

  /** State of its delivery log; undefined before it was read, or while we do not own it and nothing is open. */
  get deliveries(): Deliveries | undefined {
    return this.#journal?.state ?? this.#loaded
  }

  get queued(): number {
    return this.#signals.size
  }

  get underWay(): ReadonlySet<number> {
    return this.#underWay
  }

  /** Attempts under way. */
  get attempts(): number {
    return this.#attempts
  }

  /** Origin of its address, once known: endpoints of one host share its slots. */
  get host(): string | undefined {
    return this.#host?.origin
  }

  /** Its host without the port: that is what free accounts share. */
  get hostname(): string | undefined {
    return this.#host?.hostname
  }

  /** Plan of its owner, as far as it is known. */
  get tier(): Tier {
    return this.#tier
  }

  /** The name under which its owner's POSTs are counted; its account before another is known. */
  get countedAs(): string {
    return this.#countedAs ?? this.owner
  }

  get owner(): string {
    return this.#state.subscription.accountId
  }

  get pace(): Pace {
    return this.#state.pace
  }

  get isBehind(): boolean {
    return this.#state.source === 'behind'
  }

  get mayBegin(): boolean {
    return mayBegin(this.#state)
  }

  /** Whether the next attempt only waits for its moment. */
  get isPaced(): boolean {
    return this.#state.restsUntilMs !== undefined
  }

  /** Whether nothing waits, and nothing is under way. */
  get isIdle(): boolean {
    return this.queued === 0 && this.#due.size === 0 && this.#attempts === 0
  }

  /**
   * Its delivery log, taken over with the first attempt: most endpoints have nothing to be sent for a long while.
   *
   * @param take called once, until it succeeds
   */
  async own(take: () => Promise<DeliveryJournal>): Promise<DeliveryJournal> {
    if (this.#journal !== undefined) return this.#journal
    this.#taking ??= take().finally(() => {
      this.#taking = undefined
    })
    this.#journal = await this.#taking
    this.#loaded = undefined
    return this.#journal
  }

  /** Keeps the delivery log that was read; the input `loaded` follows. */
  knows(deliveries: Deliveries): void {
    if (this.#journal === undefined) this.#loaded = deliveries
  }

  sendsTo({ url, tier, countedAs }: Pick<DeliveryTarget, 'url' | 'tier' | 'countedAs'>): void {
    this.#tier = tier
    this.#countedAs = countedAs
    if (this.#host?.url === url) return
    const { origin, hostname } = new URL(url)
    this.#host = { url, origin, hostname }
  }

  /** It waits for its owner's turn at a host that free accounts share; the clock is monotonic. */
  waitsForHostSince(nowMs: number): void {
    this.#hostWaitSince ??= nowMs
  }

  /** How long the attempt that begins now has waited for that, in milliseconds. */
  endHostWait(nowMs: number): number {
    const since = this.#hostWaitSince ?? nowMs
    this.#hostWaitSince = undefined
    return Math.round(nowMs - since)
  }

  situation(surroundings: Surroundings): Situation {
    const { deliveries, queued } = this
    return { ...surroundings, deliveries, queued, underWay: this.#attempts }
  }

  /** Decides over an input. @returns the effects for the caller to perform */
  handle(input: Input, surroundings: Surroundings): readonly Effect[] {
    const { state, effects } = decideEndpoint(this.#state, input, this.situation(surroundings))
    this.#state = state
    if (input.kind === 'loaded' && this.#loaded?.open.size === 0) this.#loaded = undefined
    return effects.length === 0 ? effects : effects.filter((effect) => !this.#takeIn(effect))
  }

  /** Performs an effect on the own queues. @returns false for any other effect */
  #takeIn(effect: Effect): boolean {
    if (effect.kind === 'drop_queue') this.#signals.clear()
    else if (effect.kind === 'retry') for (const sequence of effect.sequences) this.#due.add(sequence)
    else return false
    if (this.#state.phase === 'closed') this.#due.clear()
    return true
  }

  /** Whether the queue takes one more signal; of a degraded endpoint only one, for its probe. */
  get hasRoom(): boolean {
    return this.#state.health.state === 'degraded' ? this.queued === 0 : this.#signals.hasRoom
  }

  /** Queues a signal that was not attempted yet. @returns false where there is no room */
  offer(matched: Matched, weight: number): boolean {
    const { sequence } = matched
    const deliveries = this.deliveries
    // A reading that failed on its way is repeated from its beginning.
    if (sequence <= (this.#signals.last ?? 0)) return true
    if (this.#underWay.has(sequence) || (deliveries !== undefined && wasAttempted(deliveries, sequence)))
      return true
    if (!this.hasRoom) return false
    this.#signals.push(matched, weight)
    return true
  }

  /** Whether {@link take} would return something. */
  get hasWork(): boolean {
    if (!this.mayBegin || this.#attempts >= MOST_UNDER_WAY) return false
    if (this.#state.restsUntilMs !== undefined) return false
    if (this.#state.health.state === 'degraded') return this.#isProbeReady()
    return this.#nextDue() !== undefined || (this.queued > 0 && this.#hasRoomForNew())
  }

  #isProbeReady(): boolean {
    const { isProbeDue } = this.#state
    if (!isProbeDue || this.#attempts > 0) return false
    return this.queued > 0 || nextToProbe(this.deliveries, this.#underWay) !== undefined
  }

  /**
   * Takes what is to be sent next: what is due again before what is new. A degraded endpoint gets one probe.
   */
  take(): EndpointItem | undefined {
    const item = this.#state.health.state === 'degraded' ? this.#takeProbe() : this.#takeNext()
    if (item === undefined) return undefined
    this.#attempts += 1
    assert(this.#attempts <= MOST_UNDER_WAY, 'the attempts of an endpoint are bounded', this.#attempts)
    const sequence = sequenceOf(item)
    assert(!this.#underWay.has(sequence), 'a delivery is under way once', sequence)
    this.#underWay.add(sequence)
    return item
  }

  #takeNext(): EndpointItem | undefined {
    for (let sequence = this.#nextDue(); sequence !== undefined; sequence = this.#nextDue()) {
      this.#due.delete(sequence)
      const isOpen = this.deliveries?.open.has(sequence) === true
      if (isOpen && !this.#underWay.has(sequence)) return { kind: 'retry', sequence }
    }
    const matched = this.#hasRoomForNew() ? this.#signals.shift() : undefined
    return matched && { kind: 'first', matched }
  }

  /**
   * After a refused probe the next one carries a delivery that was never sent: the endpoint may have refused only the
   * body.
   */
  #takeProbe(): EndpointItem | undefined {
    if (!this.#isProbeReady()) return undefined
    const isNews = isNewsTurn(this.#state) && this.queued > 0 && this.#hasRoomForNew()
    const sequence = isNews ? undefined : (this.#firstOpen ?? nextToProbe(this.deliveries, this.#underWay))
    const matched = sequence === undefined ? this.#signals.shift() : undefined
    if (sequence === undefined && matched === undefined) return undefined
    return matched === undefined ? { kind: 'retry', sequence: sequence ?? 0 } : { kind: 'first', matched }
  }

  get #isInOrder(): boolean {
    return this.#state.subscription.sending.inOrder
  }

  /** The retry that comes next: of an endpoint that wants order the first of all that wait, with nothing under way. */
  #nextDue(): number | undefined {
    const [oldest] = this.#due
    if (!this.#isInOrder || oldest === undefined) return oldest
    const first = this.#firstOpen ?? Number.NaN
    return this.#underWay.size === 0 && this.#due.has(first) ? first : undefined
  }

  /** The first of all that wait for another try, where the endpoint wants order. */
  get #firstOpen(): number | undefined {
    const open = this.deliveries?.open
    return this.#isInOrder && open !== undefined && open.size > 0 ? Math.min(...open.keys()) : undefined
  }

  /** Whether a signal that was not tried yet may be begun, with all that waits for another try. */
  #hasRoomForNew(): boolean {
    const open = this.deliveries?.open.size ?? 0
    if (this.#isInOrder) return open + this.#underWay.size === 0
    return open + this.#underWay.size < LIMITS.webhookOpenDeliveries
  }

  /** Sending and recording are over, or were given up. */
  ended(item: EndpointItem): void {
    this.#attempts -= 1
    assert(this.#attempts >= 0, 'an attempt ends once', this.#attempts)
    this.#underWay.delete(sequenceOf(item))
  }
}
