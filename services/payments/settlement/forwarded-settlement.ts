import { assert } from '../../../contracts/assert.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import type { SettlementChain } from '../chain/chain.ts'
import type { LoadedPayment } from '../loaded-payment.ts'
import { type Arrival, decideSettlement, type SettlementStep } from './decide-settlement.ts'
import type { Facilitator, FacilitatorVerdict } from './facilitator.ts'
import type { PaymentQueue } from './payment-queue.ts'
import type { SettlementFact } from './settlement-log.ts'
import type { SettlementTiming } from './settlement-timing.ts'

export interface ForwardedSettlementOptions extends Pick<Clock, 'now'> {
  readonly facilitator: Facilitator
  readonly settler: 'facilitator' | 'gateway'
  /** Tells what became of an authorization; undefined where no node is configured, and for the gateway's ledger. */
  readonly chain: SettlementChain | undefined
  readonly queue: PaymentQueue
  readonly timing: SettlementTiming
}

const TRANSACTION_HASH = /^0x[0-9a-f]{64}$/

/** Whether an earlier request may have moved the money: it had no clear answer, or none that was recorded. */
const isInDoubt = ({ wasInDoubt, payment }: LoadedPayment): boolean => wasInDoubt || payment.state !== 'owed'

/**
 * Settles by asking a facilitator. Asking again is safe, since the authorization works once; so an attempt whose
 * answer is missing is repeated, after the chain or the gateway's list of transfers was asked where there is one. What
 * a facilitator refuses is taken for unpaid only where no earlier request is in doubt.
 */
