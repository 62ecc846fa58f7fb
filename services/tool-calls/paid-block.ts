import { formatUsdc } from '../../contracts/chain.ts'
import type { PaymentBlock } from '../../contracts/service-block.ts'
import type { Payment } from '../payments/index.ts'

/** The address that shows the state of a payment. */
export const statusUrl = (publicUrl: string, paymentId: string): string =>
  `${publicUrl}/x402/payments/${paymentId}`

/** A payment as its answer tells it. */
export const paymentBlock = (
  {
    payment: { paymentId, state, value, transaction },
    secret,
  }: { readonly payment: Payment; readonly secret: string },
  publicUrl: string,
): PaymentBlock => ({
  id: paymentId,
  state,
  amount_usdc: formatUsdc(BigInt(value)),
  transaction,
  status_url: statusUrl(publicUrl, paymentId),
  secret,
})
