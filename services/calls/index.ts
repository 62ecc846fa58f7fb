export { answerUsage } from './answer-usage.ts'
export { createCallPath } from './call-path.ts'
export { requireKey } from './caller-identity.ts'
export {
  type ChatRequestOnChannel,
  createKnowledgeDesk,
  type KnowledgeDesk,
  type KnowledgeDeskOptions,
  type KnowledgeRequest,
} from './knowledge-desk.ts'
export { statusUrl } from './paid-block.ts'
export type { PaidCall, PaidOffer, PaidOutcome, PaidRequest, PaidTier, SentBody } from './paid-call.ts'
export { createPaidCalls, type PaidCalls, type PaidCallsOptions } from './paid-calls.ts'
export type { PlanDesk } from './paid-plan-path.ts'
export { PAID_PRODUCTS, paidPath } from './paid-products.ts'
export type { CallPath, ToolAnswer, ToolCall } from './tool-call.ts'