// oxlint-disable-next-line max-lines-per-function -- each step of a payment reads what the facilitator said in the one before
export function createForwardedSettlement(options: ForwardedSettlementOptions) {
  const { facilitator, settler, chain, queue, timing, now } = options
  const credited = (transaction: string): Arrival => ({
    transaction,
    blockNumber: null,
    blockHash: null,
    by: settler,
  })

  /** Decides before each request to the facilitator; `send` means to make it. */
  async function look(loaded: LoadedPayment, signal: AbortSignal): Promise<SettlementStep> {
    const { payment, authorization } = loaded
    const isOnRail = (payment.rail === 'gateway') === (settler === 'gateway')
    assert(isOnRail, 'each rail has its own settler', payment.rail)
    if (chain === undefined) {
      const found =
        settler === 'gateway' && isInDoubt(loaded)
          ? await facilitator.findTransfer(loaded.claim, signal)
          : undefined
      if (found === undefined) return lookWithoutChain(loaded, now(), timing.graceMs)
      return { kind: 'confirm', arrival: credited(found) }
    }
    const [blockTime, outcome] = await Promise.all([
      chain.blockTime(),
      chain.outcomeOf(authorization, payment.claimedAtMs),
    ])
    const isOverdue = payment.state === 'unknown' || now() - payment.changedAtMs >= timing.receiptMs
    const facts = { ...loaded, ...authorization, state: payment.state, isOverdue, isGivenUp: false }
    // Whether the token would take it is the facilitator's business; its transaction counts as on its way.
    const rehearsal = { refusal: undefined, hasCode: false }
    const transaction = payment.state === 'broadcast' ? 'pending' : 'missing'
    return decideSettlement(facts, { blockTime, outcome, rehearsal, transaction })
  }

  async function ask(loaded: LoadedPayment, signal: AbortSignal): Promise<void> {
    const { state, attempts } = loaded.payment
    // The log has each request that may move money before it is sent. While the outcome of an earlier one is unknown, it
    // says no less, and a gateway that stays away for days does not fill it.
    const isNoted = state === 'unknown' || state === 'broadcast'
    const begun = isNoted
      ? loaded
      : await queue.record(
          loaded,
          [{ type: 'SettlementRequested', data: { attempt: attempts + 1, settler } }],
          signal,
        )
    if (begun === undefined) return
    assert(begun.payment.state !== 'owed', 'the log knows of a request before it is sent', loaded.stream)
    const verdict = await facilitator.settle(begun.claim, signal)
    // A request that was cut off by the end of this process has an answer that nobody has seen.
    if (signal.aborted) return
    await take(begun, verdict, isInDoubt(loaded), signal)
  }

  async function take(
    loaded: LoadedPayment,
    verdict: FacilitatorVerdict,
    wasInDoubt: boolean,
    signal: AbortSignal,
  ): Promise<void> {
    switch (verdict.kind) {
      case 'settled':
        return settled(loaded, verdict.transaction, signal)
      case 'pending':
        return onItsWay(loaded, verdict.transaction, signal)
      case 'used':
      case 'refused':
        // A refusal after a request in doubt may be of what that request has used; only the transfer itself tells.
        if (wasInDoubt || (verdict.kind === 'used' && settler === 'facilitator'))
          return unknown(loaded, verdict.reason, signal)
        return refused(loaded, verdict, signal)
      case 'unknown':
        return unknown(loaded, verdict.reason, signal)
    }
  }

  async function settled(loaded: LoadedPayment, name: string, signal: AbortSignal): Promise<void> {
    if (settler === 'gateway') {
      return queue.confirm(loaded, credited(name), signal)
    }
    const transaction = name.toLowerCase()
    if (!TRANSACTION_HASH.test(transaction)) {
      return unknown(loaded, `the facilitator says settled, in what is no transaction: ${name}`, signal)
    }
    if (chain === undefined) {
      return queue.confirm(loaded, credited(transaction), signal)
    }
    // It says so; the chain is asked, at once.
    const attempt = loaded.payment.attempts
    const facts: SettlementFact[] = [{ type: 'SettlementBroadcast', data: { attempt, transaction } }]
    queue.again(loaded.stream)
    const isNews = loaded.payment.transaction !== transaction
    const noted = isNews ? await queue.record(loaded, facts, signal) : loaded
    if (noted === undefined) return
    const step = await look(noted, signal)
    if (step.kind === 'confirm') await queue.confirm(noted, step.arrival, signal)
  }

  async function onItsWay(loaded: LoadedPayment, name: string, signal: AbortSignal): Promise<void> {
    const transaction = name.toLowerCase()
    const attempt = loaded.payment.attempts
    const reason = 'the facilitator has sent it and does not know more'
    queue.again(loaded.stream)
    if (loaded.lastReason === reason && loaded.payment.state === 'unknown') return
    const facts: SettlementFact[] = TRANSACTION_HASH.test(transaction)
      ? [{ type: 'SettlementBroadcast', data: { attempt, transaction } }]
      : []
    facts.push({ type: 'SettlementUnknown', data: { attempt, reason } })
    await queue.record(loaded, facts, signal)
  }

  async function refused(
    loaded: LoadedPayment,
    { why, reason }: { readonly why?: 'insufficient_funds' | 'refused'; readonly reason: string },
    signal: AbortSignal,
  ): Promise<void> {
    const isOver = settler === 'gateway' || now() - loaded.payment.claimedAtMs >= timing.patienceMs
    if (isOver) return queue.uncollectable(loaded, { reason: why ?? 'refused', detail: reason }, signal)
    return queue.refused(loaded, settler, why === 'insufficient_funds' ? why : `refused: ${reason}`, signal)
  }

  async function unknown(loaded: LoadedPayment, text: string, signal: AbortSignal): Promise<void> {
    const reason = text.slice(0, 200)
    queue.again(loaded.stream)
    // A facilitator that stays away, or has ever other words, must not fill the log.
    const isKnown = loaded.payment.state === 'unknown' && loaded.lastReason === reason
    if (isKnown || (loaded.wasInDoubt && loaded.reasons >= LIMITS.settlementReasons)) return
    const data = { attempt: loaded.payment.attempts, reason }
    await queue.record(loaded, [{ type: 'SettlementUnknown', data }], signal)
  }

  return {
    /** Looks at one payment of the stage and does what it needs. @throws ServiceError of the chain and the store */
    async work(stream: string, signal: AbortSignal): Promise<void> {
      const loaded = await queue.load(stream, settler === 'gateway' ? 'gateway' : 'direct', signal)
      if (loaded === undefined) return
      const step = await look(loaded, signal)
      switch (step.kind) {
        case 'send':
          return ask(loaded, signal)
        case 'confirm':
          return queue.confirm(loaded, step.arrival, signal)
        case 'uncollectable':
          return queue.uncollectable(loaded, step, signal)
        case 'refused':
        case 'wait':
          return queue.again(stream)
      }
    },
  }
}

/** Without a node, this machine's clock decides when an authorization has ended, after a grace period. */
function lookWithoutChain(loaded: LoadedPayment, now: number, graceMs: number): SettlementStep {
  const { payment, authorization, lastReason } = loaded
  if (now <= Number(authorization.validAfter) * 1_000) return { kind: 'wait' }
  if (now < payment.validBeforeS * 1_000 + graceMs) return { kind: 'send' }
  if (isInDoubt(loaded)) {
    const named = payment.transaction === null ? '' : ` ${payment.transaction}`
    const detail = `ended without a clear answer${named}; look it up by hand. The newest: ${lastReason ?? 'none'}`
    return { kind: 'uncollectable', reason: 'unclear', detail }
  }
  const reason = lastReason === 'insufficient_funds' ? 'insufficient_funds' : 'expired'
  return { kind: 'uncollectable', reason, detail: `the newest refusal: ${lastReason ?? 'none'}` }
}
