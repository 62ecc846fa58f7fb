import type { PaymentChain } from '../../../contracts/domain/chain.ts'
import type { Chain } from './chain.ts'

/** A chain as a node tells it. Its library takes longer to load than all the rest of a start, so it is loaded here. */
export async function openChain(options: {
  readonly on: PaymentChain
  readonly rpcUrl: string
}): Promise<Chain> {
  const { createChain } = await import('./create-chain.ts')
  return createChain({ ...options, elapsed: () => performance.now() })
}
