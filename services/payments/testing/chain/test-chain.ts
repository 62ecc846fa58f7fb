import { type Hex, parseAbi } from 'viem'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { BASE, type PaymentChain } from '../../../../contracts/domain/chain.ts'
import { tokenAbi } from '../../chain/usdc.ts'
import { findAnvil } from './find-anvil.ts'
import { mint, openPlayChain, type PlayChain, placeContracts, setBlacklisted } from './play-chain.ts'
import { startAnvil } from './start-anvil.ts'

/** Why tests that need a chain are skipped; undefined where they are not. */
export const missingChain: string | undefined = findAnvil().missing

/** A chain of this machine with play money at the address of its USDC. */
export interface TestChain {
  readonly rpcUrl: string
  readonly node: PlayChain
  /** An account with so many millionths of play USDC, and no gas. */
  payer(usdc: bigint): Promise<PrivateKeyAccount>
  /** Sends gas to nobody's account and answers its key. @param ether by default more than any test uses */
  gasWallet(ether?: bigint): Promise<Hex>
  balanceOf(account: Hex): Promise<bigint>
  mint(to: Hex, usdc: bigint): Promise<void>
  setBlacklisted(account: Hex, listed: boolean): Promise<void>
  /** Code at an account, as a contract or a delegated account has it. */
  setCode(account: Hex, code: Hex): Promise<void>
  mine(blocks?: number): Promise<void>
  /** Blocks only when {@link mine} is called, or for each transaction again. */
  setAutomine(isOn: boolean): Promise<void>
  setIntervalMining(seconds: number): Promise<void>
  /** Moves the clock of the chain forwards, and mines a block then. */
  passTime(seconds: number): Promise<void>
  /** The clock of the chain, Unix milliseconds: this machine's, and the time that was passed. */
  now(): number
  /** Takes the newest blocks back; empty ones take their place. */
  reorg(depth: number): Promise<void>
  /** A transaction of any call, sent and waited for, by an account with gas. */
  send(call: { readonly to: Hex; readonly data: Hex }): Promise<{ status: 'success' | 'reverted'; hash: Hex }>
  stop(): Promise<void>
}

const ETHER = 10n ** 18n
const SENDER = '0x00000000000000000000000000000000005e4de4'

/** @param terms by default the id of Base, and a block for each transaction */
export async function startTestChain(
  terms: { readonly on?: PaymentChain; readonly blockTimeS?: number } = {},
): Promise<TestChain> {
  const { on = BASE, ...times } = terms
  const { binary, missing } = findAnvil()
  if (binary === undefined) throw new Error(missing)
  const anvil = await startAnvil({ binary, chainId: on.id, ...times })
  const node = openPlayChain(anvil.rpcUrl, on)
  await placeContracts(node)
  return {
    ...helpersFor(node),
    rpcUrl: anvil.rpcUrl,
    node,
    stop: () => anvil.stop(),
  }
}

function helpersFor(node: PlayChain): Omit<TestChain, 'rpcUrl' | 'node' | 'stop'> {
  let passedMs = 0
  return {
    async payer(usdc) {
      const account = privateKeyToAccount(generatePrivateKey())
      if (usdc > 0n) await mint(node, account.address, usdc)
      return account
    },
    async gasWallet(ether = 100n) {
      const key = generatePrivateKey()
      await node.setBalance({ address: privateKeyToAccount(key).address, value: ether * ETHER })
      return key
    },
    balanceOf: (account) =>
      node.readContract({ address: node.on.usdc, abi: tokenAbi, functionName: 'balanceOf', args: [account] }),
    mint: (to, usdc) => mint(node, to, usdc),
    setBlacklisted: (account, listed) => setBlacklisted(node, account, listed),
    setCode: async (address, bytecode) => await node.setCode({ address, bytecode }),
    mine: async (blocks = 1) => await node.mine({ blocks }),
    setAutomine: async (isOn) => await node.setAutomine(isOn),
    setIntervalMining: async (seconds) => await node.setIntervalMining({ interval: seconds }),
    async passTime(seconds) {
      passedMs += seconds * 1_000
      await node.increaseTime({ seconds })
      await node.mine({ blocks: 1 })
    },
    now: () => Date.now() + passedMs,
    async reorg(depth) {
      await node.request({ method: 'anvil_reorg' as never, params: [depth, []] as never })
    },
    async send({ to, data }) {
      await node.setBalance({ address: SENDER, value: ETHER })
      await node.impersonateAccount({ address: SENDER })
      const params = [{ from: SENDER, to, data, gas: '0x100000' }]
      const hash = await node.request({ method: 'eth_sendTransaction' as never, params: params as never })
      const receipt = await node.waitForTransactionReceipt({ hash, pollingInterval: 20 })
      return { status: receipt.status, hash }
    },
  }
}

/** The cancelling of an authorization, which its payer signs too. */
export const cancelAbi = parseAbi([
  'function cancelAuthorization(address authorizer, bytes32 nonce, bytes signature)',
])
