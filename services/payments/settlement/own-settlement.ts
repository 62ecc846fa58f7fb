import { assert } from '../../../contracts/assert.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import type { Receipt, SettlementChain } from '../chain/chain.ts'
import { type LoadedPayment, MOVED_NOTHING } from '../loaded-payment.ts'
import { type ChainView, decideSettlement, type SettlementStep } from './decide-settlement.ts'
import type { GasGuard } from './gas-guard.ts'
import type { PaymentQueue } from './payment-queue.ts'
import type { SettlementFact } from './settlement-log.ts'
import type { SettlementTiming } from './settlement-timing.ts'
import type { SendOutcome, SignedTransaction, Wallet } from './wallet.ts'

export interface OwnSettlementOptions extends Clock {
  readonly chain: SettlementChain
  readonly wallet: Wallet
  readonly gas: GasGuard
  readonly queue: PaymentQueue
  readonly timing: SettlementTiming
}

/** A payment and what is to be done about it. */
interface Looked {
  readonly loaded: LoadedPayment
  readonly step: SettlementStep
}

/** While gas is missing or too dear, it is looked at again after so many of the shortest waits. */
const GAS_WAITS = 5

/**
 * Settles with a wallet of our own: several authorizations in one transaction, one transaction at a time.
 *
 * The rule that keeps it certain: a transaction always has the account nonce that follows the account's newest one
 * in a block, read *before* the payments are looked at. So of all the transactions of ours that are on their way,
 * whether this process knows of them or an earlier one was killed over them, exactly one can ever get into a block:
 * a new one replaces the old one, or is refused because the old one has landed. An authorization is therefore never
 * in two transactions of ours that both count; and where somebody else sends it, the token takes it once.
 * The hash is in the log before the node has the transaction, so that ours is known again in every case.
 */
