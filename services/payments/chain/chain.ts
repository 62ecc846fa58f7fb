/** The name of a payment on its chain; addresses and nonce in lower case. */
export interface AuthorizationKey {
  readonly payer: `0x${string}`
  readonly nonce: `0x${string}`
}

/** The funds and the kind of a payer, as the chain reports them now or did a moment ago. */
export interface PayerFacts {
  /** Millionths of a USDC. */
  readonly balance: bigint
  /** Used for a transfer, or cancelled; false where it was not asked. */
  readonly isNonceUsed: boolean
  /**
   * A contract, or an account that acts as one: the token asks its code instead of the signature. False where it was
   * not asked.
   */
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
 * The questions of payments to the chain. Every request has a time limit; one that the node does not answer rejects with
 * ServiceError `payments_unavailable`, which says nothing about the outcome.
 */
export interface Chain {
  /**
   * Facts that others asked for a moment ago are remembered, but for a nonce that is not used. The balance comes
   * first, and who has less than `least` is asked nothing else about: empty accounts cost nothing to make.
   *
   * @param least millionths of a USDC
   */
  payerFacts(key: AuthorizationKey, least: bigint): Promise<PayerFacts>
  /** Also finds transfers that somebody else sent. @param since Unix milliseconds before which it was not signed */
  outcomeOf(
    authorization: AuthorizationKey & { readonly payTo: `0x${string}`; readonly value: bigint },
    since: number,
  ): Promise<AuthorizationOutcome>
  /** Time of the newest block, Unix seconds: what the token compares validity with. */
  blockTime(): Promise<number>
  /** Number of the newest block that cannot be undone. */
  finalBlock(): Promise<number>
}

/** Why the token would not take an authorization now; `other` with the token's own words. */
export const TOKEN_REFUSALS = [
  'used',
  'expired',
  'not_yet_valid',
  'insufficient_funds',
  'blacklisted',
  'contract_account',
  'invalid_signature',
  'other',
] as const

export interface TokenRefusal {
  readonly reason: (typeof TOKEN_REFUSALS)[number]
  /** In the words of the token. */
  readonly detail: string
}

/** The token's answer to an authorization, if it were sent now. */
export interface Rehearsal {
  /** Undefined where the transfer would happen. */
  readonly refusal: TokenRefusal | undefined
  /** The payer's own code would be run: it may do one thing now and another then, at our cost. */
  readonly hasCode: boolean
}

/** A transaction that is in a block. */
export interface Receipt {
  readonly blockNumber: number
  readonly blockHash: `0x${string}`
  /** Whether this transaction brought the money of an authorization; others may be in it too. */
  isPaying(authorization: SignedAuthorization): boolean
}

/** The further questions of the settler to the chain. */
export interface SettlementChain extends Chain {
  /** Rehearses a transfer on the newest block, without sending it. @param sender who would send it, if it is known */
  rehearse(authorization: SignedAuthorization, sender?: `0x${string}`): Promise<Rehearsal>
  /** The hash of the block that has a number now; undefined if there is none yet. */
  blockHash(blockNumber: number): Promise<`0x${string}` | undefined>
  newestBlock(): Promise<number>
  /** Whether the node knows a transaction, and whether it is in a block. */
  transactionState(transaction: `0x${string}`): Promise<'missing' | 'pending' | 'mined'>
  /** Undefined while it is in no block. */
  receiptOf(transaction: `0x${string}`): Promise<Receipt | undefined>
  /** The id of the node's chain: 8453 for Base. */
  chainId(): Promise<number>
}
