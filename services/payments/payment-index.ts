import type { Position } from '../../contracts/infra/position.ts'
import type { Projector } from '../log/projector/projector.ts'
import type { Payment } from './payment.ts'
import {
  accountPaymentPrefix,
  CLAIM_COUNTS_KEY,
  type ClaimCounts,
  type OpenPayment,
  PAYMENT_PREFIX,
  type PayerTotals,
  type PaymentsRow,
  payerKey,
  paymentRowKey,
  payments,
  TOTALS_KEY,
} from './payments-projection.ts'

export interface PaymentPage {
  /** Behind this payment. */
  readonly after?: string | undefined
  readonly limit: number
}

/** The read model of payments. */
export interface PaymentIndex {
  /** Up to where it holds the log; undefined while it does not follow it. */
  position(): Position | undefined
  /** @param payer an address in lower case */
  payer(payer: string): PayerTotals | undefined
  /** Totals over all payers. */
  total(): PayerTotals | undefined
  /** How many claims are in each state. */
  countsByState(): ClaimCounts
  payment(paymentId: string): Payment | undefined
  /** Newest claims first. */
  newest(page: PaymentPage): Payment[]
  /** An account's payments for plans, newest claims first. */
  ofAccount(accountId: string, page: PaymentPage): Payment[]
}

/** @param projector one that runs the projection of payments */
export function createPaymentIndex(projector: Pick<Projector, 'reader'>): PaymentIndex {
  const reader = projector.reader<PaymentsRow>(payments)
  const totals = (key: string): PayerTotals | undefined => reader.get(key) as PayerTotals | undefined
  return {
    position() {
      const { state, position } = reader.health()
      return state === 'live' ? position : undefined
    },
    payer: (payer) => totals(payerKey(payer)),
    total: () => totals(TOTALS_KEY),
    countsByState: () => (reader.get(CLAIM_COUNTS_KEY) as ClaimCounts | undefined) ?? {},
    payment: (paymentId) => reader.get(paymentRowKey(paymentId)) as Payment | undefined,
    newest({ after, limit }) {
      const from = after === undefined ? {} : { after: paymentRowKey(after) }
      const rows = reader.range({ prefix: PAYMENT_PREFIX, ...from, direction: 'backwards', limit })
      return rows.map(({ row }) => row as Payment)
    },
    ofAccount(accountId, { after, limit }) {
      const prefix = accountPaymentPrefix(accountId)
      const from = after === undefined ? {} : { after: `${prefix}${after}` }
      const rows = reader.range({ prefix, ...from, direction: 'backwards', limit })
      return rows.flatMap(
        ({ row }) => (reader.get(paymentRowKey((row as OpenPayment).paymentId)) as Payment | undefined) ?? [],
      )
    },
  }
}
