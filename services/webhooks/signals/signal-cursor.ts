import type { SubscriptionFilter } from '../../../contracts/domain/subscription.ts'
import { assert } from '../../../contracts/errors/assert.ts'
import type { DeliveryCursor } from '../../../contracts/events/delivery-events.ts'
import { comparePositions, type Position } from '../../../contracts/infra/position.ts'
import type { FilterPeriod } from '../state/subscription-state.ts'
import { filterAt, passes, topNOf } from './filter.ts'
import type { FoundSignal } from './found-signals.ts'
import type { Matched } from './signal.ts'
import type { SignalBatch, SignalFeed } from './signal-feed.ts'

/** The subscription that reads. */
export interface SignalUser {
  readonly subscriptionId: string
  /** Every filter it ever had, oldest first. */
  readonly filters: readonly FilterPeriod[]
  /** Whether a numbered signal was attempted, or is being sent. */
  isKnown(sequence: number): boolean
  /** Called when {@link SignalCursor.first} may have found something. */
  found(): void
  /** Called when the log could not be read. */
  failed(error: unknown): void
}

/** Signals that are looked for at a time, so that a page of the past serves for several. */
const AHEAD = 16

/**
 * Reads the log for a subscription: finds its signals one after the other, and numbers them. The numbers follow from
 * the log and the filters, each from the position at which it was set, and from no clock.
 */
export class SignalCursor {
  readonly #feed: Pick<SignalFeed, 'after'>
  readonly #user: SignalUser
  #after: Position
  #sequence: number
  /** Index of the next signal in the feed; -1 where it is not known. */
  #index = -1
  #ahead: Matched[] = []
  #isHead = false
  #search: symbol | undefined

  constructor(feed: Pick<SignalFeed, 'after'>, user: SignalUser, { after, sequence }: DeliveryCursor) {
    this.#feed = feed
    this.#user = user
    this.#after = after
    this.#sequence = sequence
  }

  /** Goes on at another place. */
  reset({ after, sequence }: DeliveryCursor): void {
    assert(sequence >= 1, 'deliveries are numbered from 1', sequence)
    this.#after = after
    this.#sequence = sequence
    this.#index = -1
    this.#ahead = []
    this.#isHead = false
    this.#search = undefined
  }

  /** The next signal; undefined where there is none yet, or it is still looked for: `found` is called then. */
  first(): Matched | undefined {
    if (this.#ahead.length === 0 && this.#search === undefined) this.#look()
    return this.#ahead[0]
  }

  /** Takes the next signal. */
  shift(): void {
    this.#ahead.shift()
  }

  /** The cursor of one that waits for new signals; undefined where it does not. */
  get atHead(): DeliveryCursor | undefined {
    this.first()
    const isHead = this.#isHead && this.#ahead.length === 0 && this.#search === undefined
    return isHead ? { after: this.#after, sequence: this.#sequence } : undefined
  }

  #look(): void {
    for (let isHead = false; !isHead && this.#ahead.length === 0 && this.#search === undefined; ) {
      const batch = this.#feed.after(this.#after, this.#index)
      if (batch instanceof Promise) return this.#later(batch, (read) => this.#scan(read))
      this.#scan(batch)
      isHead = batch.isHead
    }
  }

  #scan(batch: SignalBatch): void {
    const { signals, to, first, end, isHead } = batch
    this.#isHead = false
    for (let at = batch.from; at < to; at++) {
      const found = signals[at]
      if (found === undefined) return
      if (this.#ahead.length >= AHEAD) return
      const filter = filterAt(this.#user.filters, found.signal.position)
      const isWanted = filter !== undefined && passes(filter, found)
      const next = first < 0 ? -1 : first + at + 1
      if (isWanted instanceof Promise) {
        return this.#later(isWanted, (isPassed) => {
          this.#take(found, isPassed ? filter : undefined, next)
          this.#scan({ ...batch, from: at + 1 })
        })
      }
      this.#take(found, isWanted ? filter : undefined, next)
    }
    this.#isHead = isHead
    const order = comparePositions(end, this.#after)
    if (order > 0) this.#after = end
    // A cursor may be ahead of what this process has read.
    this.#index = first < 0 || order < 0 ? -1 : first + to
  }

  #take({ signal }: FoundSignal, filter: SubscriptionFilter | undefined, next: number): void {
    assert(comparePositions(signal.position, this.#after) > 0, 'reading never goes back', signal.position)
    this.#after = signal.position
    this.#index = next
    if (filter === undefined) return
    const { subscriptionId } = this.#user
    const sequence = this.#sequence++
    if (!this.#user.isKnown(sequence))
      this.#ahead.push({ subscriptionId, sequence, signal, topN: topNOf(filter, signal) })
  }

  /** Goes on once something was read, unless it was reset meanwhile. */
  #later<Value>(reading: Promise<Value>, next: (value: Value) => void): void {
    const search = Symbol('search')
    this.#search = search
    const end = async (): Promise<void> => {
      try {
        const value = await reading
        if (this.#search !== search) return
        this.#search = undefined
        next(value)
        this.#user.found()
      } catch (error) {
        if (this.#search !== search) return
        this.#search = undefined
        this.#user.failed(error)
      }
    }
    void end()
  }
}
