import { formatUsdc } from '../../contracts/chain.ts'
import type { PaymentBlock, ServiceBlock } from '../../contracts/service-block.ts'
import type { Payment } from '../payments/index.ts'

/** The address that shows the state of a payment. */
export const statusUrl = (publicUrl: string, paymentId: string): string =>
  `${publicUrl}/x402/payments/${paymentId}`

interface PaidOnce {
  readonly payment: Payment
  readonly secret: string
}

/** A payment as its answer tells it. */
export const paymentBlock = (
  { payment: { paymentId, state, value, transaction }, secret }: PaidOnce,
  publicUrl: string,
): PaymentBlock => ({
  id: paymentId,
  state,
  amount_usdc: formatUsdc(BigInt(value)),
  transaction,
  status_url: statusUrl(publicUrl, paymentId),
  secret,
})

/** The metadata of an answer that was paid for by itself: no calls of a key were used. */
export const paidServiceBlock = (
  { version, market, publicUrl }: Pick<ServiceBlock, 'version' | 'market'> & { publicUrl: () => string },
  { tool, requestId, auth, notice }: Pick<ServiceBlock, 'tool' | 'auth' | 'notice'> & { requestId: string },
  paid: PaidOnce,
): ServiceBlock => ({
  version,
  tool,
  request_id: requestId,
  market,
  auth,
  quota: null,
  payment: paymentBlock(paid, publicUrl()),
  notice,
})
