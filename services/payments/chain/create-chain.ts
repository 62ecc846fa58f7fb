import {
  BlockNotFoundError,
  createPublicClient,
  getAbiItem,
  type Hex,
  http,
  type PublicClient,
  BaseError as ViemError,
} from 'viem'
import { base } from 'viem/chains'
import type { PaymentChain } from '../../../contracts/domain/chain.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { createConcurrencyLimit } from '../../runtime/admission/concurrency-limit.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import { createSingleFlight } from '../../runtime/async/single-flight.ts'
import { RecentMap } from '../../runtime/cache/recent-map.ts'
import type { AuthorizationKey, AuthorizationOutcome, Chain, PaidTransfer } from './chain.ts'
import { isPaidBy, tokenAbi } from './usdc.ts'

export interface ChainOptions extends Pick<Clock, 'elapsed'> {
  readonly on: PaymentChain
  /** JSON-RPC over HTTP; may hold a key, so that it stands in no message. */
  readonly rpcUrl: string
  /** How long one request may take, milliseconds. */
  readonly requestMs?: number
}

/** Public nodes refuse batches that are much larger. */
const BATCH_REQUESTS = 50

/** Asks a node. @param what for the message: `the balance of a payer` @throws ServiceError `payments_unavailable` */
type Ask = <Answer>(what: string, question: (client: PublicClient) => Promise<Answer>) => Promise<Answer>

/** A chain and its USDC, as a node tells them. */
export function createChain({ on, rpcUrl, elapsed, requestMs = LIMITS.chainRequestMs }: ChainOptions): Chain {
  const client = createPublicClient({
    chain: base,
    // Answers are of their moment: what was true for the question before may not be for this one.
    cacheTime: 0,
    transport: http(rpcUrl, { timeout: requestMs, retryCount: 0, batch: { batchSize: BATCH_REQUESTS } }),
  }) as PublicClient
  const ask: Ask = async (what, question) => {
    try {
      return await question(client)
    } catch (cause) {
      throw new ServiceError('payments_unavailable', {
        message: `The node of the chain did not tell ${what}: ${kindOf(cause)}`,
        cause,
      })
    }
  }
  const usdc = { address: on.usdc, abi: tokenAbi } as const
  const isNonceUsed = ({ payer, nonce }: AuthorizationKey): Promise<boolean> =>
    ask('whether an authorization is used', (node) =>
      node.readContract({ ...usdc, functionName: 'authorizationState', args: [payer, nonce] }),
    )
  return {
    payerStatus: createPayerStatus(ask, { usdc, isNonceUsed, elapsed }),
    outcomeOf: async (transfer, since) =>
      (await isNonceUsed(transfer)) ? findUse(ask, on, transfer, since) : { kind: 'unused' },
    async blockTime() {
      const { timestamp } = await ask('its newest block', (node) => node.getBlock())
      return Number(timestamp)
    },
    async finalBlock() {
      const { number } = await ask('its final block', (node) => node.getBlock({ blockTag: 'finalized' }))
      return Number(number)
    },
    blockHash: (blockNumber) =>
      ask('a block', async (node) => {
        try {
          return (await node.getBlock({ blockNumber: BigInt(blockNumber) })).hash
        } catch (error) {
          if (error instanceof BlockNotFoundError) return undefined
          throw error
        }
      }),
    chainId: () => ask('its id', (node) => node.getChainId()),
  }
}

/** The name of an error and the code of JSON-RPC, if there is one: texts may repeat the node's address, and keys in it. */
function kindOf(error: unknown): string {
  if (!(error instanceof ViemError)) return (error as Error).name
  const inner = error.walk((cause) => typeof (cause as { code?: unknown }).code === 'number')
  const code = (inner as { code?: number } | null)?.code
  return `${error.walk().name}${code === undefined ? '' : ` (${code})`}`
}

