import { createHash } from 'node:crypto'
import { BASE } from '../../contracts/chain.ts'
import { ServiceError } from '../../contracts/errors.ts'
import type {
  AuthorizationKey,
  AuthorizationOutcome,
  SettlementChain,
  SignedAuthorization,
} from '../../services/payments/chain/chain.ts'
import type { SendOutcome, Wallet } from '../../services/payments/settlement/wallet.ts'
import type { Random } from '../cluster/random.ts'
import type { Failures, Host, Network } from './network.ts'
import type { SimulatedTime } from './time.ts'

interface Transaction {
  readonly hash: `0x${string}`
  readonly accountNonce: number
  readonly fee: bigint
  readonly authorizations: readonly SignedAuthorization[]
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

/** A chain with one token, one wallet that sends to it, and blocks that may be undone before they are final. */
export interface SimulatedChain {
  connect(network: Network, host: Host): { readonly chain: SettlementChain; readonly wallet: Wallet }
  /** Undoes the newest blocks; what was in them may come again, or be forgotten. */
  reorganise(): void
  transferOf(key: AuthorizationKey): Transfer | undefined
}

const BLOCK_MS = 2_000
/** Blocks behind the newest that may still be undone. */
const UNCERTAIN = 12
const BALANCE = 10n ** 12n
const FEE = 10n ** 9n
/** Share of waiting transactions that get into the next block. */
const LUCK = 0.8

const keyOf = ({ payer, nonce }: AuthorizationKey): string => `${payer} ${nonce}`.toLowerCase()
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
  const signed = new Map<string, Transaction>()
  let waiting: Transaction[] = []
  let transfers = new Map<string, Transfer>()
  let forks = 0

  const newest = (): Block => blocks.at(-1) as Block
  const accountNonce = (): number => blocks.reduce((sum, { transactions }) => sum + transactions.length, 0)

  function take(block: Block): void {
    blocks.push(block)
    for (const { hash, authorizations } of block.transactions) {
      for (const authorization of authorizations) {
        const key = keyOf(authorization)
        const isInTime = authorization.validBefore > BigInt(block.time)
        if (isInTime && !transfers.has(key)) transfers.set(key, { transaction: hash, block })
      }
    }
  }

  function mine(): void {
    const next = accountNonce()
    const lucky = waiting.filter((one) => one.accountNonce === next && random.chance(LUCK)).slice(0, 1)
    // Whatever has the same place, or an earlier one, never gets in.
    waiting = waiting.filter(
      (one) => one.accountNonce > next || (lucky.length === 0 && one.accountNonce === next),
    )
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

  function refusalOf(authorization: SignedAuthorization) {
    const nowS = BigInt(Math.floor(time.now() / 1_000))
    if (transfers.has(keyOf(authorization))) return { reason: 'used', detail: 'used' } as const
    if (authorization.validBefore <= nowS) return { reason: 'expired', detail: 'expired' } as const
    if (authorization.validAfter >= nowS) return { reason: 'not_yet_valid', detail: 'early' } as const
    return undefined
  }

  function send(transaction: Transaction): SendOutcome {
    const { hash, accountNonce: place, fee } = transaction
    if (blocks.some(({ transactions }) => transactions.some((one) => one.hash === hash)))
      return { kind: 'sent' }
    if (place < accountNonce()) return { kind: 'unknown', reason: 'nonce too low' }
    const rival = waiting.find((one) => one.accountNonce === place)
    if (rival?.hash === hash) return { kind: 'sent' }
    if (rival !== undefined && fee * 10n < rival.fee * 11n) {
      return { kind: 'underpriced', reason: 'replacement transaction underpriced' }
    }
    waiting = [...waiting.filter((one) => one !== rival), transaction]
    return { kind: 'sent' }
  }

  const blockOf = (hash: string): Block | undefined =>
    blocks.find(({ transactions }) => transactions.some((one) => one.hash === hash))

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
      const chain: SettlementChain = {
        payerFacts: (key) =>
          ask('payer', () => ({ balance: BALANCE, isNonceUsed: transfers.has(keyOf(key)), hasCode: false })),
        outcomeOf: (key) => ask('outcome', () => outcomeOf(key)),
        blockTime: () => ask('time', () => newest().time),
        finalBlock: () => ask('final', () => Math.max(0, newest().number - UNCERTAIN)),
        newestBlock: () => ask('newest', () => newest().number),
        blockHash: (number) => ask('hash', () => blocks[number]?.hash),
        chainId: () => ask('id', () => BASE.id),
        rehearse: (authorization) =>
          ask('rehearse', () => ({ refusal: refusalOf(authorization), hasCode: false })),
        transactionState: (hash) =>
          ask('transaction', () => {
            if (blockOf(hash) !== undefined) return 'mined'
            return waiting.some((one) => one.hash === hash) ? 'pending' : 'missing'
          }),
        receiptOf: (hash) =>
          ask('receipt', () => {
            const block = blockOf(hash)
            return (
              block && {
                blockNumber: block.number,
                blockHash: block.hash,
                isPaying: (one) => transfers.get(keyOf(one))?.transaction === hash,
              }
            )
          }),
      }
      const wallet: Wallet = {
        address: `0x${'99'.repeat(20)}`,
        accountNonce: () => ask('nonce', accountNonce),
        gas: () => ask('gas', () => ({ balance: 10n ** 18n, feePerGas: FEE, tipPerGas: 1n })),
        async sign(authorizations, { accountNonce: place, feePerGas }) {
          const hash = hashOf('transaction', place, feePerGas, ...authorizations.map(keyOf))
          signed.set(hash, { hash, accountNonce: place, fee: feePerGas, authorizations })
          return { hash, raw: hash }
        },
        send: ({ hash }) =>
          ask('send', () => send(signed.get(hash) as Transaction)).catch((error: Error) => ({
            kind: 'unknown',
            reason: error.message,
          })),
      }
      return { chain, wallet }
    },
  }
}
