export { answerUsage } from './answer-usage.ts'
export { createCallPath } from './call-path.ts'
export { callerAs } from './caller-identity.ts'
export {
  type ChatRequestOnChannel,
  createKnowledgeService,
  type KnowledgeRequest,
  type KnowledgeService,
} from './knowledge-service.ts'
export { PAID_PRODUCTS, paidPath } from './paid/offers.ts'
export { planSalesOf, startPaidPlan } from './paid/plans.ts'
export { createPaidCalls, type PaidCallPath, type PaidCalls } from './paid/tools.ts'
export type { PaidCall, PaidOutcome, PaidRequest, PaidTier, SentBody } from './paid/types.ts'
export type { CallPath, ToolAnswer, ToolCall } from './tool-call.ts'
