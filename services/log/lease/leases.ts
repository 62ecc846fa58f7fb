/** A share of work that one process has at a time. */
export interface Lease {
  readonly shard: number
  /** Rises whenever the shard changes hands: the holder of a lower one has lost it. */
  readonly token: number
}

/**
 * Shares the numbered shards of a group of work among the processes that do it, through the log. A process that
 * dies loses its shards within seconds; one that joins is given its part.
 */
export interface Leases {
  /**
   * Takes part until the signal, then gives everything back. `gained` and `lost` are called one at a time for each
   * shard; `lost` must have stopped the work when it resolves, and nobody else has the shard before.
   */
  run(
    work: {
      readonly gained: (lease: Lease) => Promise<void>
      readonly lost: (lease: Lease) => Promise<void>
    },
    signal: AbortSignal,
  ): Promise<void>
  /** Leases held now. */
  held(): readonly Lease[]
}
