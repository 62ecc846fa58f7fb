import { formatUsdc } from '../../../contracts/domain/chain.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Product } from '../../../contracts/tools/prices.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import { RecentMap } from '../../runtime/cache/recent-map.ts'
import type { Chain } from '../chain/chain.ts'
import type { KnownFunds } from '../claims/decide-claim.ts'
import type { VerifiedPayment } from '../payments.ts'
import { paymentRefusedError } from '../refusal.ts'
import type { Facilitator } from '../settlement/facilitator.ts'

export interface PayerCheckOptions extends Pick<Clock, 'elapsed'> {
  /** Answers for payments on the direct rail. Undefined if no node is configured. */
  readonly chain: Chain | undefined
  /** Answers for payments on the gateway rail, since the gateway keeps balances and nonces of its own. */
  readonly gateway?: Pick<Facilitator, 'verify'> | undefined
  /** Ends all waiting. */
  readonly signal: AbortSignal
}

/**
 * The funds of a payer, asked before anything is computed.
 *
 * @param awaited what the payer has promised already, millionths of a USDC
 * @returns undefined if there is nobody to ask
 * @throws ServiceError `payment_refused`; `payments_unavailable` if there is no answer
 */
export type PayerCheck = (
  payment: VerifiedPayment,
  product: Product,
  awaited: bigint,
) => Promise<KnownFunds | undefined>

/** How soon a payment may be tried again that nobody could be asked about. */
const RETRY_AFTER_S = 5

/** A node tells what a payer has; the gateway only that it has enough for this payment. */
export function createPayerCheck({ chain, gateway, elapsed, signal }: PayerCheckOptions): PayerCheck {
  const refused = new RecentMap<string, ServiceError>(LIMITS.payersRemembered, {
    ttlMs: LIMITS.payerRefusedMs,
    now: elapsed,
  })

  async function askGateway(
    asked: Pick<Facilitator, 'verify'>,
    payment: VerifiedPayment,
    product: Product,
  ): Promise<KnownFunds> {
    const before = refused.get(payment.payer)
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
    const refusal = paymentRefusedError(verdict.code, `The gateway refuses the payment: ${verdict.reason}.`)
    // Of one authorization nothing follows for the next; of an empty account it does, for a moment.
    if (verdict.code === 'insufficient_funds') refused.set(payment.payer, refusal)
    throw refusal
  }

  return async (payment, product, awaited) => {
    if (payment.rail === 'gateway') return gateway && askGateway(gateway, payment, product)
    return chain && askNode(chain, payment, awaited)
  }
}

async function askNode(node: Chain, payment: VerifiedPayment, awaited: bigint): Promise<KnownFunds> {
  const { payer, nonce, value } = payment
  const owed = awaited + value
  const { balance, isNonceUsed, hasCode } = await node.payerStatus({ payer, nonce }, owed)
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
