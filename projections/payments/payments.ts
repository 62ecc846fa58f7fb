import type { JsonObject } from '../../contracts/json.ts'
import type { Projection, Rows } from '../projection.ts'
import { evolvePayment, isDebt, isOpen, isUnsettled, type Payment } from './payment-state.ts'

/** What one payer, or all together, has claimed. Amounts are millionths of a USDC. */
export interface PayerTotals extends JsonObject {
  /** Served and not settled. */
  readonly unsettled: string
  /** Served and never paid, since the operator last forgot it or the payer last paid. */
  readonly debt: string
  readonly claims: number
  /** By the operator. */
  readonly isBlocked: boolean
}

/** Payments that are not at their end. The value says no more than the key. */
export interface OpenPayment extends JsonObject {
  readonly paymentId: string
}

export type PaymentsRow = Payment | PayerTotals | OpenPayment

export const PAYMENT_PREFIX = 'payment/'
export const OPEN_PAYMENT_PREFIX = 'open/'
/** @param paymentId a UUID that begins with its time, so that rows stand in the order of their claims */
export const paymentRowKey = (paymentId: string): string => `${PAYMENT_PREFIX}${paymentId}`
export const openPaymentKey = (paymentId: string): string => `${OPEN_PAYMENT_PREFIX}${paymentId}`
/** @param payer an address in lower case */
export const payerKey = (payer: string): string => `payer/${payer}`
export const TOTALS_KEY = 'total'

const NOTHING: PayerTotals = { unsettled: '0', debt: '0', claims: 0, isBlocked: false }

/** Every payment and where it stands, those that are not at their end, and what each payer owes. */
export const payments: Projection<PaymentsRow> = {
  name: 'payments',
  version: 1,
  changes: 'rows',
  events: [
    'PaymentClaimed',
    'SettlementRequested',
    'SettlementBroadcast',
    'SettlementFailed',
    'SettlementUnknown',
    'SettlementConfirmed',
    'SettlementFinalised',
    'SettlementReorged',
    'PaymentUncollectable',
    'RefundSent',
    'PayerBlocked',
    'PayerUnblocked',
  ],
  fold(rows, event) {
    const totals = rows as Rows<PayerTotals>
    if (event.type === 'PayerBlocked' || event.type === 'PayerUnblocked') {
      const isBlocked = event.type === 'PayerBlocked'
      change(totals, payerKey(event.data.payer), (before) => ({
        ...before,
        isBlocked,
        debt: isBlocked ? before.debt : '0',
      }))
      return
    }
    if (!('paymentId' in event.data)) return
    const { paymentId } = event.data
    const key = paymentRowKey(paymentId)
    const before = (rows as Rows<Payment>).get(key)
    const after = evolvePayment(before, event)
    if (after === undefined) return
    rows.put(key, after)
    if (isOpen(after)) rows.put(openPaymentKey(paymentId), { paymentId })
    else rows.delete(openPaymentKey(paymentId))
    for (const whose of [payerKey(after.payer), TOTALS_KEY]) {
      change(totals, whose, (sums) => sumsAfter(sums, before, after))
    }
  },
}

function sumsAfter(sums: PayerTotals, before: Payment | undefined, after: Payment): PayerTotals {
  const share = (payment: Payment | undefined, counts: (payment: Payment) => boolean): bigint =>
    payment !== undefined && counts(payment) ? BigInt(payment.value) : 0n
  const moved = (counts: (payment: Payment) => boolean): bigint =>
    share(after, counts) - share(before, counts)
  const debt = BigInt(sums.debt) + moved(isDebt)
  // Who has paid again is trusted again.
  const isPaidNow = after.state === 'confirmed' && before?.state !== 'confirmed'
  return {
    ...sums,
    unsettled: (BigInt(sums.unsettled) + moved(isUnsettled)).toString(),
    debt: (isPaidNow || debt < 0n ? 0n : debt).toString(),
    claims: sums.claims + (before === undefined ? 1 : 0),
  }
}

function change(rows: Rows<PayerTotals>, key: string, by: (before: PayerTotals) => PayerTotals): void {
  rows.put(key, by(rows.get(key) ?? NOTHING))
}
