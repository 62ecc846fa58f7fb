import type { ServiceError } from '../../../contracts/errors/errors.ts'
import type { Json } from '../../../contracts/infra/json.ts'

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

/** Receives faults that no caller waits for: a lost connection, a failed answer. */
export type ReportFault = (fault: ServiceError) => void

/**
 * Wakes listeners and carries requests between processes of one log. It stores nothing: the event log is the truth, and
 * a listener that missed a notification reads the log at its next regular turn. Two adapters (in-process, NATS) pass
 * one contract suite (`bus.contract.ts`).
 *
 * - `notify` reaches everyone who listens to the subject at that moment, at most once, in every process of the log.
 * - A listener outlives restarts of the server. Notifications sent during an outage are lost.
 * - `notify` and `request` do not hang: without the server they reject at once or within their time.
 * - A request that nobody serves is refused at once.
 *
 * Errors are {@link ServiceError}s: `dependency_unavailable`, `payload_too_large` past `LIMITS.busMessageBytes`,
 * and `internal_error` for an invalid subject or body, which is a fault of the calling code.
 */
export interface Bus {
  /** Tells every listener of the subject that there is something new. Resolves when the message is sent. */
  notify(subject: string): Promise<void>
  /** Calls `listener` at each notification until the signal. The listener must not throw. */
  listen(subject: string, listener: () => void, options: { readonly signal: AbortSignal }): void
  /** The answer of one of those that serve the subject. */
  request(subject: string, body: Json, options: { readonly timeoutMs: number }): Promise<Json>
  /** Answers requests until the signal; those who serve the same subject share them. */
  serve(subject: string, handler: RequestHandler, options: { readonly signal: AbortSignal }): void
  health(): Promise<BusHealth>
  /** Ends listening and serving, lets answers under way finish, then refuses everything. Safe to call twice. */
  close(): Promise<void>
}
