import { getAbiItem, type Log, parseEventLogs } from 'viem'
import type { PaymentChain } from '../../../contracts/chain.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { AuthorizationKey, AuthorizationOutcome } from './chain.ts'
import type { NodeClient } from './node-client.ts'
import { tokenAbi } from './token-abi.ts'

/** The authorization that the logs are searched for. */
export interface SoughtAuthorization extends AuthorizationKey {
  readonly payTo: `0x${string}`
  /** Millionths of a USDC. */
  readonly value: bigint
}

/** Clocks of the node and of this machine may differ by so much, and a block is older than its claim by no more. */
const CLOCK_DIFFERENCE_S = 600n

/**
 * Whether logs of one transaction show that an authorization brought its money. The token writes the transfer right
 * behind the use. Looking for any transfer that fits would take one for another where a payer has several claims in
 * one transaction, and would believe a use for somebody else's sake: a payer may sign the same nonce twice.
 */
export function isPaidBy(logs: readonly Log[], sought: SoughtAuthorization, { usdc }: PaymentChain): boolean {
  const ofToken = logs.filter(({ address }) => isSame(address, usdc))
  const events = parseEventLogs({ abi: tokenAbi, logs: ofToken })
  const use = events.find(
    (event) =>
      event.eventName === 'AuthorizationUsed' &&
      isSame(event.args.authorizer, sought.payer) &&
      event.args.nonce === sought.nonce,
  )
  const next = events.find(({ logIndex }) => logIndex === (use?.logIndex ?? Number.NaN) + 1)
  return (
    next?.eventName === 'Transfer' &&
    isSame(next.args.from, sought.payer) &&
    isSame(next.args.to, sought.payTo) &&
    next.args.value === sought.value
  )
}

/**
 * Finds what an authorization was used for, which the token says is used. Blocks are searched from the newest
 * backwards, a bounded range at a time, to one that is older than the claim.
 *
 * @param since Unix milliseconds
 * @throws ServiceError `payments_unavailable` where the node does not answer, or does not have the logs (yet)
 */
export async function findUse(
  node: NodeClient,
  sought: SoughtAuthorization,
  since: number,
): Promise<Exclude<AuthorizationOutcome, { kind: 'unused' }>> {
  const oldest = BigInt(Math.floor(since / 1_000)) - CLOCK_DIFFERENCE_S
  let to = await node.ask('its newest block', (client) => client.getBlockNumber())
  for (let range = 0; range < LIMITS.chainLogRanges; range++) {
    const from = to >= LIMITS.chainLogBlocks ? to - BigInt(LIMITS.chainLogBlocks) + 1n : 0n
    const args = { authorizer: sought.payer, nonce: sought.nonce }
    const where = { address: node.on.usdc, args, fromBlock: from, toBlock: to } as const
    const [[used], [cancelled], first] = await node.ask('what an authorization was used for', (client) =>
      Promise.all([
        client.getLogs({ ...where, event: AUTHORIZATION_USED }),
        client.getLogs({ ...where, event: AUTHORIZATION_CANCELED }),
        client.getBlock({ blockNumber: from }),
      ]),
    )
    if (cancelled !== undefined) return { kind: 'cancelled', transaction: cancelled.transactionHash }
    if (used !== undefined) return useIn(node, used.transactionHash, sought)
    if (from === 0n || first.timestamp < oldest) break
    to = from - 1n
  }
  throw new ServiceError('payments_unavailable', {
    message: `The token says that the authorization ${sought.nonce} of ${sought.payer} is used, and the node has no log of it`,
  })
}

async function useIn(
  node: NodeClient,
  transaction: `0x${string}`,
  sought: SoughtAuthorization,
): Promise<Exclude<AuthorizationOutcome, { kind: 'unused' }>> {
  const receipt = await node.ask('the receipt of a transaction', (client) =>
    client.getTransactionReceipt({ hash: transaction }),
  )
  // Used to pay somebody else, or less: it is gone like a cancelled one.
  if (!isPaidBy(receipt.logs, sought, node.on)) return { kind: 'cancelled', transaction }
  const { blockNumber, blockHash } = receipt
  return { kind: 'paid', transaction, blockNumber: Number(blockNumber), blockHash }
}

const AUTHORIZATION_USED = getAbiItem({ abi: tokenAbi, name: 'AuthorizationUsed' })
const AUTHORIZATION_CANCELED = getAbiItem({ abi: tokenAbi, name: 'AuthorizationCanceled' })

const isSame = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase()