function createPayerStatus(
  ask: Ask,
  {
    usdc,
    isNonceUsed,
    elapsed,
  }: {
    readonly usdc: { readonly address: Hex; readonly abi: typeof tokenAbi }
    readonly isNonceUsed: (key: AuthorizationKey) => Promise<boolean>
    readonly elapsed: () => number
  },
): Chain['payerStatus'] {
  const remembered = <Value extends {}>(ttlMs: number) =>
    new RecentMap<string, Value>(LIMITS.payersRemembered, { ttlMs, now: elapsed })
  const balances = remembered<bigint>(LIMITS.payerBalanceMs)
  const codes = remembered<boolean>(LIMITS.payerCodeMs)
  /** Questions about payers, whom anybody can make: they must not keep settling from its own. */
  const limited = createConcurrencyLimit(LIMITS.payersAskedAtOnce)
  const flights = createSingleFlight<bigint>()

  const askBalance = async (payer: Hex): Promise<bigint> => {
    const balance = await limited(payer, () =>
      ask('the balance of a payer', (node) =>
        node.readContract({ ...usdc, functionName: 'balanceOf', args: [payer] }),
      ),
    )
    balances.set(payer, balance)
    return balance
  }
  const askCode = async (payer: Hex): Promise<boolean> => {
    const code = await ask('whether a payer is a contract', (node) => node.getCode({ address: payer }))
    const hasCode = code !== undefined && code !== '0x'
    codes.set(payer, hasCode)
    return hasCode
  }
  return async (key, least) => {
    const { payer } = key
    const balance = balances.get(payer) ?? (await flights.run(payer, '', () => askBalance(payer))).value
    if (balance < least) return { balance, isNonceUsed: false, hasCode: false }
    // Asked in one moment, and so in one request.
    const [isUsed, hasCode] = await limited(payer, () =>
      Promise.all([isNonceUsed(key), codes.get(payer) ?? askCode(payer)]),
    )
    return { balance, isNonceUsed: isUsed, hasCode }
  }
}

/** Clocks of the node and of this machine may differ by so much, and a block is older than its claim by no more. */
const CLOCK_DIFFERENCE_S = 600n
const AUTHORIZATION_USED = getAbiItem({ abi: tokenAbi, name: 'AuthorizationUsed' })
const AUTHORIZATION_CANCELED = getAbiItem({ abi: tokenAbi, name: 'AuthorizationCanceled' })

/**
 * Finds what an authorization was used for, which the token says is used: backwards, a bounded range at a time, to a
 * block that is older than the claim. Most are in the first range.
 */
async function findUse(
  ask: Ask,
  on: PaymentChain,
  transfer: PaidTransfer,
  since: number,
): Promise<Exclude<AuthorizationOutcome, { kind: 'unused' }>> {
  const args = { authorizer: transfer.payer, nonce: transfer.nonce }
  const oldest = BigInt(Math.floor(since / 1_000)) - CLOCK_DIFFERENCE_S
  let to = await ask('its newest block', (node) => node.getBlockNumber())
  for (let range = 0; range < LIMITS.chainLogRanges && to >= 0n; range++) {
    const fromBlock = to >= LIMITS.chainLogBlocks ? to - BigInt(LIMITS.chainLogBlocks) + 1n : 0n
    const where = { address: on.usdc, args, fromBlock, toBlock: to } as const
    const [[used], [cancelled], first] = await ask('what an authorization was used for', (node) =>
      Promise.all([
        node.getLogs({ ...where, event: AUTHORIZATION_USED }),
        node.getLogs({ ...where, event: AUTHORIZATION_CANCELED }),
        node.getBlock({ blockNumber: fromBlock }),
      ]),
    )
    if (cancelled !== undefined) return { kind: 'cancelled', transaction: cancelled.transactionHash }
    if (used !== undefined) {
      const { transactionHash: transaction, blockNumber, blockHash } = used
      const { logs } = await ask('the receipt of a transaction', (node) =>
        node.getTransactionReceipt({ hash: transaction }),
      )
      // Used to pay somebody else, or less: it is gone like a cancelled one.
      if (!isPaidBy(logs, transfer, on)) return { kind: 'cancelled', transaction }
      return { kind: 'paid', transaction, blockNumber: Number(blockNumber), blockHash }
    }
    if (first.timestamp < oldest) break
    to = fromBlock - 1n
  }
  throw new ServiceError('payments_unavailable', {
    message: `The token says that the authorization ${transfer.nonce} of ${transfer.payer} is used, and the node has no log of it`,
  })
}
