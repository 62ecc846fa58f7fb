import {
  BlockNotFoundError,
  decodeErrorResult,
  type Hex,
  TransactionNotFoundError,
  TransactionReceiptNotFoundError,
  BaseError as ViemError,
} from 'viem'
import { LIMITS } from '../../../contracts/limits.ts'
import { createConcurrencyLimit } from '../../runtime/admission/concurrency-limit.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import { createSingleFlight } from '../../runtime/async/single-flight.ts'
import { RecentMap } from '../../runtime/cache/recent-map.ts'
import { findUse, isPaidBy } from './authorization-logs.ts'
import type { AuthorizationKey, SettlementChain, SignedAuthorization, TokenRefusal } from './chain.ts'
import { createNodeClient, type NodeClient, type NodeOptions } from './node-client.ts'
import { tokenAbi } from './token-abi.ts'
import { transferCall } from './transfer-call.ts'

export interface ChainOptions extends NodeOptions, Pick<Clock, 'elapsed'> {}

/** A chain and its USDC, as a node tells them. */
export function createChain({ elapsed, ...options }: ChainOptions): SettlementChain {
  const node = createNodeClient(options)
  const remembered = <Value extends {}>(ttlMs: number) =>
    new RecentMap<string, Value>(LIMITS.payersRemembered, { ttlMs, now: elapsed })
  const balances = remembered<bigint>(LIMITS.payerBalanceMs)
  const codes = remembered<boolean>(LIMITS.payerCodeMs)
  const usedNonces = remembered<true>(LIMITS.payerCodeMs)
  /** Questions about payers, whom anybody can make: they must not keep settling from its own. */
  const limited = createConcurrencyLimit(LIMITS.payersAskedAtOnce)
  const flights = createSingleFlight<bigint>()

  const askBalance = async (payer: Hex): Promise<bigint> => {
    const balance = await limited(payer, () =>
      node.ask('the balance of a payer', (client) =>
        client.readContract({
          address: node.on.usdc,
          abi: tokenAbi,
          functionName: 'balanceOf',
          args: [payer],
        }),
      ),
    )
    balances.set(payer, balance)
    return balance
  }

  const balanceOf = async (payer: Hex): Promise<bigint> =>
    balances.get(payer) ?? (await flights.run(payer, '', () => askBalance(payer))).value

  const askCode = async (payer: Hex): Promise<boolean> => {
    const code = await node.ask('whether a payer is a contract', (client) =>
      client.getCode({ address: payer }),
    )
    const hasCode = code !== undefined && code !== '0x'
    codes.set(payer, hasCode)
    return hasCode
  }

  const isNonceUsed = ({ payer, nonce }: AuthorizationKey): Promise<boolean> =>
    node.ask('whether an authorization is used', (client) =>
      client.readContract({
        address: node.on.usdc,
        abi: tokenAbi,
        functionName: 'authorizationState',
        args: [payer, nonce],
      }),
    )

  return {
    async payerFacts(key, least) {
      const { payer, nonce } = key
      const balance = await balanceOf(payer)
      if (balance < least) return { balance, isNonceUsed: false, hasCode: false }
      const name = `${payer} ${nonce}`
      // Asked in one moment, and so in one request.
      const [isUsed, hasCode] = await limited(payer, () =>
        Promise.all([usedNonces.get(name) ?? isNonceUsed(key), codes.get(payer) ?? askCode(payer)]),
      )
      if (isUsed) usedNonces.set(name, true)
      return { balance, isNonceUsed: isUsed, hasCode }
    },
    async outcomeOf(authorization, since) {
      if (!(await isNonceUsed(authorization))) return { kind: 'unused' }
      return findUse(node, authorization, since)
    },
    async rehearse(authorization, sender) {
      const [words, hasCode] = await Promise.all([
        refusalWords(node, authorization, sender),
        askCode(authorization.payer),
      ])
      return { refusal: words === undefined ? undefined : tokenRefusal(words, hasCode), hasCode }
    },
    ...createBlockReader(node),
  }
}

type BlockReader = Omit<SettlementChain, 'payerFacts' | 'outcomeOf' | 'rehearse'>

