/** One POST to an endpoint. */
export interface WebhookRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  /**
   * Asked right before the first byte leaves, which may be seconds after it was given to be sent: a connection is
   * waited for. Where it says no, the outcome is `aborted`.
   */
  readonly mayBegin?: () => boolean
}

/** The outcome of one attempt. Every behaviour of the endpoint is an outcome, never an exception. */
export interface SendOutcome {
  /** `answered` with any status; the others say what kept it from answering. */
  readonly kind: 'answered' | 'connect_failed' | 'timed_out' | 'broken_off' | 'url_refused' | 'aborted'
  /** HTTP status; undefined where there was no whole answer: one that breaks off or drips is none. */
  readonly status: number | undefined
  /** Value of `Retry-After` in milliseconds from now; undefined without one that can be read. */
  readonly retryAfterMs: number | undefined
  readonly durationMs: number
  /** The first bytes of the answer as text, or what went wrong in words; at most `LIMITS.webhookResponseKeptBytes`. */
  readonly detail: string
}

/** Sends to addresses of subscribers, and to no other place. */
export interface Sender {
  /** One attempt; within `LIMITS.webhookAttemptMs` it has an outcome. Redirects are not followed. Never rejects. */
  send(request: WebhookRequest, signal?: AbortSignal): Promise<SendOutcome>
  /** Ends connections once what is under way is done. */
  close(): Promise<void>
}
