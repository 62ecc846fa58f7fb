import { keccak256 } from 'viem'
import type { SignedAuthorization } from '../chain/chain.ts'
import { createNodeClient, keyAccount, type NodeOptions } from '../chain/node-client.ts'
import { type ContractCall, transfersCall } from '../chain/transfer-call.ts'
import { type GasFacts, gasFor } from './gas.ts'

/** A transaction that is signed and not sent: its hash is known before anybody can have seen it. */
export interface SignedTransaction {
  readonly hash: `0x${string}`
  readonly raw: `0x${string}`
}

/** A node's response to a sent transaction. */
export type SendOutcome =
  /** It has it, now or from before. */
  | { readonly kind: 'sent' }
  /** Its place is taken by another of the same account nonce, and this one offers too little more. */
  | { readonly kind: 'underpriced'; readonly reason: string }
  /** The wallet cannot pay for it. */
  | { readonly kind: 'unaffordable'; readonly reason: string }
  /** It did not answer, or with something else: the transaction may be on its way. */
  | { readonly kind: 'unknown'; readonly reason: string }

/** The fees and the account nonce of a transaction. */
export interface TransactionFees {
  readonly accountNonce: number
  /** Wei. */
  readonly feePerGas: bigint
  readonly tipPerGas: bigint
}

/** The wallet that sends settlements and pays their gas. It has no say over the payers' money. */
export interface Wallet {
  readonly address: `0x${string}`
  /** Transactions of the account that are in blocks: the nonce that the next one must have. */
  accountNonce(): Promise<number>
  /** @throws ServiceError `payments_unavailable` */
  gas(): Promise<GasFacts>
  sign(authorizations: readonly SignedAuthorization[], fees: TransactionFees): Promise<SignedTransaction>
  send(transaction: SignedTransaction): Promise<SendOutcome>
}

export interface WalletOptions extends NodeOptions {
  /** 32 bytes in hex. */
  readonly privateKey: string
}

/** @throws ServiceError `config_invalid` for a key that is none */
export function createWallet({ privateKey, ...options }: WalletOptions): Wallet {
  const account = keyAccount(privateKey, 'X402_SETTLER_KEY')
  const node = createNodeClient(options)
  const { address } = account
  async function signed(
    call: ContractCall,
    gas: bigint,
    { accountNonce, feePerGas, tipPerGas }: TransactionFees,
  ): Promise<SignedTransaction> {
    const raw = await account.signTransaction({
      type: 'eip1559',
      chainId: node.on.id,
      nonce: accountNonce,
      gas,
      maxFeePerGas: feePerGas,
      maxPriorityFeePerGas: tipPerGas,
      ...call,
    })
    return { hash: keccak256(raw), raw }
  }
  return {
    address,
    accountNonce: () =>
      node.ask('how much the wallet has sent', (client) =>
        client.getTransactionCount({ address, blockTag: 'latest' }),
      ),
    async gas() {
      const [balance, block, tipPerGas] = await node.ask('what gas costs', (client) =>
        Promise.all([
          client.getBalance({ address }),
          client.getBlock(),
          client.estimateMaxPriorityFeePerGas(),
        ]),
      )
      // The base fee of a block rises by an eighth at most: twice of it lasts for six blocks.
      return { balance, tipPerGas, feePerGas: 2n * (block.baseFeePerGas ?? 0n) + tipPerGas }
    },
    sign: (authorizations, fees) =>
      signed(transfersCall(authorizations, node.on), gasFor(authorizations.length), fees),
    async send({ raw }) {
      try {
        await node.client.request({ method: 'eth_sendRawTransaction', params: [raw] })
        return { kind: 'sent' }
      } catch (error) {
        return sendOutcome(node.reasonOf(error))
      }
    },
  }
}

/**
 * Nodes answer in words of their own. They are distinguished only to wait for the right thing: the token's logs decide the
 * outcome of payments.
 */
function sendOutcome(reason: string): SendOutcome {
  if (/already known|known transaction|already imported/i.test(reason)) return { kind: 'sent' }
  if (/underpriced/i.test(reason)) return { kind: 'underpriced', reason }
  if (/insufficient funds|gas \* price \+ value|exceeds the balance/i.test(reason)) {
    return { kind: 'unaffordable', reason }
  }
  return { kind: 'unknown', reason }
}
