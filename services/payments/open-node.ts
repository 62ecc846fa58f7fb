import type { NodeOptions } from './chain/node-client.ts'

/**
 * Asks a node of the chain, and signs for it. Its library takes longer to load than all the rest of a start, so that
 * it is loaded where there is a node.
 *
 * @throws ServiceError `config_invalid` for a key that is none
 */
export async function openNode({
  settlerKey,
  ...node
}: NodeOptions & { readonly settlerKey?: string | undefined }) {
  const { createChain } = await import('./chain/create-chain.ts')
  const { createWallet } = await import('./settlement/wallet.ts')
  return {
    chain: createChain({ ...node, elapsed: () => performance.now() }),
    wallet: settlerKey ? createWallet({ ...node, privateKey: settlerKey }) : undefined,
  }
}
