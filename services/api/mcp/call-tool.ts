import { type ErrorCode, forCallers, isServiceError, ServiceError } from '../../../contracts/errors.ts'
import type { Json } from '../../../contracts/json.ts'
import { isHistoryTool } from '../../../contracts/tools/history-catalogue.ts'
import { isKnowledgeTool } from '../../../contracts/tools/knowledge-catalogue.ts'
import type { CallPath, KnowledgeService, PaidCallPath, ToolAnswer } from '../../tool-calls/index.ts'
import { callHistoryTool, callKnowledgeTool, type HistoryTools } from './history-tools.ts'
import { JSON_RPC_CODES, type RpcError } from './json-rpc.ts'
import { offerForTool, payForTool } from './paid-tools.ts'
import type { Caller, ToolOutcome } from './tool-outcome.ts'
import { callWebhookTool, isWebhookTool, type WebhookService } from './webhook-tools.ts'

/** What became of the caller's key. */
export type KeyCheck = 'ok' | 'unknown' | 'unverifiable'

/** Where tool calls go: those about markets, and those about the service, the record and webhooks, where it answers them. */
export interface ToolPaths {
  readonly calls: CallPath
  readonly knowledge?: KnowledgeService | undefined
  readonly history?: HistoryTools | undefined
  readonly webhooks?: WebhookService | undefined
  /**
   * What became of a key, for messages that call no tool and for tools that need none; another tool finds out on its own
   * way. What is no key at all is `ok`: it is served as anonymous.
   */
  readonly checkKey: (authorization: string) => Promise<KeyCheck>
  /** Calls that are paid for by themselves; left out, none are. */
  readonly paid?: Pick<PaidCallPath, 'call'> | undefined
}

/** A call of a tool as its message has it: of any type, and unchecked. */
export interface SentToolCall {
  readonly name: Json | undefined
  readonly request: Json
  /** Member `x402/payment` of its metadata. */
  readonly payment?: Json | undefined
}

/**
 * Calls a tool. Whatever goes wrong is told and never thrown: a key that does not hold is an error of the
 * protocol (-32003, -32004), everything else a refusal; who has no calls left and may pay is told the price.
 */
export async function callTool(paths: ToolPaths, caller: Caller, call: SentToolCall): Promise<ToolOutcome> {
  const operation = caller.telemetry?.toolCall(call.name, caller.traceparent)
  if (operation === undefined) return outcomeOf(paths, caller, call)
  const outcome = await outcomeOf(paths, { ...caller, traceparent: operation.traceparent }, call)
  operation.end(errorTypeOf(outcome))
  return outcome
}

/** `tool_error` is OpenTelemetry's word for a result that says that it is an error. */
function errorTypeOf(outcome: ToolOutcome): string | undefined {
  if (outcome.kind === 'answer') return undefined
  if (outcome.kind === 'error') return String(outcome.error.code)
  return typeof outcome.body.code === 'string' ? outcome.body.code : 'tool_error'
}

async function outcomeOf(
  { calls, knowledge, history, webhooks, paid, checkKey }: ToolPaths,
  caller: Caller,
  { name, request, payment }: SentToolCall,
): Promise<ToolOutcome> {
  const isKnowledge = knowledge !== undefined && isKnowledgeTool(name)
  try {
    const isFree = isKnowledge || isHistoryTool(name) || isWebhookTool(name)
    if (paid !== undefined && payment !== undefined && !isFree)
      return await payForTool(paid, caller, nameOf(name), request, payment)
    const call = {
      request,
      authorization: caller.authorization,
      address: caller.address,
      idempotencyKey: caller.idempotencyKey,
      requestId: caller.requestId,
      channel: 'mcp',
      ...(caller.traceparent === undefined ? {} : { traceparent: caller.traceparent }),
    } as const
    const answer: ToolAnswer = isKnowledge
      ? await callKnowledgeTool(knowledge, name, call)
      : history !== undefined && isHistoryTool(name)
        ? await callHistoryTool(history, checkKey, name, call)
        : webhooks !== undefined && isWebhookTool(name)
          ? await callWebhookTool(webhooks, name, call, caller.signal)
          : await calls.call({ ...call, tool: nameOf(name) })
    return { kind: 'answer', ...answer }
  } catch (error) {
    const failure = isKnowledge ? 'INTERNAL_ERROR' : 'internal_error'
    const refusal = refusalOutcome(asServiceError(error, caller, failure), caller.requestId)
    if (paid === undefined || isKnowledge || !isServiceError(error, 'quota_exhausted')) return refusal
    return (await offerForTool(paid, caller, nameOf(name), request, error)) ?? refusal
  }
}

function nameOf(name: Json | undefined): string {
  if (typeof name === 'string') return name
  const problem = 'the name of a tool must be given as text'
  throw new ServiceError('invalid_request', {
    message: `name: ${problem}`,
    details: { fields: [{ field: 'name', problem }] },
  })
}

/** @param failure code for what failed inside */
function asServiceError(
  error: unknown,
  { log, logCause, requestId }: Caller,
  failure: ErrorCode,
): ServiceError {
  if (isServiceError(error) && error.code !== 'internal_error') {
    logCause?.(error, requestId)
    return error
  }
  log.error({ err: error, request_id: requestId }, 'tool call failed')
  // What failed inside is for the operator's log, not for callers.
  return new ServiceError(failure, { details: { request_id: requestId } })
}

function refusalOutcome(error: ServiceError, requestId: string): ToolOutcome {
  if (error.code === 'key_unknown') return { kind: 'error', error: keyError('unknown', requestId) }
  if (error.code === 'key_unverifiable') return { kind: 'error', error: keyError('unverifiable', requestId) }
  // JSON-RPC's code for it stands in the text, since a result has no other place for one.
  const prefix = UNNAMED.has(error.code)
    ? `MCP error ${JSON_RPC_CODES.invalidParams}`
    : INVALID.has(error.code)
      ? `MCP error ${JSON_RPC_CODES.invalidParams}: ${error.code}`
      : error.code
  const { code, message, nextStep, details } = forCallers(error)
  return {
    kind: 'refusal',
    text: `${prefix}: ${asSentence(message)} ${nextStep}`,
    body: { code, message, next_step: nextStep, ...(details === undefined ? {} : { details }) },
  }
}

/** Arguments that do not fit: JSON-RPC's own code says what there is to say, or the code of a tool says more. */
const UNNAMED: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['invalid_request', 'unknown_tool'])
const INVALID: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'unknown_timeframe',
  'unknown_exchange',
  'unknown_coin',
  'INVALID_QUERY',
  'QUERY_TOO_SHORT',
  'QUERY_TOO_LONG',
  'INVALID_QUESTION',
  'QUESTION_TOO_SHORT',
  'QUESTION_TOO_LONG',
  'INVALID_MODEL',
])

const asSentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`)

/** The error that a key which does not hold is answered with, whatever the method. */
export function keyError(check: Exclude<KeyCheck, 'ok'>, requestId: string): RpcError {
  const isUnknown = check === 'unknown'
  const { code, message, nextStep } = new ServiceError(isUnknown ? 'key_unknown' : 'key_unverifiable')
  return {
    code: isUnknown ? JSON_RPC_CODES.keyUnknown : JSON_RPC_CODES.keyUnverifiable,
    message,
    data: { code, next_step: nextStep, request_id: requestId, retryable: !isUnknown },
  }
}
