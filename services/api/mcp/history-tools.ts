import { ServiceError } from '../../../contracts/errors.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import { HISTORY_TOOLS, type HistoryToolName } from '../../../contracts/tools/history-catalogue.ts'
import type { KnowledgeToolName } from '../../../contracts/tools/knowledge-catalogue.ts'
import type { KnowledgeService, ToolAnswer, ToolCall } from '../../tool-calls/index.ts'
import { type RegimeShiftReader, regimeHistory } from '../routes/regime-shifts.ts'
import { toolArguments } from './webhook-tools.ts'

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

/** What the tools that read the record stand on. */
export interface HistoryTools {
  readonly regimeShifts: RegimeShiftReader
}

/**
 * Calls a tool that reads the record. It needs no key and costs nothing, but a key that does not hold is refused as
 * everywhere.
 *
 * @throws ServiceError `key_unknown`, `key_unverifiable`, `invalid_request`, and what the read model refuses with
 */
export async function callHistoryTool(
  { regimeShifts }: HistoryTools,
  checkKey: (authorization: string) => Promise<'ok' | 'unknown' | 'unverifiable'>,
  tool: HistoryToolName,
  { request, authorization }: Pick<ToolCall, 'request' | 'authorization'>,
): Promise<ToolAnswer> {
  const key = authorization === undefined ? 'ok' : await checkKey(authorization)
  if (key !== 'ok') throw new ServiceError(key === 'unknown' ? 'key_unknown' : 'key_unverifiable')
  const asked = toolArguments(tool, HISTORY_TOOLS[tool].request, request)
  return { body: regimeHistory(regimeShifts, asked), isReplay: false }
}
