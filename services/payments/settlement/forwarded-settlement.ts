import { assert } from '../../../contracts/assert.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import type { SettlementChain } from '../chain/chain.ts'
import type { LoadedPayment } from '../loaded-payment.ts'
import { decideSettlement, type SettlementStep } from './decide-settlement.ts'
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

/**
 * Settles by asking a facilitator. Asking again is safe, since the authorization works once; so an attempt whose
 * answer is missing is repeated, after the chain was asked where there is one. What a facilitator refuses is taken
 * for unpaid only as long as the chain does not say otherwise.
 */
// oxlint-disable-next-line max-lines-per-function -- each step of a payment reads what the facilitator said in the one before
export function createForwardedSettlement(options: ForwardedSettlementOptions) {
  const { facilitator, settler, chain, queue, timing, now } = options

  /** Decides before each request to the facilitator; `send` means to make it. */
  async function look(loaded: LoadedPayment): Promise<SettlementStep> {
    const { payment, authorization } = loaded
    const isOnRail = (payment.rail === 'gateway') === (settler === 'gateway')
    assert(isOnRail, 'each rail has its own settler', payment.rail)
    if (chain === undefined) return lookWithoutChain(loaded, now(), timing.graceMs)
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
    const wasInDoubt = loaded.payment.state !== 'owed'
    const attempt = loaded.payment.attempts + 1
    // That it may have been used is in the log before it can have been, once: a refusal that comes again and again
    // for a whole day must not fill the log.
    const begun = loaded.wasForwarded
      ? loaded
      : await queue.record(loaded, [{ type: 'SettlementRequested', data: { attempt, settler } }], signal)
    if (begun === undefined) return
    assert(begun.wasForwarded, 'the log knows of a request before the facilitator has it', loaded.stream)
    const verdict = await facilitator.settle(begun.claim, signal)
    // A request that was cut off by the end of this process has an answer that nobody has seen.
    if (signal.aborted) return
    await take(begun, verdict, wasInDoubt, signal)
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
        return used(loaded, verdict.reason, wasInDoubt, signal)
      case 'refused':
        return refused(loaded, verdict.reason, signal)
      case 'unknown':
        return unknown(loaded, verdict.reason, signal)
    }
  }

  async function settled(loaded: LoadedPayment, name: string, signal: AbortSignal): Promise<void> {
    if (settler === 'gateway') {
      return queue.confirm(
        loaded,
        { transaction: name, blockNumber: null, blockHash: null, by: settler },
        signal,
      )
    }
    const transaction = name.toLowerCase()
    if (!TRANSACTION_HASH.test(transaction)) {
      return unknown(loaded, `the facilitator says settled, in what is no transaction: ${name}`, signal)
    }
    if (chain === undefined) {
      return queue.confirm(loaded, { transaction, blockNumber: null, blockHash: null, by: settler }, signal)
    }
    // It says so; the chain is asked, at once.
    const attempt = loaded.payment.attempts
    const facts: SettlementFact[] = [{ type: 'SettlementBroadcast', data: { attempt, transaction } }]
    queue.again(loaded.stream)
    const isNews = loaded.payment.transaction !== transaction
    const noted = isNews ? await queue.record(loaded, facts, signal) : loaded
    if (noted === undefined) return
    const step = await look(noted)
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

  async function used(
    loaded: LoadedPayment,
    reason: string,
    wasInDoubt: boolean,
    signal: AbortSignal,
  ): Promise<void> {
    if (settler === 'facilitator') return unknown(loaded, reason, signal)
    // The authorization names us as its receiver, and the gateway was asked before and gave no answer we know of:
    // that request has credited it. It has told no name for the transfer, so the authorization's own stands for it.
    if (wasInDoubt) return settled(loaded, loaded.authorization.nonce, signal)
    return queue.uncollectable(loaded, { reason: 'refused', detail: reason }, signal)
  }

  async function refused(loaded: LoadedPayment, reason: string, signal: AbortSignal): Promise<void> {
    if (settler === 'gateway')
      return queue.uncollectable(loaded, { reason: 'refused', detail: reason }, signal)
    const isShort = /insufficient/i.test(reason)
    // What an earlier request has begun may still arrive; otherwise it is given up when nobody waits for it.
    const isOver = now() - loaded.payment.claimedAtMs >= timing.patienceMs
    if (isOver && !loaded.wasInDoubt && loaded.broadcasts.length === 0) {
      const why = isShort ? 'insufficient_funds' : 'refused'
      return queue.uncollectable(loaded, { reason: why, detail: reason }, signal)
    }
    return queue.refused(loaded, settler, isShort ? 'insufficient_funds' : `refused: ${reason}`, signal)
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
      const step = await look(loaded)
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
function lookWithoutChain(
  { payment, authorization, lastReason, wasInDoubt }: LoadedPayment,
  now: number,
  graceMs: number,
): SettlementStep {
  if (now <= Number(authorization.validAfter) * 1_000) return { kind: 'wait' }
  if (now < payment.validBeforeS * 1_000 + graceMs) return { kind: 'send' }
  // A refusal after a request without an answer may be of what that request has used.
  if (payment.state !== 'owed' || wasInDoubt) {
    const named = payment.transaction === null ? '' : ` ${payment.transaction}`
    const detail = `ended without a clear answer${named}; look it up by hand, no node is configured. The newest: ${lastReason ?? 'none'}`
    return { kind: 'uncollectable', reason: 'refused', detail }
  }
  const reason = lastReason === 'insufficient_funds' ? 'insufficient_funds' : 'expired'
  return { kind: 'uncollectable', reason, detail: `the newest refusal: ${lastReason ?? 'none'}` }
}
