import type { JsonObject } from '../../../contracts/json.ts'
import type { KnowledgeToolName } from '../../../contracts/tools/knowledge-catalogue.ts'
import type { KnowledgeDesk, ToolAnswer, ToolCall } from '../../tool-calls/index.ts'

/**
 * Calls a tool about the service itself. What it throws and answers is what search and chat do over HTTP.
 *
 * @throws ServiceError as {@link KnowledgeDesk}
 */
export async function callKnowledgeTool(
  desk: KnowledgeDesk,
  tool: KnowledgeToolName,
  call: Omit<ToolCall, 'tool'>,
): Promise<ToolAnswer> {
  if (tool === 'search_knowledge') {
    return { body: (await desk.search(call)) satisfies JsonObject, isReplay: false }
  }
  return desk.chat(call)
}
