import type { JsonObject } from '../../../contracts/json.ts'
import type { KnowledgeToolName } from '../../../contracts/tools/knowledge-catalogue.ts'
import type { KnowledgeService, ToolAnswer, ToolCall } from '../../tool-calls/index.ts'

/**
 * Calls a tool about the service itself. What it throws and answers is what search and chat do over HTTP.
 *
 * @throws ServiceError as {@link KnowledgeService}
 */
export async function callKnowledgeTool(
  service: KnowledgeService,
  tool: KnowledgeToolName,
  call: Omit<ToolCall, 'tool'>,
): Promise<ToolAnswer> {
  if (tool === 'search_knowledge') {
    return { body: (await service.search(call)) satisfies JsonObject, isReplay: false }
  }
  return service.chat(call)
}
