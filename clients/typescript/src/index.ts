export { createSignalClient, type SignalClient, type SignalClientOptions } from './client.ts'
export {
  type Offer,
  type PayerAccount,
  type PaymentRequired,
  type SignedPayment,
  signPayment,
} from './payments.ts'
export { checkProof, type Proven } from './proofs.ts'
export { SignalRefusal } from './refusal.ts'
export { ROUTES } from './routes.ts'
export type * from './types.ts'
export type { VerdictFilter } from './verdicts.ts'
export { type VerifyWebhookOptions, verifyWebhook, type Webhook } from './webhooks.ts'
