import type { ServiceError } from '../../../contracts/errors.ts'
import type { Json } from '../../../contracts/json.ts'

/** How long a message may stay without an acknowledgement before it is delivered again. */
export const BUS_ACK_WAIT_MS = 30_000
/** Within this time a message with an id that was published already is dropped. */
export const BUS_DUPLICATE_WINDOW_MS = 120_000

export interface OutgoingMessage {
  /** Names the fact, not the try: publishing again with the same id is how a publish is retried. */
  readonly id: string
  /** Begins with `signal.`; no wildcards. */
  readonly subject: string
  readonly body: Json
}

export interface PublishResult {
  /** True when the bus had a message with this id already and dropped this one. */
  readonly duplicate: boolean
}

export interface BusMessage extends OutgoingMessage {
  /** True when it was sent to some consumer before: it may have been handled, or not. */
  readonly redelivered: boolean
  /** Says that it is handled. An acknowledgement lost on its way only means that it comes again. */
  ack(): void
}

export interface ConsumeOptions {
  /** Consumers of one name share its messages, in this process and in others. One token. */
  readonly name: string
  /** Subjects or patterns, none overlapping another: `*` is one token, a last `>` is one or more. */
  readonly subjects: readonly string[]
  /** Ends the consumption: the iteration returns, it does not throw. */
  readonly signal: AbortSignal
  /** Messages held unacknowledged by this consumer, for each of `subjects`; by default `LIMITS.busInFlight`. */
  readonly maxInFlight?: number
  /**
   * When nobody has consumed under the name for so long, it is as if it had never been: for names that do not come
   * back. By default a name is kept.
   */
  readonly forgetAfterMs?: number
}

/** The messages of a consumer, to be iterated once. It takes messages from the call on. */
export interface Consumption extends AsyncIterable<BusMessage> {
  /** Resolves when all that is published from then on is delivered, or when it ended before; never rejects. */
  readonly established: Promise<void>
}

/** Answers a request. A ServiceError it throws reaches the requester with its code and message. */
export type RequestHandler = (body: Json) => Promise<Json>

export interface BusHealth {
  readonly ok: boolean
  /** `in-process` or `nats`. */
  readonly adapter: string
  readonly detail: string
  /** Version of the server, as it says itself. */
  readonly version?: string | undefined
}

/** Where an adapter tells of faults that no caller is waiting for: a lost connection, an unreadable message. */
export type ReportFault = (fault: ServiceError) => void

/**
 * Wakes and distributes; never the truth, which is the event log. What the bus drops or repeats is healed
 * from the log by position. Two adapters (in-process, NATS JetStream) pass one contract suite
 * (`bus.contract.ts`), which is the full statement of what holds.
 *
 * - `publish` resolves when the bus has taken the message: in memory in-process, in the stream's file with
 *   NATS, where it outlives a kill of the server.
 * - Every consumer name gets every message published to its subjects since the name was first established,
 *   each at least once: until one of its consumers acknowledges it, it is delivered again after
 *   `BUS_ACK_WAIT_MS`. Order is kept as long as nothing is delivered again and one consumer iterates.
 * - A message that comes twice has the same id. The same id published again within
 *   `BUS_DUPLICATE_WINDOW_MS` is dropped.
 * - A consumer that stays away is not waited for: past the bus's bounds its oldest messages are dropped, and past
 *   its `forgetAfterMs` so is its name.
 * - A consumption outlives restarts of the server behind it. `request` and `publish` do not hang: without
 *   the server they reject within their time.
 * - Requests are not stored: one that nobody serves is refused at once.
 *
 * Errors are {@link ServiceError}s: `bus_unavailable`, `payload_too_large` past `LIMITS.busMessageBytes`,
 * and `internal_error` for a subject, name, id or body that is not one, which is a fault of the calling code.
 *
 * @example
 * const consumption = bus.consume({ name: 'dispatcher', subjects: ['signal.trade_call.>'], signal })
 * await bus.publish({ id: event.id, subject: 'signal.trade_call.SIM.BTC.1m', body: { position: '17' } })
 * for await (const message of consumption) message.ack()
 *
 * @example
 * bus.serve('engine.verdict', async (body) => ({ asked: body }), { signal })
 * await bus.request('engine.verdict', { coin: 'BTC' }, { timeoutMs: 1_000 })
 */
export interface Bus {
  publish(message: OutgoingMessage): Promise<PublishResult>
  consume(options: ConsumeOptions): Consumption
  /** The answer of one of those that serve the subject. */
  request(subject: string, body: Json, options: { readonly timeoutMs: number }): Promise<Json>
  /** Answers requests until the signal; those who serve the same subject share them. */
  serve(subject: string, handler: RequestHandler, options: { readonly signal: AbortSignal }): void
  health(): Promise<BusHealth>
  /** Ends consumptions, lets answers under way finish, then refuses everything. Safe to call twice. */
  close(): Promise<void>
}
