export type { WrittenAnswer } from './chat-answer.ts'
export {
  type ChatIndex,
  ChatLedger,
  type Chatter,
  type ChatUse,
  chatQuota,
  createChatIndex,
} from './chats.ts'
export { type Knowledge, openKnowledge } from './knowledge.ts'
export { type ChatModel, createOpenAiModel } from './llm.ts'
export { plainText } from './markdown.ts'
export { pagesByReader } from './page-readers.ts'
export type { DocPage } from './pages.ts'
export { readChatRequest, readSearchRequest } from './read-request.ts'
