import { HISTORY_TOOLS } from '../../contracts/tools/history-catalogue.ts'
import { KNOWLEDGE_TOOLS } from '../../contracts/tools/knowledge-catalogue.ts'
import { TOOLS } from '../../contracts/tools/tool-catalogue.ts'
import { WEBHOOK_TOOLS } from './webhook-tools.ts'

/** Every tool that may be served, by its use: what announces the tools is made from this. */
export const TOOL_GROUPS = [
  { use: 'Markets (each answer costs one call)', tools: TOOLS },
  { use: 'This documentation (free, with a key)', tools: KNOWLEDGE_TOOLS },
  { use: 'The record (free, without a key)', tools: HISTORY_TOOLS },
  { use: 'Webhooks (free, with a key)', tools: WEBHOOK_TOOLS },
] as const

export const ALL_TOOL_NAMES: readonly string[] = TOOL_GROUPS.flatMap(({ tools }) => Object.keys(tools))
