/**
 * Consequence of a failed request for the next one. `passing`: it may work when repeated. `barred`: the venue, or a
 * firewall before it, blocks us, and further requests prolong the ban. `unknown_symbol`: the venue does not have the
 * market (any more). `refused`: this request will always fail.
 */
export type VenueFailureKind = 'passing' | 'barred' | 'unknown_symbol' | 'refused'

/** A failed request to a venue. */
export class VenueFailure extends Error {
  override readonly name = 'VenueFailure'
  readonly kind: VenueFailureKind
  /** How long the venue asked to be left alone. */
  readonly retryAfterMs: number | undefined
  /** The kind of error, for anybody: without addresses. */
  readonly reason: string

  constructor(
    kind: VenueFailureKind,
    message: string,
    options: { retryAfterMs?: number; reason?: string; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? {} : { cause: options.cause })
    this.kind = kind
    this.retryAfterMs = options.retryAfterMs
    this.reason = options.reason ?? 'no usable answer'
  }
}
