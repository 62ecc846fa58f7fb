import { assert } from '../../../contracts/errors/assert.ts'
import { decodeEvent, type EventType, type ServiceEvent } from '../../../contracts/events/event-catalogue.ts'
import { comparePositions, type Position } from '../../../contracts/infra/position.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { EventStore } from '../../log/event-store.ts'
import { createConcurrencyLimit } from '../../runtime/admission/concurrency-limit.ts'
import { SUBSCRIPTION_EVENTS } from '../state/subscription-state.ts'
import { createSignalReader, type FoundSignal } from './found-signals.ts'
import { SIGNAL_EVENTS } from './to-signals.ts'

/** Signals in the order of the log: those in `signals` from the index `from` on, and before the index `to`. */
export interface SignalBatch {
  readonly signals: readonly FoundSignal[]
  readonly from: number
  readonly to: number
  /** All signals up to this position are in it. */
  readonly end: Position
  /** Nothing comes after it yet. */
  readonly isHead: boolean
  /** Index of its first signal among all that the feed has met; -1 in a page of the past. */
  readonly first: number
}

/** A part of the past: the signals after one position, up to another. */
interface Page {
  readonly after: Position
  readonly end: Position
  readonly signals: readonly FoundSignal[]
}

const OF_SUBSCRIPTIONS: ReadonlySet<string> = new Set(SUBSCRIPTION_EVENTS)
const PAGE_TYPES = [...SIGNAL_EVENTS, 'UniverseRanked'] as const satisfies readonly EventType[]
const FEED_TYPES = [...PAGE_TYPES, ...SUBSCRIPTION_EVENTS]
const PAGE_EVENTS = 512
const PAGES_KEPT = 16
const PAGES_AT_ONCE = 4
/** Events after which those who wait are woken, while more are read. */
const WAKE_EVENTS = 256

export interface SignalFeedOptions {
  readonly store: EventStore
  /** Position from which on the log is followed, exclusive. */
  readonly after: Position
  /** Called with each event of a subscription, before the signals after it can be read. */
  readonly onSubscription: (event: ServiceEvent) => void
  /** Called when there may be new signals. */
  readonly onMoved: () => void
  readonly signal: AbortSignal
}

/**
 * Follows the log for all endpoints of a process. The newest signals are in memory, and the past is read in pages, which
 * endpoints that read the same part of it share.
 */
export class SignalFeed {
  readonly #options: SignalFeedOptions
  readonly #read
  #position: Position
  #signals: FoundSignal[] = []
  /** Index of the first signal in memory, and the position after which all signals are there. */
  #first = 0
  #windowAfter: Position
  #pages: readonly Page[] = []
  readonly #paged = createConcurrencyLimit(PAGES_AT_ONCE)
  #isFollowing = false
  #isAskedAgain = false

  constructor(options: SignalFeedOptions) {
    this.#options = options
    this.#read = createSignalReader(options.store)
    this.#position = options.after
    this.#windowAfter = options.after
  }

  /** Everything up to here was read. */
  get position(): Position {
    return this.#position
  }