/** The questions about blocks and transactions, which have nothing to do with a token. */
const createBlockReader = (node: NodeClient): BlockReader => ({
  async blockTime() {
    const { timestamp } = await node.ask('its newest block', (client) => client.getBlock())
    return Number(timestamp)
  },
  async finalBlock() {
    const { number } = await node.ask('its final block', (client) =>
      client.getBlock({ blockTag: 'finalized' }),
    )
    return Number(number)
  },
  newestBlock: async () => Number(await node.ask('its newest block', (client) => client.getBlockNumber())),
  blockHash: (blockNumber) =>
    node.ask('a block', async (client) => {
      try {
        return (await client.getBlock({ blockNumber: BigInt(blockNumber) })).hash
      } catch (error) {
        if (error instanceof BlockNotFoundError) return undefined
        throw error
      }
    }),
  transactionState: (transaction) =>
    node.ask('where a transaction is', async (client) => {
      try {
        const { blockNumber } = await client.getTransaction({ hash: transaction })
        return blockNumber === null ? 'pending' : 'mined'
      } catch (error) {
        if (error instanceof TransactionNotFoundError) return 'missing'
        throw error
      }
    }),
  receiptOf: (transaction) =>
    node.ask('the receipt of a transaction', async (client) => {
      try {
        const { blockNumber, blockHash, logs } = await client.getTransactionReceipt({ hash: transaction })
        const isPaying = (authorization: SignedAuthorization): boolean =>
          isPaidBy(logs, authorization, node.on)
        return { blockNumber: Number(blockNumber), blockHash, isPaying }
      } catch (error) {
        if (error instanceof TransactionReceiptNotFoundError) return undefined
        throw error
      }
    }),
  chainId: () => node.ask('its id', (client) => client.getChainId()),
})

/** The token's refusal of a simulated transfer; undefined if the transfer would happen. */
const refusalWords = (
  node: NodeClient,
  authorization: SignedAuthorization,
  sender: Hex | undefined,
): Promise<string | undefined> =>
  node.ask('whether the token takes an authorization', async (client) => {
    try {
      await client.call({ ...transferCall(authorization, node.on), ...(sender && { account: sender }) })
      return undefined
    } catch (error) {
      const words = revertWords(error, node)
      // Not the token's refusal, but the node's or the network's.
      if (words === undefined) throw error
      return words
    }
  })

/** The words of a revert; undefined for an error that is none. */
function revertWords(error: unknown, node: NodeClient): string | undefined {
  if (!(error instanceof ViemError)) return undefined
  const inner = error.walk((cause) => {
    const { code, data } = cause as { code?: unknown; data?: unknown }
    return code === EXECUTION_REVERTED || (typeof data === 'string' && REVERT_DATA.test(data))
  }) as { code?: unknown; data?: unknown } | null
  const isRevert = inner !== null || /revert/i.test(error.shortMessage)
  if (!isRevert) return undefined
  return textOf(inner?.data) ?? node.reasonOf(error)
}

/** The code of JSON-RPC that Ethereum nodes give a revert. */
const EXECUTION_REVERTED = 3
/** Others tell a revert by its data alone; errors of nodes themselves come with words of all kinds. */
const REVERT_DATA = /^(?:Reverted )?0x/i

function textOf(data: unknown): string | undefined {
  if (typeof data !== 'string' || !data.startsWith(ERROR_STRING)) return undefined
  const { args } = decodeErrorResult({ abi: ERROR_ABI, data: data as Hex })
  return args[0]
}

/** Selector and form of `Error(string)`, which `require` reverts with. */
const ERROR_STRING = '0x08c379a0'
const ERROR_ABI = [{ type: 'error', name: 'Error', inputs: [{ name: 'message', type: 'string' }] }] as const

/** The meaning of USDC's refusals. */
const WORDS: readonly (readonly [RegExp, TokenRefusal['reason']])[] = [
  [/used or cancell?ed/i, 'used'],
  [/is expired/i, 'expired'],
  [/not yet valid/i, 'not_yet_valid'],
  [/exceeds balance/i, 'insufficient_funds'],
  [/blacklisted/i, 'blacklisted'],
  [/signature/i, 'invalid_signature'],
]

/**
 * The meaning of a token's refusal for a payment.
 *
 * @param words the token's own text
 * @param hasCode whether the payer has code, which then checks the signature
 * @example tokenRefusal('ERC20: transfer amount exceeds balance', false).reason === 'insufficient_funds'
 */
function tokenRefusal(words: string, hasCode: boolean): TokenRefusal {
  const reason = WORDS.find(([pattern]) => pattern.test(words))?.[1] ?? 'other'
  const detail = words.slice(0, 160)
  return { reason: reason === 'invalid_signature' && hasCode ? 'contract_account' : reason, detail }
}
