import { assert } from '../../../contracts/assert.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { mapConcurrently } from '../../runtime/async/map-concurrently.ts'
import type { SettlementChain } from '../chain/chain.ts'
import type { LoadedPayment } from '../loaded-payment.ts'
import type { Payment } from '../state/payment-state.ts'
import { decideFinality } from './decide-settlement.ts'
import type { PaymentQueue } from './payment-queue.ts'
import type { SettlementFact } from './settlement-log.ts'
import type { SettlementTiming } from './settlement-timing.ts'

export interface FinalityWatchOptions {
  /** Undefined where no node is configured: then what is settled is taken for final. */
  readonly chain: SettlementChain | undefined
  readonly queue: PaymentQueue
  readonly timing: SettlementTiming
}

/** Payments that one look takes: their blocks are asked for in one request. */
export const FINALITY_PAYMENTS = 200
const BLOCKS_AT_ONCE = 50

/** Looks whether the blocks of settled payments are still there, until they are final. */
export function createFinalityWatch({ chain, queue, timing }: FinalityWatchOptions) {
  /** Hashes of blocks by their number. */
  async function hashes(
    node: SettlementChain,
    numbers: readonly number[],
  ): Promise<ReadonlyMap<number, string | undefined>> {
    const distinct = [...new Set(numbers)]
    const found = await mapConcurrently(distinct, BLOCKS_AT_ONCE, (number) => node.blockHash(number))
    return new Map(distinct.map((number, index) => [number, found[index]]))
  }

  async function finalise(loaded: LoadedPayment, signal: AbortSignal): Promise<void> {
    if (!(await queue.notifyPaid(loaded.payment))) return queue.again(loaded.stream)
    const { transaction, blockNumber } = loaded.payment
    assert(transaction !== null, 'money that is final came in a transaction', loaded.stream)
    const data = { transaction, blockNumber }
    await queue.record(loaded, [{ type: 'SettlementFinalised', data }], signal)
  }

  async function reorged(loaded: LoadedPayment, signal: AbortSignal): Promise<void> {
    const { transaction, blockNumber } = loaded.payment
    const fact: SettlementFact = {
      type: 'SettlementReorged',
      data: { transaction: transaction ?? '', blockNumber },
    }
    await queue.record(loaded, [fact], signal)
  }

  /** Settled by a facilitator when no node was configured; now there is one, which knows the block. */
  async function findBlock(node: SettlementChain, loaded: LoadedPayment, signal: AbortSignal): Promise<void> {
    const { authorization, payment } = loaded
    queue.after(loaded.stream, timing.finalityMs)
    const outcome = await node.outcomeOf(authorization, payment.claimedAtMs)
    if (outcome.kind !== 'paid') return
    const { transaction, blockNumber, blockHash } = outcome
    const data = { transaction, blockNumber, blockHash, by: 'facilitator' as const }
    await queue.record(loaded, [{ type: 'SettlementConfirmed', data }], signal)
  }

  async function watch(
    node: SettlementChain,
    all: readonly LoadedPayment[],
    signal: AbortSignal,
  ): Promise<void> {
    const [finalBlock, newestBlock] = await Promise.all([node.finalBlock(), node.newestBlock()])
    const isWorthAsking = ({ blockNumber }: Payment): boolean =>
      blockNumber !== null && (blockNumber <= finalBlock || blockNumber > newestBlock - LIMITS.finalityBlocks)
    const asked = all.filter(({ payment }) => isWorthAsking(payment))
    const hashOf = await hashes(
      node,
      asked.map(({ payment }) => payment.blockNumber ?? 0),
    )
    for (const loaded of all) {
      const { blockNumber, blockHash } = loaded.payment
      if (blockNumber === null || blockHash === null) {
        await findBlock(node, loaded, signal)
        continue
      }
      const finality = decideFinality({ blockNumber, blockHash }, hashOf.get(blockNumber), finalBlock)
      if (finality === 'final') await finalise(loaded, signal)
      else if (finality === 'reorged') await reorged(loaded, signal)
      else queue.after(loaded.stream, timing.finalityMs)
    }
  }

  return {
    /** Looks at payments of the stage. @throws ServiceError of the chain and the store */
    async work(streams: readonly string[], signal: AbortSignal): Promise<void> {
      const all = await Promise.all(streams.map((stream) => queue.load(stream, 'finality', signal)))
      const settled = all.filter((loaded) => loaded !== undefined)
      const isCredited = ({ payment }: LoadedPayment): boolean => payment.rail === 'gateway'
      const atOnce = settled.filter((loaded) => chain === undefined || isCredited(loaded))
      for (const loaded of atOnce) await finalise(loaded, signal)
      const watched = settled.filter((loaded) => chain !== undefined && !isCredited(loaded))
      if (chain !== undefined && watched.length > 0) await watch(chain, watched, signal)
    },
  }
}
