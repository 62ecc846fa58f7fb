/** The name of a payment on its chain; addresses and nonce in lower case. */
export interface AuthorizationKey {
  readonly payer: `0x${string}`
  readonly nonce: `0x${string}`
}

/** The transfer that an authorization must have brought. */
export interface PaidTransfer extends AuthorizationKey {
  readonly payTo: `0x${string}`
  /** Millionths of a USDC. */
  readonly value: bigint
}

/** A payer's authorization with its signature. */
export interface SignedAuthorization extends PaidTransfer {
  readonly validAfter: bigint
  readonly validBefore: bigint
  /** 65 bytes. */
  readonly signature: `0x${string}`
}

/** The funds and the kind of a payer, as the chain reports them now or did a moment ago. */
export interface PayerStatus {
  /** Millionths of a USDC. */
  readonly balance: bigint
  /** Used for a transfer, or cancelled; false if it was not asked. */
  readonly isNonceUsed: boolean
  /** A contract, or an account that acts as one: the token asks its code instead of the signature. False if it was not asked. */
  readonly hasCode: boolean
}

/** The outcome of an authorization, decided by the logs of the token and nothing else. */
export type AuthorizationOutcome =
  | { readonly kind: 'unused' }
  /** The money is ours, no matter who sent the transaction. */
  | {
      readonly kind: 'paid'
      readonly transaction: `0x${string}`
      readonly blockNumber: number
      readonly blockHash: `0x${string}`
    }
  /** Cancelled by its payer, or used to pay somebody else: the same nonce may have been signed twice. */
  | { readonly kind: 'cancelled'; readonly transaction: `0x${string}` }

/**
 * Reads of the chain. Every request has a time limit; one that the node does not answer rejects with ServiceError
 * `payments_unavailable`, which says nothing about the outcome.
 */
export interface Chain {
  /**
   * The balance comes first, and a payer with less than `least` is asked nothing else about: empty accounts cost nothing
   * to make. Balance and code are remembered for a moment, a nonce never.
   *
   * @param least millionths of a USDC
   */
  payerStatus(key: AuthorizationKey, least: bigint): Promise<PayerStatus>
  /** Also finds transfers that somebody else sent. @param since Unix milliseconds before which it was not signed */
  outcomeOf(transfer: PaidTransfer, since: number): Promise<AuthorizationOutcome>
  /** Time of the newest block, Unix seconds: what the token compares validity with. */
  blockTime(): Promise<number>
  /** Number of the newest block that cannot be undone. */
  finalBlock(): Promise<number>
  /** The hash of the block that has a number now; undefined if there is none yet. */
  blockHash(blockNumber: number): Promise<`0x${string}` | undefined>
  /** The id of the node's chain: 8453 for Base. */
  chainId(): Promise<number>
}
