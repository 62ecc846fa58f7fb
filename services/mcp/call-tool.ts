import { type ErrorCode, isServiceError, ServiceError } from '../../contracts/errors.ts'
import type { Json } from '../../contracts/json.ts'
import { canonicalTool, TOOLS, unknownTool } from '../../contracts/tools/tool-catalogue.ts'
import type { CauseLog } from '../http/errors.ts'
import type { CallPath, PaidCallPath } from '../tool-calls/index.ts'
import type { FreeTools } from './free-tools.ts'
import { JSON_RPC_CODES, RpcFault } from './jsonrpc.ts'
import type { McpTelemetry } from './mcp-telemetry.ts'
import { offerForTool, paidCallOf, payForTool } from './paid-tools.ts'
import { type Caller, type KeyCheck, refusalBody, type ToolOutcome } from './tool-outcome.ts'

/** The handlers of tool calls. */
export interface ToolPaths {
  /** Calls about markets, and of tools that nobody knows. */
  readonly calls: CallPath
  readonly free: FreeTools
  /**
   * Checks a key, for messages that call no tool and for tools that need none; another tool checks it on its own
   * way. What is no key at all is `ok`: it is served as anonymous.
   */
  readonly checkKey: (authorization: string) => Promise<KeyCheck>
  /** Calls that are paid for by themselves; left out, none are. */
  readonly paid?: Pick<PaidCallPath, 'call'> | undefined
  /** Logs why calls are refused, where callers do not learn it. */
  readonly logCause?: CauseLog
  /** Nothing is measured where it is left out. */
  readonly telemetry?: McpTelemetry | undefined
}

/** A call of a tool as its message has it: of any type, and unchecked. */
export interface SentToolCall {
  readonly name: Json | undefined
  readonly request: Json
  /** Its payment as lines of headers. */
  readonly payment?: readonly string[] | undefined
}

/**
 * Calls a tool. Every fault is returned and never thrown: an invalid key is an error of the
 * protocol (-32003, -32004), everything else a refusal; a caller with no calls left who may pay gets the price.
 */
export async function callTool(paths: ToolPaths, caller: Caller, sent: SentToolCall): Promise<ToolOutcome> {
  const call = typeof sent.name === 'string' ? { ...sent, name: canonicalTool(sent.name) } : sent
  const ended = paths.telemetry?.(call.name)
  const outcome = await outcomeOf(paths, caller, call)
  ended?.(errorTypeOf(outcome))
  return outcome
}

/** `tool_error` is OpenTelemetry's word for a result that says that it is an error. */
function errorTypeOf(outcome: ToolOutcome): string | undefined {
  if (outcome.kind === 'answer') return undefined
  if (outcome.kind === 'error') return String(outcome.error.code)
  return typeof outcome.body.code === 'string' ? outcome.body.code : 'tool_error'
}

async function outcomeOf(
  { calls, free, paid, logCause }: ToolPaths,
  caller: Caller,
  { name, request, payment }: SentToolCall,
): Promise<ToolOutcome> {
  const tool = typeof name === 'string' ? free.get(name) : undefined
  try {
    if (paid !== undefined && payment !== undefined && tool === undefined)
      return await payForTool(paid.call, {
        ...paidCallOf(caller, nameOf(name), request),
        rawHeaders: payment,
      })
    const call = { ...caller.sender, request, channel: 'mcp' } as const
    const answer = await (tool?.run(call) ?? calls.call({ ...call, tool: nameOf(name) }))
    return { kind: 'answer', ...answer }
  } catch (thrown) {
    // The path of calls knows the tools about markets alone.
    const error = isServiceError(thrown, 'unknown_tool')
      ? unknownTool(nameOf(name), [...Object.keys(TOOLS), ...free.keys()])
      : thrown
    const failure = tool?.failure ?? 'internal_error'
    const { log, sender } = caller
    if (isServiceError(error) && error.code !== 'internal_error') logCause?.(error, sender.requestId)
    else log.error({ err: error, request_id: sender.requestId }, 'tool call failed')
    const refusal = refusalOutcome(asServiceError(error, failure, sender.requestId), sender.requestId)
    if (paid === undefined || tool !== undefined || !isServiceError(error, 'quota_exhausted')) return refusal
    return (await offerForTool(paid.call, paidCallOf(caller, nameOf(name), request), error)) ?? refusal
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

/** The cause of an internal error is for the operator's log, not for callers. */
const asServiceError = (error: unknown, failure: ErrorCode, requestId: string): ServiceError =>
  isServiceError(error) && error.code !== 'internal_error'
    ? error
    : new ServiceError(failure, { details: { request_id: requestId } })

function refusalOutcome(error: ServiceError, requestId: string): ToolOutcome {
  if (error.code === 'key_unknown') return { kind: 'error', error: keyFault('unknown', requestId).error }
  if (error.code === 'key_unverifiable')
    return { kind: 'error', error: keyFault('unverifiable', requestId).error }
  const body = refusalBody(error)
  // A result has no other place for JSON-RPC's code than its text.
  const prefix = IS_INVALID.test(error.code)
    ? INVALID
    : SAYS_MORE.test(error.code)
      ? `${INVALID}: ${error.code}`
      : error.code
  return { kind: 'refusal', text: `${prefix}: ${asSentence(body.message)} ${body.next_step}`, body }
}

/** Arguments that do not fit: JSON-RPC's own code says what there is to say, or the code of a tool says more. */
const INVALID = `MCP error ${JSON_RPC_CODES.invalidParams}`
const IS_INVALID = /^(?:invalid_request|unknown_tool)$/
const SAYS_MORE = /^(?:unknown_(?:timeframe|exchange|coin)|(?:INVALID|QUERY|QUESTION)_\w+)$/

const asSentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`)

/** The error for an invalid key, for every method. */
export function keyFault(check: Exclude<KeyCheck, 'ok'>, requestId: string): RpcFault {
  const isUnknown = check === 'unknown'
  const { code, message, nextStep } = new ServiceError(isUnknown ? 'key_unknown' : 'key_unverifiable')
  const data = { code, next_step: nextStep, request_id: requestId, retryable: !isUnknown }
  return new RpcFault(isUnknown ? 'keyUnknown' : 'keyUnverifiable', message, { data })
}
