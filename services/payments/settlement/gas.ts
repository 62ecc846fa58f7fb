/** The cost of the next transaction, and the means to pay for it. */
export interface GasFacts {
  /** Wei. */
  readonly balance: bigint
  /** Wei for a unit of gas, at most. */
  readonly feePerGas: bigint
  readonly tipPerGas: bigint
}

/** The gas limit of a transaction: a transfer takes 41,000 to 79,000, and unused gas is not paid. */
const GAS_OF_TRANSACTION = 60_000n
const GAS_OF_TRANSFER = 110_000n

/** Gas that a transaction for so many authorizations may use at most. */
export const gasFor = (authorizations: number): bigint =>
  GAS_OF_TRANSACTION + GAS_OF_TRANSFER * BigInt(authorizations)
