import { assert } from '../../../contracts/errors/assert.ts'
import { reasonOf } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import type { Chain } from '../chain/chain.ts'
import { isAwaited, isOpen, type LoadedPayment, type Payment, type PaymentLog } from '../payment.ts'
import {
  type Arrival,
  creditedBy,
  decideGatewaySettlement,
  decideSettlement,
  isInDoubt,
  type SettlementStep,
} from './decide-settlement.ts'
import type { Facilitator, FacilitatorVerdict } from './facilitator.ts'

export interface SettlementOptions extends Pick<Clock, 'now'> {
  readonly log: PaymentLog
  /** Both undefined if payments of the direct rail are not settled here. */
  readonly chain: Chain | undefined
  readonly facilitator: Facilitator | undefined
  /** Undefined if payments of the gateway rail are not settled here. */
  readonly gateway: Facilitator | undefined
  /** Called with a payment for an account whose money is there. @see SettlerOptions.onPaid */
  readonly onPaid: (payment: Payment) => Promise<void>
  readonly pendingMs: number
  readonly report: (event: string, details: Readonly<Record<string, string | number>>) => void
  /** Ends requests: an answer that comes after it is not recorded. */
  readonly signal: AbortSignal
}

const TRANSACTION_HASH = /^0x[0-9a-f]{64}$/
const REASON_CHARACTERS = 200

/**
 * Settles payments by asking a facilitator. Asking again is safe, since an authorization works once; so an attempt
 * whose answer is missing is repeated, after the chain or the gateway's list of transfers was read. A facilitator's
 * refusal proves nothing while an earlier request is in doubt.
 */
