export { answerUsage } from './answer-usage.ts'
export { createCallPath } from './call-path.ts'
export { callerAs } from './caller-identity.ts'
export {
  type ChatRequestOnChannel,
  createKnowledgeService,
  type KnowledgeRequest,
  type KnowledgeService,
} from './knowledge-service.ts'
export type { PaidCall, PaidOutcome, PaidRequest, PaidTier, SentBody } from './paid-call.ts'
export type { PaidCallPath } from './paid-call-path.ts'
export { createPaidCalls, type PaidCalls } from './paid-calls.ts'
export type { PlanSales } from './paid-options.ts'
export { PAID_PRODUCTS, paidPath } from './paid-products.ts'
export type { CallPath, ToolAnswer, ToolCall } from './tool-call.ts'
