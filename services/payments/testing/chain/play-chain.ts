import {
  createTestClient,
  encodeFunctionData,
  http,
  type PublicActions,
  parseAbi,
  publicActions,
  type TestClient,
} from 'viem'
import { base } from 'viem/chains'
import type { PaymentChain } from '../../../../contracts/domain/chain.ts'
import contracts from './contracts/play-contracts.json' with { type: 'json' }

/** Speaks to the node as its owner: sets balances, code and time. */
export type PlayChain = TestClient<'anvil'> & PublicActions & { readonly on: PaymentChain }

/** @param rpcUrl of an anvil on this machine */
export const openPlayChain = (rpcUrl: string, on: PaymentChain): PlayChain =>
  createTestClient({ mode: 'anvil', chain: base, transport: http(rpcUrl, { retryCount: 0 }) })
    .extend(publicActions)
    .extend(() => ({ on })) as unknown as PlayChain

/** Puts the play token where payments look for it. Safe to repeat. */
export async function placeContracts(chain: PlayChain): Promise<void> {
  const { PlayUsdc } = contracts.contracts
  await chain.setCode({ address: chain.on.usdc, bytecode: PlayUsdc.runtimeCode as `0x${string}` })
}

const playAbi = parseAbi([
  'function mint(address to, uint256 value)',
  'function setBlacklisted(address account, bool listed)',
])

/** Sender of the owner's transactions; nobody has its key. */
const OWNER = '0x000000000000000000000000000000000000c0de'

/** Makes play money. @param value millionths of a USDC */
export async function mint(chain: PlayChain, to: `0x${string}`, value: bigint): Promise<void> {
  await asOwner(chain, encodeFunctionData({ abi: playAbi, functionName: 'mint', args: [to, value] }))
}

export async function setBlacklisted(
  chain: PlayChain,
  account: `0x${string}`,
  listed: boolean,
): Promise<void> {
  const args = [account, listed] as const
  await asOwner(chain, encodeFunctionData({ abi: playAbi, functionName: 'setBlacklisted', args }))
}

async function asOwner(chain: PlayChain, data: `0x${string}`): Promise<void> {
  await chain.setBalance({ address: OWNER, value: 10n ** 18n })
  await chain.impersonateAccount({ address: OWNER })
  const hash = await chain.request({
    method: 'eth_sendTransaction' as never,
    params: [{ from: OWNER, to: chain.on.usdc, data }] as never,
  })
  await chain.waitForTransactionReceipt({ hash, pollingInterval: 20 })
}
