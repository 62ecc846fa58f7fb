import { formatUsdc } from '../../contracts/chain.ts'
import { isoTime } from '../../contracts/iso-time.ts'
import type { PaymentAnswer } from '../../contracts/payment-answers.ts'
import type { Payment, PaymentRefund } from '../payments/index.ts'

/** The next step of the payer, by the state of the payment. */
const NEXT_STEPS: Readonly<Record<Payment['state'], string>> = {
  owed: 'Nothing to do: it will be settled. Do not pay again for the same answer.',
  settling: 'Nothing to do: it is being settled. Do not pay again for the same answer.',
  broadcast: 'Nothing to do: its transaction is on the way. Do not pay again for the same answer.',
  unknown:
    'Nothing to do: what became of the transaction is being looked up. Do not pay again for the same answer.',
  confirmed: 'Nothing to do: it is paid. Its block becomes final in a while.',
  final: 'Nothing to do: it is paid, for good.',
  uncollectable:
    'See `reason`. Where the answer was given before it was paid, this payer has further answers only after their money is there, until it has paid as much. Otherwise ask for the answer once more: what was paid after all is found then.',
  refunded: 'Nothing to do: it was given back.',
  credited: 'Nothing to do: a credit paid for it, and its authorization is not used.',
}

const REFUND_STEPS = {
  begun:
    'Nothing to do: it is being given back. Its answer is not given any more; sign a new authorization to ask again.',
  transfer: 'Nothing to do: it was sent back to the payer.',
  credit:
    'Its amount is a credit of the payer: sign further payments as usual, and what the credit covers is not settled.',
} as const

const nextStepOf = ({ state, refund }: Payment): string => {
  if (refund === null) return NEXT_STEPS[state]
  return REFUND_STEPS[refund.isDone ? refund.by : 'begun']
}

/** A payment as the holder of its id sees it. */
export const toPaymentAnswer = (payment: Payment): PaymentAnswer => ({
  id: payment.paymentId,
  state: payment.state,
  rail: payment.rail,
  product: payment.product,
  payer: payment.payer,
  amount_usdc: usdc(payment.value),
  refunded_usdc: usdc(payment.refunded),
  is_served_first: payment.isServedFirst,
  transaction: payment.transaction,
  block: payment.blockNumber,
  reason: payment.reason,
  claimed_at: isoTime(payment.claimedAtMs),
  changed_at: isoTime(payment.changedAtMs),
  valid_until: isoTime(payment.validBeforeS * 1_000),
  refund: payment.refund && refundOf(payment.refund),
  next_step: nextStepOf(payment),
})

const refundOf = ({ by, isDone, value, cause, why, transaction, begunAt }: PaymentRefund) => ({
  as: by,
  state: isDone ? ('done' as const) : ('begun' as const),
  amount_usdc: usdc(value),
  cause,
  why,
  transaction,
  begun_at: isoTime(begunAt),
})

const usdc = (microUsdc: string): string => formatUsdc(BigInt(microUsdc))
