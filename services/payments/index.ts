export {
  createPaymentAdmin,
  type PaymentAdmin,
  type PaymentTotals,
} from './admin/payment-admin.ts'
export { openChain } from './chain/open-chain.ts'
export { createPayments, type PaymentsOptions } from './create-payments.ts'
export { isServable, type Payment } from './payment.ts'
export { createPaymentIndex } from './payment-index.ts'
export type {
  ClaimedPayment,
  Payments,
  PresentedPayment,
  VerifiedPayment,
} from './payments.ts'
export { payments } from './payments-projection.ts'
export { createFacilitator, type Facilitator } from './settlement/facilitator.ts'
export { cdpAuthorize } from './settlement/facilitator-token.ts'
export {
  createSettler,
  type Settler,
  type SettlerHealth,
} from './settlement/settler.ts'
export { openRecovery } from './verification/recover-signer.ts'
