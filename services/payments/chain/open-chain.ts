import type { Chain } from './chain.ts'
import type { ChainOptions } from './create-chain.ts'

/** A chain as a node tells it. Its library takes longer to load than all the rest of a start, so it is loaded here. */
export async function openChain(options: Omit<ChainOptions, 'elapsed'>): Promise<Chain> {
  const { createChain } = await import('./create-chain.ts')
  return createChain({ ...options, elapsed: () => performance.now() })
}
