import type { Hex } from 'viem'
import { serveReferenceFacilitator } from '../../services/payments/testing/chain/reference-facilitator.ts'
import {
  missingChain,
  startTestChain,
  type TestChain,
} from '../../services/payments/testing/chain/test-chain.ts'

const PAY_TO: Hex = '0x2222222222222222222222222222222222222222'
const FUNDS = 1_000_000_000n
/** Blocks come by themselves, so that what is in one becomes final. */
const BLOCK_EVERY_S = 1

/** The chain that a cluster is paid on, and somebody with money on it. */
export interface PaidChain {
  readonly payTo: Hex
  readonly payer: Awaited<ReturnType<TestChain['payer']>>
  /** Settings of the processes for it. */
  readonly environment: Readonly<Record<string, string>>
  /** Millionths of a USDC. */
  received(): Promise<bigint>
  stop(): Promise<void>
}

/** @returns undefined where there is no program for a chain */
export async function startPaidChain(): Promise<PaidChain | undefined> {
  if (missingChain !== undefined) return undefined
  const chain = await startTestChain()
  await chain.setIntervalMining(BLOCK_EVERY_S)
  const facilitator = await serveReferenceFacilitator(chain.rpcUrl, await chain.gasWallet())
  return {
    payTo: PAY_TO,
    payer: await chain.payer(FUNDS),
    environment: {
      X402_RPC_URL: chain.rpcUrl,
      X402_PAY_TO: PAY_TO,
      X402_FACILITATOR_URL: facilitator.url,
      X402_PAYER_CAP: '1000',
      X402_TOTAL_CAP: '1000',
    },
    received: () => chain.balanceOf(PAY_TO),
    async stop() {
      facilitator.close()
      await chain.stop()
    },
  }
}