  /**
   * Reads what is new in the log; a call meanwhile lets it look at the end once more, and answers at once.
   *
   * @returns whether this call has read up to the end
   * @throws ServiceError those of the store
   */
  async follow(): Promise<boolean> {
    this.#isAskedAgain = true
    if (this.#isFollowing) return false
    this.#isFollowing = true
    try {
      while (this.#isAskedAgain && !this.#options.signal.aborted) {
        this.#isAskedAgain = false
        await this.#readOn()
      }
      return true
    } finally {
      this.#isFollowing = false
    }
  }

  /** Reads the events of subscriptions between a position and where the feed is: they were not read for new endpoints. */
  async repeatSubscriptions(from: Position): Promise<void> {
    const { store, onSubscription, signal } = this.#options
    const upTo = this.#position
    if (comparePositions(from, upTo) >= 0) return
    const reading = { after: from, upTo, filter: { types: SUBSCRIPTION_EVENTS }, signal }
    for await (const recorded of store.readAll(reading)) onSubscription(decodeEvent(recorded))
  }

  /**
   * Signals after a position: at once where they are in memory.
   *
   * @param index of the first signal after it among all that the feed has met, where that is known; else -1
   */
  after(position: Position, index: number): SignalBatch | Promise<SignalBatch> {
    let from = index - this.#first
    if (index < 0 || from < 0) {
      if (comparePositions(position, this.#windowAfter) < 0) return this.#past(position)
      from = firstAfter(this.#signals, position)
    }
    const [signals, first, end] = [this.#signals, this.#first, this.#position]
    return { signals, from, to: signals.length, end, isHead: true, first }
  }

  async #readOn(): Promise<void> {
    const { store, signal, onSubscription } = this.#options
    // The end is asked for first, so that what is not of interest need not be looked at again.
    const upTo = await store.head()
    if (comparePositions(upTo, this.#position) <= 0) return
    let read = 0
    for await (const recorded of store.readAll({
      after: this.#position,
      upTo,
      filter: { types: FEED_TYPES },
      signal,
    })) {
      const event = decodeEvent(recorded)
      assert(comparePositions(event.position, this.#position) > 0, 'the feed only moves on', event.position)
      if (OF_SUBSCRIPTIONS.has(event.type)) onSubscription(event)
      this.#signals.push(...this.#read(event))
      this.#position = event.position
      if (++read % WAKE_EVENTS === 0) this.#moved()
    }
    if (!signal.aborted && comparePositions(upTo, this.#position) > 0) this.#position = upTo
    this.#moved()
  }

  #moved(): void {
    const most = LIMITS.webhookSignalsKept
    if (this.#signals.length >= 1.5 * most) {
      const dropped = this.#signals.length - most
      this.#windowAfter = this.#signals[dropped - 1]?.signal.position ?? this.#windowAfter
      this.#signals = this.#signals.slice(dropped)
      this.#first += dropped
    }
    this.#options.onMoved()
  }

  #past(position: Position): SignalBatch | Promise<SignalBatch> {
    return this.#known(position) ?? this.#paged('', () => this.#readPage(position))
  }

  #known(position: Position): SignalBatch | undefined {
    const page = this.#pages.find(
      ({ after, end }) => comparePositions(after, position) <= 0 && comparePositions(position, end) < 0,
    )
    return page && batchOf(page, position)
  }

  async #readPage(after: Position): Promise<SignalBatch> {
    const known = this.#known(after)
    if (known !== undefined) return known
    const { store, signal } = this.#options
    const upTo = this.#windowAfter
    const read = createSignalReader(store)
    const signals: FoundSignal[] = []
    let events = 0
    let end = upTo
    const reading = { after, upTo, filter: { types: PAGE_TYPES }, limit: PAGE_EVENTS, signal }
    for await (const recorded of store.readAll(reading)) {
      signals.push(...read(decodeEvent(recorded)))
      events += 1
      if (events === PAGE_EVENTS) end = recorded.position
    }
    signal.throwIfAborted()
    assert(comparePositions(end, after) > 0, 'a page has a length', end)
    const page = { after, end, signals }
    this.#pages = [...this.#pages.slice(1 - PAGES_KEPT), page]
    return batchOf(page, after)
  }
}

const batchOf = ({ signals, end }: Page, position: Position): SignalBatch => ({
  signals,
  from: firstAfter(signals, position),
  to: signals.length,
  end,
  isHead: false,
  first: -1,
})

/** Index of the first signal after a position, found by halving. */
function firstAfter(signals: readonly FoundSignal[], position: Position): number {
  let [low, high] = [0, signals.length]
  while (low < high) {
    const middle = (low + high) >> 1
    const at = signals[middle]?.signal.position ?? position
    if (comparePositions(at, position) > 0) high = middle
    else low = middle + 1
  }
  return low
}
