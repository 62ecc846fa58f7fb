export type { Chain, SettlementChain } from './chain/chain.ts'
export { type ChainOptions, createChain } from './chain/create-chain.ts'
export { createPayments, type PaymentsOptions, type RunningPayments } from './create-payments.ts'
export { type DemoChain, type DemoChainOptions, startDemoChain } from './demo/demo-chain.ts'
export {
  createPaymentDesk,
  type DeskOrigin,
  type PaymentDesk,
  type PaymentDeskOptions,
  type PaymentQuery,
  type PaymentTotals,
} from './desk/payment-desk.ts'
export { createPaymentIndex, type PaymentIndex } from './payment-index.ts'
export type {
  Claim,
  ClaimedPayment,
  FoundClaim,
  Offered,
  Payments,
  PresentedPayment,
  Quote,
  VerifiedPayment,
} from './payments.ts'
export { type OpenRecoveryOptions, openRecovery } from './recovery/open-recovery.ts'
export type { RecoverSigner } from './recovery/recover-signer.ts'
export { createFacilitator, type Facilitator, type FacilitatorOptions } from './settlement/facilitator.ts'
export { type Authorize, cdpAuthorize } from './settlement/facilitator-token.ts'
export {
  createSettler,
  type Settler,
  type SettlerHealth,
  type SettlerOptions,
} from './settlement/settler.ts'
export { createWallet, type Wallet, type WalletOptions } from './settlement/wallet.ts'
