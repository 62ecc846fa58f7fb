import { type ErrorCode, ServiceError } from '../../contracts/errors.ts'
import { HISTORY_TOOLS } from '../../contracts/tools/history-catalogue.ts'
import { KNOWLEDGE_TOOLS } from '../../contracts/tools/knowledge-catalogue.ts'
import { toolArguments } from '../../contracts/tools/tool-arguments.ts'
import type { ToolDefinition } from '../../contracts/tools/tool-catalogue.ts'
import { type RegimeShiftReader, regimeHistory } from '../http/routes/history.ts'
import type { KnowledgeService, ToolAnswer, ToolCall } from '../tool-calls/index.ts'
import type { KeyCheck } from './tool-outcome.ts'

/** The effects of a tool, as hints of MCP. */
export interface ToolHints {
  readonly readOnlyHint?: boolean
  readonly openWorldHint: boolean
  readonly destructiveHint?: boolean
  readonly idempotentHint?: boolean
}

/** A call of a tool whose name is known. */
export type FreeToolCall = Omit<ToolCall, 'tool'>

/** A tool beside those about markets: it costs no calls, and is not sold. */
export interface FreeTool extends ToolDefinition {
  readonly hints: ToolHints
  /** The code that callers get after an internal error. */
  readonly failure: ErrorCode
  /** @throws ServiceError what the same refuses over HTTP */
  run(call: FreeToolCall): Promise<ToolAnswer>
}

/** The tools that are served, by name. */
export type FreeTools = ReadonlyMap<string, FreeTool>

const LOOKS_INSIDE: ToolHints = { readOnlyHint: true, openWorldHint: false }

/** The tools about the service itself. What they throw and answer is what search and chat do over HTTP. */
export const knowledgeTools = (service: KnowledgeService): FreeTools => {
  const shared = { hints: LOOKS_INSIDE, failure: 'INTERNAL_ERROR' } as const
  const search = async (call: FreeToolCall) => ({ body: await service.search(call), isReplay: false })
  return new Map<string, FreeTool>([
    ['search_knowledge', { ...KNOWLEDGE_TOOLS.search_knowledge, ...shared, run: search }],
    ['chat_knowledge', { ...KNOWLEDGE_TOOLS.chat_knowledge, ...shared, run: (call) => service.chat(call) }],
  ])
}

/** Dependencies of the tools that read the record. */
export interface HistoryTools {
  readonly regimeShifts: RegimeShiftReader
}

/** The tools that read the record. They need no key, but a key that does not hold is refused as everywhere. */
export const historyTools = (
  { regimeShifts }: HistoryTools,
  checkKey: (authorization: string) => Promise<KeyCheck>,
  exchanges: () => readonly string[],
): FreeTools => {
  const tool = HISTORY_TOOLS.get_regime_shifts
  const run: FreeTool['run'] = async ({ request, authorization }) => {
    const key = authorization === undefined ? 'ok' : await checkKey(authorization)
    if (key !== 'ok') throw new ServiceError(key === 'unknown' ? 'key_unknown' : 'key_unverifiable')
    const asked = toolArguments('get_regime_shifts', tool.request, request)
    return { body: regimeHistory({ regimeShifts, exchanges }, asked), isReplay: false }
  }
  return new Map([['get_regime_shifts', { ...tool, hints: LOOKS_INSIDE, failure: 'internal_error', run }]])
}
