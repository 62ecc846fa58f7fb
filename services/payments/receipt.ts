import { NETWORK, NETWORK_V1 } from '../../contracts/chain.ts'
import type { Payment } from '../../projections/index.ts'

/** States in which money has come, so that there is something to show for it. */
const SETTLED: ReadonlySet<Payment['state']> = new Set(['confirmed', 'final', 'refunded'])

/**
 * The header that tells a client what became of its payment; undefined while nothing has: clients take a receipt for
 * a settled payment, whatever it says. A transaction that is only being sent may never arrive.
 *
 * @example receiptOf(payment, 2) // { name: 'PAYMENT-RESPONSE', value: 'eyJzdWNjZXNzIjp0cnVlLC…' }
 */
export function receiptOf(
  { state, transaction, payer, value }: Payment,
  protocol: 1 | 2,
): { readonly name: string; readonly value: string } | undefined {
  if (transaction === null || !SETTLED.has(state)) return undefined
  const receipt = { success: true, transaction, network: protocol === 1 ? NETWORK_V1 : NETWORK, payer }
  const told = protocol === 1 ? receipt : { ...receipt, amount: value }
  return {
    name: protocol === 1 ? 'X-PAYMENT-RESPONSE' : 'PAYMENT-RESPONSE',
    value: Buffer.from(JSON.stringify(told)).toString('base64'),
  }
}