// oxlint-disable-next-line max-lines-per-function -- the steps of a transaction share its nonces, its fees and its block
export function createOwnSettlement(options: OwnSettlementOptions) {
  const { chain, wallet, gas, queue, timing, now, elapsed, sleep } = options

  /** All questions go out in one moment, and so in one request. */
  async function look(loaded: LoadedPayment, blockTime: number): Promise<Looked> {
    const { payment, authorization, broadcasts, wasForwarded, wasInDoubt, minedFailures } = loaded
    const isUnderWay = payment.transaction !== null && payment.state !== 'owed'
    const [rehearsal, transaction] = await Promise.all([
      chain.rehearse(authorization, wallet.address),
      isUnderWay ? chain.transactionState(payment.transaction as `0x${string}`) : ('missing' as const),
    ])
    const view: ChainView = {
      blockTime,
      rehearsal,
      transaction,
      // What the token would take now was not used.
      outcome:
        rehearsal.refusal === undefined
          ? { kind: 'unused' }
          : await chain.outcomeOf(authorization, payment.claimedAtMs),
    }
    const isOverdue = payment.state === 'unknown' || now() - payment.changedAtMs >= timing.receiptMs
    // Every transaction of ours is in a block by now; a facilitator's may still be under way.
    const isSettled = broadcasts.length === minedFailures && !wasForwarded && !wasInDoubt
    const isGivenUp = isSettled && now() - payment.claimedAtMs >= timing.patienceMs
    const facts = { ...loaded, ...authorization, state: payment.state, isOverdue, isGivenUp }
    return { loaded, step: decideSettlement(facts, view) }
  }

  /** Does what is decided, but for sending. */
  async function follow({ loaded, step }: Looked, signal: AbortSignal): Promise<void> {
    switch (step.kind) {
      case 'confirm':
        return queue.confirm(loaded, step.arrival, signal)
      case 'uncollectable':
        return queue.uncollectable(loaded, step, signal)
      case 'refused':
        return queue.refused(loaded, 'own', step.reason, signal)
      case 'wait':
      case 'send':
        return queue.again(loaded.stream)
    }
  }

  /** The payments of the next transaction; one that moved nothing in a shared transaction goes alone. */
  function choose(looked: readonly Looked[]): LoadedPayment[] {
    const sendable = looked.filter(({ step }) => step.kind === 'send')
    const together = sendable.filter(({ loaded }) => !queue.isIsolated(loaded.stream))
    const chosen = together.length > 0 ? together : sendable.slice(0, 1)
    for (const { loaded } of sendable) {
      if (!chosen.some((one) => one.loaded === loaded)) queue.after(loaded.stream, 0)
    }
    return chosen.map(({ loaded }) => loaded)
  }

  async function send(
    batch: readonly LoadedPayment[],
    accountNonce: number,
    signal: AbortSignal,
  ): Promise<void> {
    const fees = gas.feesFor(await wallet.gas(), accountNonce, batch.length)
    if (fees === undefined) {
      for (const { stream } of batch) queue.after(stream, GAS_WAITS * timing.retryMs)
      return
    }
    const authorizations = batch.map(({ authorization }) => authorization)
    const names = new Set(batch.map(({ stream }) => stream))
    assert(names.size === batch.length, 'an authorization is in a transaction once', batch.length)
    const transaction = await wallet.sign(authorizations, { accountNonce, ...fees })
    const recorded = await Promise.all(
      batch.map((loaded) => queue.record(loaded, broadcastOf(loaded, transaction), signal)),
    )
    const sent = recorded.filter((loaded) => loaded !== undefined)
    if (sent.length < batch.length) {
      // Somebody else has decided about one of them. Nothing was sent, and the next look begins anew for all, in a
      // while: a log that refuses at once must not be asked again and again.
      for (const { stream } of batch) queue.after(stream, timing.retryMs)
      return
    }
    const isKnown = sent.every(({ payment }) => payment.transaction === transaction.hash)
    assert(isKnown, 'the log has the hash before the node has the transaction', transaction.hash)
    const outcome = await wallet.send(transaction)
    if (outcome.kind !== 'unaffordable') gas.sent(fees, accountNonce)
    const receipt = await awaitReceipt(transaction, outcome, signal)
    await settleUp(sent, outcome, receipt, signal)
  }

  /** @returns undefined where what became of the transaction is not known in time, or the node has it not */
  async function awaitReceipt(
    { hash }: SignedTransaction,
    outcome: SendOutcome,
    signal: AbortSignal,
  ): Promise<Receipt | undefined> {
    if (outcome.kind === 'underpriced' || outcome.kind === 'unaffordable') return undefined
    const deadline = elapsed() + timing.receiptMs
    while (!signal.aborted) {
      const receipt = await chain.receiptOf(hash).catch(unlessAway)
      if (receipt !== undefined) return receipt
      if (elapsed() >= deadline) return undefined
      if (outcome.kind === 'unknown') {
        const state = await chain.transactionState(hash).catch(unlessAway)
        if (state === 'missing') return undefined
      }
      await sleep(timing.pollMs, signal)
    }
    return undefined
  }

  async function settleUp(
    sent: readonly LoadedPayment[],
    outcome: SendOutcome,
    receipt: Receipt | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    // A process that ends says nothing more: the next one finds these as they are.
    if (signal.aborted) return
    if (outcome.kind === 'underpriced') gas.underbid()
    const blockTime = receipt === undefined ? 0 : await chain.blockTime()
    await Promise.all(
      sent.map(async (loaded) => {
        if (receipt === undefined) return notLanded(loaded, outcome, signal)
        if (!receipt.isPaying(loaded.authorization)) return notPaid(loaded, blockTime, signal)
        const { transaction } = loaded.payment
        const { blockNumber, blockHash } = receipt
        assert(transaction !== null, 'money of our own came in a transaction', loaded.stream)
        const arrival = { transaction, blockNumber, blockHash, by: 'own' as const }
        return queue.confirm(loaded, arrival, signal)
      }),
    )
  }

  /** The transaction is in a block and has brought nothing for this one: somebody else may have, or the token refused. */
  async function notPaid(loaded: LoadedPayment, blockTime: number, signal: AbortSignal): Promise<void> {
    // One that spoils what it shares a transaction with goes alone from now on.
    queue.isolate(loaded.stream)
    const looked = await look(loaded, blockTime)
    const { kind } = looked.step
    if (kind !== 'send' && kind !== 'refused') return follow(looked, signal)
    return queue.refused(loaded, 'own', MOVED_NOTHING, signal)
  }

  async function notLanded(loaded: LoadedPayment, outcome: SendOutcome, signal: AbortSignal): Promise<void> {
    const attempt = loaded.payment.attempts
    const reason = 'reason' in outcome ? outcome.reason : `no receipt for ${timing.receiptMs} ms`
    const isKnown = outcome.kind === 'underpriced' || outcome.kind === 'unaffordable'
    const type = isKnown ? 'SettlementFailed' : 'SettlementUnknown'
    queue.again(loaded.stream)
    await queue.record(loaded, [{ type, data: { attempt, reason } }], signal)
  }

  return {
    /**
     * Looks at payments of the stage and does what each needs. One that cannot be looked at holds up no other.
     *
     * @returns why one could not, where the others could
     * @throws ServiceError of the chain and the store, where it concerns all
     */
    async work(streams: readonly string[], signal: AbortSignal): Promise<unknown> {
      const all = await Promise.allSettled(streams.map((stream) => queue.load(stream, 'direct', signal)))
      const open = fulfilled(all).filter((loaded) => loaded !== undefined)
      if (open.length === 0) return firstReason(all)
      const accountNonce = await wallet.accountNonce()
      const blockTime = await chain.blockTime()
      const looks = await Promise.allSettled(open.map((loaded) => look(loaded, blockTime)))
      const looked = fulfilled(looks)
      const batch = choose(looked)
      const others = looked.filter(({ step }) => step.kind !== 'send')
      const followed = await Promise.allSettled(others.map((one) => follow(one, signal)))
      if (batch.length > 0) await send(batch, accountNonce, signal)
      return firstReason([...all, ...looks, ...followed])
    },
  }
}

const fulfilled = <Value>(all: readonly PromiseSettledResult<Value>[]): Value[] =>
  all.filter((one) => one.status === 'fulfilled').map(({ value }) => value)

/** Undefined where all went well. */
export const firstReason = (all: readonly PromiseSettledResult<unknown>[]): unknown =>
  all.find((one) => one.status === 'rejected')?.reason

const broadcastOf = ({ payment }: LoadedPayment, { hash }: SignedTransaction): SettlementFact[] => {
  const attempt = payment.attempts + 1
  return [
    { type: 'SettlementRequested', data: { attempt, settler: 'own' } },
    { type: 'SettlementBroadcast', data: { attempt, transaction: hash } },
  ]
}

/** A node that does not answer is asked again within the time; anything else is a fault. */
function unlessAway(error: unknown): undefined {
  if (error instanceof ServiceError && error.code === 'payments_unavailable') return undefined
  throw error
}
