import type { PaymentChain } from '../../contracts/chain.ts'
import type { OfferSigner } from './signing/offer-signer.ts'
import type { Payment } from './state/payment-state.ts'

/** States in which money has come, so that there is something to show for it. */
const SETTLED: ReadonlySet<Payment['state']> = new Set(['confirmed', 'final', 'refunded'])

/** Whether the money of a payment has come. */
export const isSettled = ({ state }: Pick<Payment, 'state'>): boolean => SETTLED.has(state)

/**
 * The receipt header of a payment; undefined until it is settled: clients take any receipt for that of a settled payment,
 * and a transaction that is only sent may never arrive.
 *
 * @example receiptOf(payment, { on: BASE, protocol: 2 }) // { name: 'PAYMENT-RESPONSE', value: 'eyJzdWNjZXNzIjp0cnVlLC…' }
 */
export function receiptOf(
  payment: Payment,
  { on, protocol }: { readonly on: PaymentChain; readonly protocol: 1 | 2 },
  signer?: OfferSigner,
): { readonly name: string; readonly value: string } | undefined {
  const { transaction, payer, value } = payment
  if (transaction === null || !isSettled(payment)) return undefined
  const receipt = {
    success: true,
    transaction,
    network: (protocol === 1 && on.networkV1) || on.network,
    payer,
  }
  const signed = signer && { 'offer-receipt': { info: { receipt: signer.receipt(payment) } } }
  const told = { ...receipt, ...(protocol === 2 && { amount: value }), ...(signed && { extensions: signed }) }
  return {
    name: protocol === 1 ? 'X-PAYMENT-RESPONSE' : 'PAYMENT-RESPONSE',
    value: Buffer.from(JSON.stringify(told)).toString('base64'),
  }
}
