import type { NewEvent, RecordedEvent, Revision } from '../../contracts/infra/event.ts'
import type { Position } from '../../contracts/infra/position.ts'

/** The newest revision that a stream must have for an append to happen. */
export type ExpectedRevision = 'no-stream' | Revision

export interface AppendResult {
  readonly revision: Revision
  readonly position: Position
  /** True when these events were in the log already: a retry of an append that had happened. */
  readonly replayed: boolean
}

export interface ReadOptions {
  /** First revision, inclusive: by default the first (forwards) or the last (backwards) of the stream. */
  readonly from?: Revision
  readonly to?: Revision
  readonly direction?: 'forwards' | 'backwards'
  readonly limit?: number
  readonly signal?: AbortSignal
  readonly lazy?: boolean
}

/** Events that match every given part; a list matches when any of its entries does. */
export interface EventFilter {
  readonly streamPrefixes?: readonly string[]
  readonly types?: readonly string[]
}

export interface ReadAllOptions {
  /** Exclusive; the whole log without it. */
  readonly after?: Position
  /** Inclusive: a position, or the instant up to which events were appended. */
  readonly upTo?: Position | Date
  readonly filter?: EventFilter
  readonly limit?: number
  readonly signal?: AbortSignal
  /** Parses `data` and `meta` no sooner than they are read, where the store can. */
  readonly lazy?: boolean
  /** Awaited now and then, once what was given has been taken: how far was looked, also where nothing matched. */
  readonly onLooked?: (looked: LookedAt) => Promise<void>
}

export interface LookedAt {
  /** All up to here, inclusive, was given. */
  readonly upTo: Position
  /** Events that were looked at since the last time, about. */
  readonly events: number
}

export interface StreamNames {
  readonly names: readonly string[]
  /** Up to here, inclusive, no event is in a stream that is not among them. */
  readonly upTo: Position
}

export interface SubscribeOptions {
  /** Exclusive; `'end'` starts with what is appended from now on. */
  readonly after: Position | 'end'
  readonly filter?: EventFilter
  /** Ends the subscription: the iteration returns, it does not throw. */
  readonly signal: AbortSignal
}

export type SubscriptionItem =
  | { readonly kind: 'event'; readonly event: RecordedEvent }
  /** Everything up to here was looked at; the position to resume after, also where nothing matched. */
  | { readonly kind: 'checkpoint'; readonly position: Position }
  /** All that was in the log when the subscription looked has been given; sent again after each catch-up. */
  | { readonly kind: 'caught-up'; readonly position: Position }

export interface StoreHealth {
  readonly ok: boolean
  readonly adapter: string
  readonly detail: string
  /** Version of the server, as it says itself, and its name by that. */
  readonly version?: string | undefined
  readonly server?: string
  readonly head?: Position
  /** A delay of the store, although it answers. */
  readonly late?: string | undefined
}

/**
 * The append-only log. Three adapters (embedded, memory, EventStoreDB) pass one contract suite
 * (`event-store.contract.ts`), which is the full statement of what holds.
 *
 * - An append is durable before its promise resolves, and atomic: all its events, or none. A store may give its events to
 *   those who follow the log, so nobody changes them afterwards.
 * - Events of one append are neighbours in the global order; positions rise in commit order.
 * - Repeating an append with the same ids and an explicit expected revision answers as the first time, with
 *   `replayed: true`. The same id with another type, schema or data is an `idempotency_conflict`. `meta` is
 *   not compared: it tells how an event came about, which may differ between two tries.
 * - Names, ids and data are checked before anything is sent (`event_invalid`).
 * - Streams named `subject-…` hold what must be forgotten on demand. They are read by name only: `readAll`
 *   and subscriptions leave them out, so that nothing that follows from the log holds a copy.
 *
 * Errors are {@link ServiceError}s: `revision_conflict` with `details: { expected, actual }` (`actual` null
 * for a missing stream), `idempotency_conflict`, `payload_too_large`, `stream_erased`, `append_unknown` (repeat with the same
 * ids and revision), `store_unavailable`, `store_full`, `event_invalid`.
 */
export interface EventStore {
  append(
    stream: string,
    events: readonly NewEvent[],
    options: { readonly expected: ExpectedRevision },
  ): Promise<AppendResult>
  /** A missing stream reads as empty. */
  read(stream: string, options?: ReadOptions): AsyncIterable<RecordedEvent>
  readAll(options?: ReadAllOptions): AsyncIterable<RecordedEvent>
  /** Never ends by itself: it outlives restarts of the store behind it. */
  subscribe(options: SubscribeOptions): AsyncIterable<SubscriptionItem>
  /**
   * Ends a stream named `subject-…` for good: it reads as empty and takes no events (`stream_erased`). Other events keep
   * their positions. May be repeated.
   */
  erase(stream: string): Promise<void>
  /** Position of the newest event, `START` in an empty log. */
  head(): Promise<Position>
  /** Streams whose names begin so; undefined, or no such method, where the store would have to read the log for it. */
  streams?(prefix: string): StreamNames | undefined
  health(): Promise<StoreHealth>
  /** Waits for what was accepted, then refuses everything. Safe to call twice. */
  close(): Promise<void>
}
