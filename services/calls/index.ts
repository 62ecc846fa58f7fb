export { answerUsage } from './answer-usage.ts'
export { createCallPath } from './call-path.ts'
export { requireKey } from './caller-identity.ts'
export type { CallPath, ToolAnswer, ToolCall } from './tool-call.ts'
