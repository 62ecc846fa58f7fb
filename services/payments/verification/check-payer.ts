import { formatUsdc } from '../../../contracts/chain.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Product } from '../../../contracts/prices.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import { RecentMap } from '../../runtime/cache/recent-map.ts'
import type { Chain } from '../chain/chain.ts'
import type { KnownFunds } from '../claims/decide-claim.ts'
import type { VerifiedPayment } from '../payments.ts'
import { paymentRefusedError } from '../refusal.ts'
import type { Facilitator } from '../settlement/facilitator.ts'
import { meaningOf } from '../settlement/facilitator-codes.ts'

export interface PayerCheckOptions extends Pick<Clock, 'now' | 'elapsed'> {
  /** Undefined where no node is configured. */
  readonly chain: Chain | undefined
  /** Settles payments on the chain if no node is configured. */
  readonly facilitator: Pick<Facilitator, 'verify'> | undefined
  /** Settles payments of the gateway rail. */
  readonly gateway: Pick<Facilitator, 'verify'> | undefined
  /** Ends all waiting. */
  readonly signal: AbortSignal
}

export type PayerCheck = ReturnType<typeof createPayerCheck>

/** How soon a payment may be tried again that nobody could be asked about. */
const RETRY_AFTER_S = 5

/**
 * Checks with the chain or a facilitator whether a payer can pay, before anything is computed. The gateway keeps balances
 * and nonces of its own, so it is asked about its payments and the chain is not. A node tells what a payer has; a
 * facilitator only that it has enough for this payment.
 */
export function createPayerCheck({ chain, facilitator, gateway, now, elapsed, signal }: PayerCheckOptions) {
  const refused = new RecentMap<string, ServiceError>(LIMITS.payersRemembered, {
    ttlMs: LIMITS.payerRefusedMs,
    now: elapsed,
  })

  const mayLook = createLookBudget(elapsed)
  /** Authorizations that brought us nothing, when it was asked a moment ago. */
  const unpaid = new RecentMap<string, true>(LIMITS.payersRemembered, {
    ttlMs: LIMITS.givenUpLookMs,
    now: elapsed,
  })

  async function ask(
    asked: Pick<Facilitator, 'verify'>,
    payment: VerifiedPayment,
    product: Product,
  ): Promise<KnownFunds> {
    const key = `${payment.rail} ${payment.payer}`
    const before = refused.get(key)
    if (before !== undefined) throw before
    const verdict = await asked.verify({ ...payment, product }, signal)
    if (verdict.kind === 'valid') return { balance: payment.value, isAll: false }
    if (verdict.kind === 'unknown') {
      throw new ServiceError('payments_unavailable', {
        message: `It cannot be told at the moment whether ${payment.payer} can pay; this request charged nothing.`,
        details: { retry_after_s: RETRY_AFTER_S },
        cause: new Error(verdict.reason),
        isForCallers: true,
      })
    }
    const reason = meaningOf(verdict.reason)?.reason ?? 'unexpected_verify_error'
    const refusal = paymentRefusedError(reason, `The facilitator refuses the payment: ${verdict.reason}.`)
    // Of one authorization nothing follows for the next; of an empty account it does, for a moment.
    if (reason === 'insufficient_funds') refused.set(key, refusal)
    throw refusal
  }

  return {
    /**
     * @param awaited what the payer has promised already, millionths of a USDC
     * @returns what the payer has; undefined where there is nobody to ask
     * @throws ServiceError `payment_refused`; `payments_unavailable` where there is no answer
     */
    async fundsOf(payment: VerifiedPayment, product: Product, awaited: bigint) {
      if (payment.rail === 'gateway') return gateway && ask(gateway, payment, product)
      if (chain !== undefined) return askNode(chain, payment, awaited)
      return facilitator && ask(facilitator, payment, product)
    },
    /**
     * Whether the money of an authorization has come to us, although the log knows nothing of it: its claim was lost with
     * a log that was restored from an older copy, or its payer sent it to the chain. Of payers without money few are looked
     * for in a second, since empty accounts cost nothing to make; beyond that nobody has paid.
     *
     * @param isPoor whether the payer has too little for this payment: it may be because this payment took it
     * @throws ServiceError `payments_unavailable` where the node does not answer
     */
    async hasPaid(payment: VerifiedPayment, isPoor: boolean): Promise<boolean> {
      const { rail, payer, payTo, nonce, value, validBefore } = payment
      const key = `${payer} ${nonce}`
      if (rail !== 'direct' || chain === undefined || unpaid.get(key) === true) return false
      // Nobody takes it earlier than this.
      const since = (Number(validBefore) - LIMITS.paymentValidityMostS) * 1_000
      if (now() - since > LIMITS.paidLongAgoMs) return false
      if (isPoor && !mayLook()) return false
      const { kind } = await chain.outcomeOf({ payer, payTo, nonce, value }, since)
      if (kind !== 'paid') unpaid.set(key, true)
      return kind === 'paid'
    },
  }
}

async function askNode(node: Chain, payment: VerifiedPayment, awaited: bigint): Promise<KnownFunds> {
  const { payer, nonce, value } = payment
  const owed = awaited + value
  const { balance, isNonceUsed, hasCode } = await node.payerFacts({ payer, nonce }, owed)
  if (balance < owed) {
    throw paymentRefusedError(
      'insufficient_funds',
      `${payer} has ${formatUsdc(balance)} USDC, and would owe ${formatUsdc(owed)} with this payment.`,
    )
  }
  if (isNonceUsed) {
    throw paymentRefusedError(
      'invalid_transaction_state',
      `The authorization ${nonce} was used or cancelled on the chain already.`,
    )
  }
  if (hasCode) {
    throw paymentRefusedError(
      'invalid_exact_evm_payload_signature',
      `${payer} is an account with code, whose signatures only its code can check; such accounts are not taken yet.`,
    )
  }
  return { balance, isAll: true }
}

/** Limits how many authorizations of payers without money are looked up in a second. */
function createLookBudget(elapsed: () => number): () => boolean {
  let budget: { readonly left: number; readonly at: number } = {
    left: LIMITS.poorPayerLooksPerS,
    at: elapsed(),
  }
  return () => {
    const at = elapsed()
    const earned = (Math.max(0, at - budget.at) / 1_000) * LIMITS.poorPayerLooksPerS
    const left = Math.min(LIMITS.poorPayerLooksPerS, budget.left + earned)
    budget = { left: left >= 1 ? left - 1 : left, at }
    return left >= 1
  }
}