// oxlint-disable-next-line max-lines-per-function -- each step of a payment reads what the facilitator said in the one before
export function createSettlement(options: SettlementOptions) {
  const { log, chain, onPaid, now, report, signal } = options
  /** Payments whose owner this process has notified. */
  const told = new Set<string>()
  const record = (loaded: LoadedPayment, events: Parameters<PaymentLog['append']>[1]) =>
    log.append(loaded, events, 'settler')
  const facilitatorOf = ({ rail }: Payment) =>
    rail === 'gateway' ? options.gateway : chain && options.facilitator

  async function decide(loaded: LoadedPayment, facilitator: Facilitator): Promise<SettlementStep> {
    const { payment, authorization } = loaded
    if (payment.rail === 'gateway') {
      const found = isInDoubt(loaded) ? await facilitator.findTransfer(loaded.claim, signal) : undefined
      return decideGatewaySettlement(loaded, found, now())
    }
    assert(chain !== undefined, 'the chain decides about payments on the direct rail', payment.rail)
    const [blockTime, outcome] = await Promise.all([
      chain.blockTime(),
      chain.outcomeOf(authorization, payment.claimedAtMs),
    ])
    return decideSettlement(loaded, { blockTime, outcome }, { now: now(), pendingMs: options.pendingMs })
  }

  async function carryOut(
    loaded: LoadedPayment,
    step: SettlementStep,
    facilitator: Facilitator,
  ): Promise<LoadedPayment | undefined> {
    if (step.kind === 'confirm') return confirm(loaded, step.arrival)
    if (step.kind === 'uncollectable') return giveUp(loaded, step)
    return step.kind === 'request' ? request(loaded, facilitator) : loaded
  }

  async function request(loaded: LoadedPayment, facilitator: Facilitator) {
    const { state, attempts, rail } = loaded.payment
    // The log has each request that may move money before it is sent. While the outcome of an earlier one is unknown, it
    // says no less, and a facilitator that stays away for days does not fill it.
    const isNoted = state === 'unknown' || state === 'broadcast'
    const settler = rail === 'gateway' ? 'gateway' : 'facilitator'
    const data = { attempt: attempts + 1, settler } as const
    const begun = isNoted ? loaded : await record(loaded, [{ type: 'SettlementRequested', data }])
    if (begun === undefined) return undefined
    assert(begun.payment.state !== 'owed', 'the log has a request before it is sent', loaded.stream)
    const verdict = await facilitator.settle(begun.claim, signal)
    return signal.aborted ? begun : take(begun, verdict, isInDoubt(loaded), facilitator)
  }

  async function take(
    loaded: LoadedPayment,
    verdict: FacilitatorVerdict,
    wasInDoubt: boolean,
    facilitator: Facilitator,
  ) {
    const { rail, attempts: attempt } = loaded.payment
    if (verdict.kind === 'pending') return pending(loaded, verdict.transaction.toLowerCase())
    if (verdict.kind === 'settled') {
      return rail === 'gateway'
        ? confirm(loaded, creditedBy(verdict.transaction))
        : lookUp(loaded, verdict.transaction.toLowerCase(), facilitator)
    }
    // A refusal after a request in doubt may be of what that request has used; only the transfer itself tells.
    const isUnclear = wasInDoubt || (verdict.kind === 'used' && rail === 'direct')
    if (verdict.kind === 'unknown' || isUnclear) return unknown(loaded, verdict.reason)
    const why = verdict.kind === 'refused' ? verdict.why : 'refused'
    if (rail === 'gateway') return giveUp(loaded, { reason: why, detail: verdict.reason })
    const reason = why === 'refused' ? `refused: ${verdict.reason}`.slice(0, REASON_CHARACTERS) : why
    return record(loaded, [{ type: 'SettlementFailed', data: { attempt, reason } }])
  }

  /** The facilitator says that a transaction has settled it; the chain is asked, at once. */
  async function lookUp(loaded: LoadedPayment, transaction: string, facilitator: Facilitator) {
    if (!TRANSACTION_HASH.test(transaction))
      return unknown(loaded, `the facilitator says settled, in what is no transaction: ${transaction}`)
    const { attempts: attempt, transaction: known } = loaded.payment
    const named = { type: 'SettlementBroadcast', data: { attempt, transaction } } as const
    const noted = known === transaction ? loaded : await record(loaded, [named])
    if (noted === undefined) return undefined
    const step = await decide(noted, facilitator)
    return step.kind === 'confirm' ? confirm(noted, step.arrival) : noted
  }

  async function pending(loaded: LoadedPayment, transaction: string) {
    const { attempts: attempt, state } = loaded.payment
    const reason = 'the facilitator has sent it and does not know more'
    if (loaded.lastReason === reason && state === 'unknown') return loaded
    const doubt = { type: 'SettlementUnknown', data: { attempt, reason } } as const
    return TRANSACTION_HASH.test(transaction)
      ? record(loaded, [{ type: 'SettlementBroadcast', data: { attempt, transaction } }, doubt])
      : record(loaded, [doubt])
  }

  async function unknown(loaded: LoadedPayment, text: string) {
    const reason = text.slice(0, REASON_CHARACTERS)
    const { state, attempts: attempt } = loaded.payment
    // A facilitator that stays away, or has ever other words, must not fill the log.
    const isKnown = state === 'unknown' && loaded.lastReason === reason
    if (isKnown || (loaded.wasInDoubt && loaded.reasons >= LIMITS.settlementReasons)) return loaded
    return record(loaded, [{ type: 'SettlementUnknown', data: { attempt, reason } }])
  }

  async function giveUp(
    loaded: LoadedPayment,
    { reason, detail }: Pick<Extract<SettlementStep, { kind: 'uncollectable' }>, 'reason' | 'detail'>,
  ) {
    assert(isAwaited(loaded.payment), 'only money that is awaited is given up', loaded.payment.state)
    const data = { reason, detail: detail.slice(0, REASON_CHARACTERS) }
    const recorded = await record(loaded, [{ type: 'PaymentUncollectable', data }])
    const { paymentId, payer, value } = loaded.payment
    if (recorded !== undefined) report('payment_uncollectable', { paymentId, payer, value, reason })
    return recorded
  }

  /** Tells the owner, then records that the money is there: the other way round a crash could lose the telling. */
  async function confirm(loaded: LoadedPayment, arrival: Arrival) {
    const isTold = await tellOwner(loaded.payment)
    const { transaction, blockNumber } = arrival
    const confirmed = { type: 'SettlementConfirmed', data: arrival } as const
    // Without a block there is nothing to wait for.
    return isTold && blockNumber === null
      ? record(loaded, [confirmed, { type: 'SettlementFinalised', data: { transaction, blockNumber } }])
      : record(loaded, [confirmed])
  }

  /** @returns whether this process has notified the owner, or there is none */
  async function tellOwner(payment: Payment): Promise<boolean> {
    const { paymentId, accountId } = payment
    if (accountId === null || told.has(paymentId)) return true
    try {
      await onPaid(payment)
      told.add(paymentId)
      return true
    } catch (error) {
      report('payment_not_told', { paymentId, reason: reasonOf(error) })
      return false
    }
  }

  /** A payment whose block was taken back is owed again, and the chain decides about it as before. */
  async function finalise(loaded: LoadedPayment) {
    const { transaction, blockNumber, blockHash } = loaded.payment
    assert(transaction !== null, 'money that has come came in a transaction', loaded.stream)
    const data = { transaction, blockNumber }
    if (blockNumber !== null) {
      if (chain === undefined || (await chain.finalBlock()) < blockNumber) return loaded
      const hash = await chain.blockHash(blockNumber)
      if (hash === undefined) return loaded
      if (hash !== blockHash) return record(loaded, [{ type: 'SettlementReorged', data }])
    }
    if (!(await tellOwner(loaded.payment))) return loaded
    told.delete(loaded.payment.paymentId)
    return record(loaded, [{ type: 'SettlementFinalised', data }])
  }

  /**
   * Does what a payment needs next.
   *
   * @returns its newest state; undefined if somebody else wrote to it meanwhile: it is to be read again
   * @throws ServiceError of the chain and the store
   */
  return async (stream: string): Promise<LoadedPayment | undefined> => {
    const loaded = await log.load(stream)
    if (loaded === undefined || signal.aborted || !isOpen(loaded.payment)) return loaded
    if (loaded.payment.state === 'confirmed') return finalise(loaded)
    const facilitator = facilitatorOf(loaded.payment)
    if (facilitator === undefined) return loaded
    return carryOut(loaded, await decide(loaded, facilitator), facilitator)
  }
}
