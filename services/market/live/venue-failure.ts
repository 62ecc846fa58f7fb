/**
 * What a failed request to a venue means for the next one: `passing` may work when repeated, `barred` says that the
 * venue, or what stands before it, does not let us in, which asking on prolongs; `unknown_symbol` that the venue does
 * not have the market (any more), `refused` that this request will fail again however often it is sent.
 */
export type VenueFailureKind = 'passing' | 'barred' | 'unknown_symbol' | 'refused'

/** A failed request to a venue. */
export class VenueFailure extends Error {
  override readonly name = 'VenueFailure'
  readonly kind: VenueFailureKind
  /** How long the venue asked to be left alone. */
  readonly retryAfterMs: number | undefined

  constructor(
    kind: VenueFailureKind,
    message: string,
    options: { retryAfterMs?: number; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? {} : { cause: options.cause })
    this.kind = kind
    this.retryAfterMs = options.retryAfterMs
  }
}
