/** What a payment is named by on its chain; addresses and nonce in lower case. */
export interface AuthorizationKey {
  readonly payer: `0x${string}`
  readonly nonce: `0x${string}`
}

/** What a payer can do, as the chain says now or said a moment ago. */
export interface PayerFacts {
  /** Millionths of a USDC. */
  readonly balance: bigint
  /** Used for a transfer, or cancelled. */
  readonly isNonceUsed: boolean
  /** A contract, or an account that acts as one: the token asks its code instead of the signature. */
  readonly hasCode: boolean
}

/** What became of an authorization, decided by the logs of the token and nothing else. */
export type AuthorizationOutcome =
  | { readonly kind: 'unused' }
  /** The money is ours, whoever sent the transaction. */
  | {
      readonly kind: 'paid'
      readonly transaction: `0x${string}`
      readonly blockNumber: number
      readonly blockHash: `0x${string}`
    }
  | { readonly kind: 'cancelled'; readonly transaction: `0x${string}` }

/** A payer's authorization with its signature, ready to be sent. */
export interface SignedAuthorization extends AuthorizationKey {
  readonly payTo: `0x${string}`
  readonly value: bigint
  readonly validAfter: bigint
  readonly validBefore: bigint
  /** 65 bytes. */
  readonly signature: `0x${string}`
}

/**
 * What payments ask of the chain. Every request has a time limit; one that the node does not answer rejects with
 * ServiceError `payments_unavailable`, and says nothing about what happened.
 */
export interface Chain {
  /** Facts that others asked for a moment ago are remembered, but for the nonce, which is always asked. */
  payerFacts(key: AuthorizationKey): Promise<PayerFacts>
  /** Also finds transfers that somebody else sent. @param since Unix milliseconds before which it was not signed */
  outcomeOf(
    authorization: AuthorizationKey & { readonly payTo: `0x${string}` },
    since: number,
  ): Promise<AuthorizationOutcome>
  /** Time of the newest block, Unix seconds: what the token compares validity with. */
  blockTime(): Promise<number>
  /** Number of the newest block that cannot be undone. */
  finalBlock(): Promise<number>
}
