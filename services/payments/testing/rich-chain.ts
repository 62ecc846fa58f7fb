import type { Chain } from '../chain/chain.ts'

/** A chain on which everybody has enough, and nothing was ever used. */
export const RICH_CHAIN: Chain = {
  payerStatus: async () => ({ balance: 10n ** 15n, isNonceUsed: false, hasCode: false }),
  outcomeOf: async () => ({ kind: 'unused' }),
  blockTime: async () => 0,
  finalBlock: async () => 0,
  blockHash: async () => undefined,
  chainId: async () => 8_453,
}
