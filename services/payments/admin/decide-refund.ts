import { formatUsdc } from '../../../contracts/domain/chain.ts'
import { assert } from '../../../contracts/errors/assert.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import type { Payment } from '../payment.ts'

/** Money that was sent back. */
export interface SentRefund {
  /** Hash of the transaction, in lower case. */
  readonly transaction: string
  /** Millionths of a USDC. */
  readonly value: bigint
}

/**
 * Whether a refund is to be recorded. Only what is final can be given back: until then a reorganisation of the chain
 * may take back the payment, and the refund would be a gift.
 *
 * @param earlier what was recorded of the payment before
 * @returns `known` where this transaction was recorded already
 * @throws ServiceError `state_conflict`
 */
export function decideRefund(
  payment: Payment,
  earlier: readonly { readonly transaction: string; readonly value: string }[],
  refund: SentRefund,
): 'record' | 'known' {
  const same = earlier.find(({ transaction }) => transaction === refund.transaction)
  if (same !== undefined) {
    if (BigInt(same.value) === refund.value) return 'known'
    throw refundRefusedError(
      `Transaction ${refund.transaction} was recorded as a refund of ${formatUsdc(BigInt(same.value))} USDC, not of ${formatUsdc(refund.value)}.`,
    )
  }
  if (refund.value <= 0n) throw refundRefusedError('Nothing cannot be sent back.')
  const left = BigInt(payment.value) - BigInt(payment.refunded)
  if (payment.state !== 'final' && payment.state !== 'refunded') {
    throw refundRefusedError(`The payment is ${payment.state}; only one that is final can be given back.`)
  }
  if (refund.value > left) {
    throw refundRefusedError(
      `${formatUsdc(refund.value)} USDC is more than is left of the payment: ${formatUsdc(left)} of ${formatUsdc(BigInt(payment.value))}.`,
    )
  }
  assert(
    BigInt(payment.refunded) + refund.value <= BigInt(payment.value),
    'refunds are no more than the payment',
  )
  return 'record'
}

const refundRefusedError = (message: string): ServiceError => new ServiceError('state_conflict', { message })
