import { type Log, parseAbi, parseEventLogs } from 'viem'
import type { PaymentChain } from '../../../contracts/domain/chain.ts'
import type { PaidTransfer } from './chain.ts'

/** The functions of USDC in use, and the events that show the outcome of an authorization (ERC-3009). */
export const tokenAbi = parseAbi([
  'function balanceOf(address account) view returns (uint256)',
  'function authorizationState(address authorizer, bytes32 nonce) view returns (bool)',
  'event Transfer(address indexed from, address indexed to, uint256 value)',
  'event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)',
  'event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce)',
])

/**
 * Whether logs of one transaction show that an authorization brought its money. The token writes the transfer right
 * behind the use. Any transfer that fits would not do: a payer may have several claims in one transaction, and may
 * sign the same nonce twice.
 */
export function isPaidBy(logs: readonly Log[], sought: PaidTransfer, { usdc }: PaymentChain): boolean {
  const events = parseEventLogs({ abi: tokenAbi, logs: logs.filter(({ address }) => isSame(address, usdc)) })
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

const isSame = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase()
