import type { PaymentAnswer } from '../../../contracts/answers/payment.ts'
import { formatUsdc } from '../../../contracts/domain/chain.ts'
import { isoTime } from '../../../contracts/domain/iso-time.ts'
import type { Payment } from '../../payments/index.ts'

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
  next_step: NEXT_STEPS[payment.state],
})

const usdc = (microUsdc: string): string => formatUsdc(BigInt(microUsdc))
