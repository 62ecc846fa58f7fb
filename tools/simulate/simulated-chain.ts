import { createHash } from 'node:crypto'
import { BASE } from '../../contracts/domain/chain.ts'
import { ServiceError } from '../../contracts/errors/errors.ts'
import type { AuthorizationKey, AuthorizationOutcome, Chain } from '../../services/payments/chain/chain.ts'
import type {
  Facilitator,
  FacilitatorVerdict,
  ForwardedPayment,
} from '../../services/payments/settlement/facilitator.ts'
import type { Random } from '../cluster/random.ts'
import type { Failures, Host, Network } from './network.ts'
import type { SimulatedTime } from './time.ts'

interface Transaction {
  readonly hash: `0x${string}`
  /** The name of its authorization. */
  readonly key: string
  /** Unix seconds. */
  readonly validBefore: number
}

interface Block {
  readonly number: number
  readonly hash: `0x${string}`
  /** Unix seconds. */
  readonly time: number
  readonly transactions: readonly Transaction[]
}

/** The transfer of an authorization, on the chain as it is now. */
export interface Transfer {
  readonly transaction: `0x${string}`
  readonly block: Block
}

/** A chain with one token, a facilitator that sends to it, and blocks that may be undone before they are final. */
export interface SimulatedChain {
  connect(network: Network, host: Host): { readonly chain: Chain; readonly facilitator: Facilitator }
  /** Undoes the newest blocks; what was in them may come again, or be forgotten. */
  reorganise(): void
  transferOf(key: AuthorizationKey): Transfer | undefined
}

const BLOCK_MS = 2_000
/** Blocks behind the newest that may still be undone. */
const UNCERTAIN = 12
const BALANCE = 10n ** 12n
/** Share of waiting transactions that get into the next block, and of the others that are not forgotten. */
const [LUCK, MEMORY] = [0.8, 0.9]

const keyOf = ({ payer, nonce }: { payer: string; nonce: string }): string =>
  `${payer} ${nonce}`.toLowerCase()
const hashOf = (...parts: readonly unknown[]): `0x${string}` =>
  `0x${createHash('sha256').update(parts.map(String).join(' ')).digest('hex')}`

// oxlint-disable-next-line max-lines-per-function -- the methods of a chain over one list of blocks
export function createSimulatedChain({
  time,
  random,
}: {
  time: SimulatedTime
  random: Random
}): SimulatedChain {
  const blocks: Block[] = [
    { number: 0, hash: hashOf('first'), time: Math.floor(time.now() / 1_000), transactions: [] },
  ]
  let waiting: Transaction[] = []
  let transfers = new Map<string, Transfer>()
  let [forks, sent] = [0, 0]

  const newest = (): Block => blocks.at(-1) as Block

  function take(block: Block): void {
    blocks.push(block)
    for (const { hash, key, validBefore } of block.transactions)
      if (validBefore > block.time && !transfers.has(key)) transfers.set(key, { transaction: hash, block })
  }

  function mine(): void {
    const lucky = waiting.filter(() => random.chance(LUCK))
    waiting = waiting.filter((one) => !lucky.includes(one) && random.chance(MEMORY))
    const number = newest().number + 1
    take({
      number,
      hash: hashOf('block', number, forks),
      time: Math.floor(time.now() / 1_000),
      transactions: lucky,
    })
    time.after(BLOCK_MS, mine)
  }
  time.after(BLOCK_MS, mine)

  /** A facilitator sends whatever the token would take now; with luck it tells the transaction. */
  function settle(claim: ForwardedPayment): FacilitatorVerdict {
    const key = keyOf(claim)
    const validBefore = Number(claim.validBefore)
    if (transfers.has(key)) return { kind: 'used', reason: 'nonce_already_used' }
    if (validBefore <= time.now() / 1_000)
      return { kind: 'refused', why: 'refused', reason: 'authorization_expired' }
    sent += 1
    const transaction = { hash: hashOf('transaction', key, sent), key, validBefore }
    waiting.push(transaction)
    return random.chance(0.5)
      ? { kind: 'settled', transaction: transaction.hash }
      : { kind: 'pending', transaction: transaction.hash }
  }

  function outcomeOf(key: AuthorizationKey): AuthorizationOutcome {
    const transfer = transfers.get(keyOf(key))
    if (transfer === undefined) return { kind: 'unused' }
    const { transaction, block } = transfer
    return { kind: 'paid', transaction, blockNumber: block.number, blockHash: block.hash }
  }

  return {
    transferOf: (key) => transfers.get(keyOf(key)),
    reorganise() {
      const undone = blocks.splice(Math.max(1, blocks.length - 1 - random.below(UNCERTAIN - 1)))
      forks += 1
      time.note(`the chain undoes ${undone.length} blocks`)
      const kept = blocks.splice(1)
      transfers = new Map()
      for (const block of kept) take(block)
      const again = undone.flatMap(({ transactions }) => transactions).filter(() => random.chance(0.5))
      waiting = [...again, ...waiting]
    },
    connect(network, host) {
      const unavailable = (message: string) => () => new ServiceError('payments_unavailable', { message })
      const failures: Failures = {
        unknown: unavailable('no answer in time'),
        away: unavailable('no connection'),
      }
      const ask = <Value>(what: string, work: () => Value): Promise<Value> =>
        network.call(host, 'chain', what, async () => work(), failures)
      const chain: Chain = {
        payerStatus: (key) =>
          ask('payer', () => ({ balance: BALANCE, isNonceUsed: transfers.has(keyOf(key)), hasCode: false })),
        outcomeOf: (key) => ask('outcome', () => outcomeOf(key)),
        blockTime: () => ask('time', () => newest().time),
        finalBlock: () => ask('final', () => Math.max(0, newest().number - UNCERTAIN)),
        blockHash: (number) => ask('hash', () => blocks[number]?.hash),
        chainId: () => ask('id', () => BASE.id),
      }
      const facilitator: Facilitator = {
        verify: async () => ({ kind: 'valid' }),
        settle: (claim) =>
          ask('settle', () => settle(claim)).catch((error: Error) => ({
            kind: 'unknown',
            reason: error.message,
          })),
        findTransfer: async () => undefined,
        problem: async () => undefined,
      }
      return { chain, facilitator }
    },
  }
}
