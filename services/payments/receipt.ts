import type { PaymentChain } from '../../contracts/domain/chain.ts'
import type { Payment } from './payment.ts'

/** States in which money has come, so that there is something to show for it. */
const SETTLED: ReadonlySet<Payment['state']> = new Set(['confirmed', 'final', 'refunded'])

/**
 * The receipt header of a payment; undefined until it is settled: clients take any receipt for that of a settled payment,
 * and a transaction that is only sent may never arrive.
 *
 * @example receiptOf(payment, { on: BASE, protocol: 2 }) // { name: 'PAYMENT-RESPONSE', value: 'eyJzdWNjZXNzIjp0cnVlLC…' }
 */
export function receiptOf(
  payment: Payment,
  { on, protocol }: { readonly on: PaymentChain; readonly protocol: 1 | 2 },
): { readonly name: string; readonly value: string } | undefined {
  const { transaction, payer, value } = payment
  if (transaction === null || !SETTLED.has(payment.state)) return undefined
  const network = (protocol === 1 && on.networkV1) || on.network
  const told = { success: true, transaction, network, payer, ...(protocol === 2 && { amount: value }) }
  return {
    name: protocol === 1 ? 'X-PAYMENT-RESPONSE' : 'PAYMENT-RESPONSE',
    value: Buffer.from(JSON.stringify(told)).toString('base64'),
  }
}
