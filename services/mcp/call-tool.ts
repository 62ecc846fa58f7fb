import type { FastifyBaseLogger } from 'fastify'
import { Histogram, type Registry } from 'prom-client'
import { ERRORS, isServiceError, ServiceError } from '../../contracts/errors/errors.ts'
import { type Json, type JsonObject, textOf } from '../../contracts/infra/json.ts'
import { canonicalTool, TOOLS, unknownTool } from '../../contracts/tools/tool-catalogue.ts'
import { errorBody, logCause } from '../http/errors.ts'
import type { CallPath, PaidCallPath, PaidOutcome, ToolAnswer, ToolCall } from '../tool-calls/index.ts'
import { JSON_RPC_CODES, type RequestId, RpcFault, rpcErrorText, rpcResultText } from './jsonrpc.ts'
import { ALL_TOOL_NAMES, type FreeTools, type KeyCheck } from './tools.ts'

/** The part of a request that a tool call needs beside its message. */
export interface Caller
  extends Pick<ToolCall, 'authorization' | 'address' | 'idempotencyKey' | 'requestId' | 'traceparent'> {
  /** Aborted when nobody waits for the answer any more; made only if something has to be waited for. */
  readonly signal: () => AbortSignal
  readonly log: FastifyBaseLogger
}

/** The outcome of a tool call: an answer, a refusal that a model can read, or an error of the protocol. */
export type ToolOutcome =
  | (ToolAnswer & {
      readonly kind: 'answer'
      /** The outcome of the payment that came with the call. */
      readonly settlement?: JsonObject | undefined
    })
  | { readonly kind: 'refusal'; readonly text: string; readonly body: JsonObject }
  /** The offer for the call, and the reason why it must be paid. */
  | { readonly kind: 'offer'; readonly body: JsonObject }
  | { readonly kind: 'error'; readonly error: RpcFault['error'] }

/** The handlers of tool calls. */
export interface ToolPaths {
  /** Calls about markets, and of tools that nobody knows. */
  readonly calls: CallPath
  readonly free: FreeTools
  /** Calls that are paid for by themselves; left out, none are. */
  readonly paid?: Pick<PaidCallPath, 'call'> | undefined
  /** Nothing is measured where it is left out. */
  readonly telemetry?: McpTelemetry | undefined
}

/**
 * Calls a tool. Every fault is returned and never thrown: an invalid key is an error of the
 * protocol (-32003, -32004), everything else a refusal; a caller with no calls left who may pay gets the price.
 */
export async function callTool(
  paths: ToolPaths,
  caller: Caller,
  { params, meta }: { readonly params: JsonObject; readonly meta: JsonObject },
): Promise<ToolOutcome> {
  const { name, arguments: request = {} } = params
  const tool = typeof name === 'string' ? canonicalTool(name) : undefined
  const ended = paths.telemetry?.(tool)
  const outcome = await outcomeOf(paths, caller, { tool, request, ...paymentIn(meta) })
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
  { calls, free, paid }: ToolPaths,
  { signal, log, ...sender }: Caller,
  { tool, request, payment }: { tool: string | undefined; request: Json; payment?: readonly string[] },
): Promise<ToolOutcome> {
  const { requestId } = sender
  const own = tool === undefined ? undefined : free.get(tool)
  const body = { lenient: request, isEmpty: false, require: () => request }
  const paidCall = { tool: tool ?? '', body, ...sender, signal, channel: 'mcp' } as const
  try {
    if (tool === undefined)
      throw new ServiceError('invalid_request', {
        message: 'name: the name of a tool must be given as text',
      })
    // The same authorization has the same answer here and on the paid routes, and is charged once.
    if (paid !== undefined && payment !== undefined && own === undefined)
      return paidOutcome(await paid.call({ ...paidCall, rawHeaders: payment }))
    const call = { ...sender, request, channel: 'mcp' } as const
    return { kind: 'answer', ...(await (own?.run(call) ?? calls.call({ ...call, tool }))) }
  } catch (thrown) {
    // The path of calls knows the tools about markets alone.
    const error = isServiceError(thrown, 'unknown_tool')
      ? unknownTool(tool ?? '', [...Object.keys(TOOLS), ...free.keys()])
      : thrown
    if (!isServiceError(error) || error.code === 'internal_error') {
      log.error({ err: error, request_id: requestId }, 'tool call failed')
      // The cause is for the operator's log, not for callers.
      const code = own?.failure ?? 'internal_error'
      return refusalOutcome(new ServiceError(code, { details: { request_id: requestId } }), requestId)
    }
    void logCause(log, error, requestId)
    const refusal = refusalOutcome(error, requestId)
    if (paid === undefined || own !== undefined || error.code !== 'quota_exhausted') return refusal
    const outcome = await paid.call({ ...paidCall, authorization: undefined, rawHeaders: [] })
    if (outcome.kind !== 'offer') return refusal
    const offer = offerOutcome(outcome, error)
    return Array.isArray(offer.body.accepts) && offer.body.accepts.length > 0 ? offer : refusal
  }
}

/** Arguments that do not fit: JSON-RPC's own code says what there is to say, or the code of a tool says more. */
const INVALID = `MCP error ${JSON_RPC_CODES.invalidParams}`
const IS_INVALID = /^(?:invalid_request|unknown_tool)$/
const SAYS_MORE = /^(?:unknown_(?:timeframe|exchange|coin)|(?:INVALID|QUERY|QUESTION)_\w+)$/

function refusalOutcome(error: ServiceError, requestId: string): ToolOutcome {
  const { code } = error
  if (code === 'key_unknown' || code === 'key_unverifiable')
    return { kind: 'error', error: keyFault(code, requestId).error }
  const body = errorBody(error)
  // A result has no other place for JSON-RPC's code than its text.
  const prefix = IS_INVALID.test(code) ? INVALID : SAYS_MORE.test(code) ? `${INVALID}: ${code}` : code
  const sentence = /[.!?]$/.test(body.message) ? body.message : `${body.message}.`
  return { kind: 'refusal', text: `${prefix}: ${sentence} ${body.next_step}`, body }
}

/** The error for an invalid key, for every method. */
export function keyFault(code: Exclude<KeyCheck, 'ok'>, requestId: string): RpcFault {
  const isUnknown = code === 'key_unknown'
  const { message, nextStep } = ERRORS[code]
  const data = { code, next_step: nextStep, request_id: requestId, retryable: !isUnknown }
  return new RpcFault(isUnknown ? 'keyUnknown' : 'keyUnverifiable', message, { data })
}

/**
 * The payment in the metadata of a call (x402, transport for MCP), and the secret of its first answer beside it, as lines of
 * headers.
 */
function paymentIn({ 'x402/payment': payment, 'x402/payment-secret': secret }: JsonObject) {
  if (payment === undefined) return {}
  const secretLine = typeof secret === 'string' ? ['Payment-Secret', secret] : []
  return { payment: ['PAYMENT-SIGNATURE', JSON.stringify(payment), ...secretLine] }
}

function paidOutcome(outcome: PaidOutcome): ToolOutcome {
  if (outcome.kind === 'offer') return offerOutcome(outcome, outcome.refusal)
  const { receipt, ...answer } = outcome
  return { ...answer, settlement: receipt && decodedOf(receipt.value) }
}

/** `PaymentRequired` of version 2, with the members that every refusal here has. */
const offerOutcome = ({ offer }: Extract<PaidOutcome, { kind: 'offer' }>, refusal: ServiceError) => ({
  kind: 'offer' as const,
  body: { ...decodedOf(offer.header), ...errorBody(refusal) } as JsonObject,
})

/** The JSON in a header of x402. */
export const decodedOf = (base64: string): JsonObject =>
  JSON.parse(Buffer.from(base64, 'base64').toString()) as JsonObject

/**
 * The answer to `tools/call`, put together around one serialisation of the tool's answer.
 *
 * @param tail what results of the era end with, from `,` on, its metadata last; empty in the handshake era.
 * @param takesOffers whether the client knows results that are offers
 */
export function toolAnswerText(
  id: RequestId,
  outcome: ToolOutcome,
  tail: string,
  takesOffers = false,
): string {
  if (outcome.kind === 'error') return rpcErrorText(id, outcome.error)
  if (outcome.kind === 'offer' && takesOffers) {
    const result = { resultType: 'payment_required', paymentRequired: outcome.body }
    return rpcResultText(id, JSON.stringify(result))
  }
  const isAnswer = outcome.kind === 'answer'
  const body = (isAnswer ? outcome.text : undefined) ?? textOf(outcome.body)
  const shown = outcome.kind === 'refusal' ? JSON.stringify(outcome.text) : body.quoted
  const settlement = isAnswer ? outcome.settlement : undefined
  // The transport of x402 for MCP names the field.
  const more = settlement === undefined ? '' : `"x402/payment-response":${JSON.stringify(settlement)}`
  // A tail ends with the metadata of the era.
  const end = more === '' ? tail : tail === '' ? `,"_meta":{${more}}` : `${tail.slice(0, -1)},${more}}`
  const content = `"content":[{"type":"text","text":${shown}}],"structuredContent":${body.text}`
  return rpcResultText(id, `{${content},"isError":${!isAnswer}${end}}`)
}

/** Begins a tool call, and returns what ends it, with why it failed if it did. */
type McpTelemetry = (tool?: string) => (error?: string) => void

/** Durations of MCP's operations, by the names of OpenTelemetry. */
export function createMcpTelemetry(registry: Registry): McpTelemetry {
  const duration = new Histogram({
    name: 'mcp_server_operation_duration_seconds',
    help: 'Time that the operations of MCP take, by method, tool, and why they failed',
    labelNames: ['mcp_method_name', 'gen_ai_tool_name', 'error_type'] as const,
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  })
  return (name) => {
    // Other texts of callers must not make labels.
    const tool = name !== undefined && ALL_TOOL_NAMES.includes(name) ? name : '_OTHER'
    const end = duration.startTimer({ mcp_method_name: 'tools/call', gen_ai_tool_name: tool })
    return (error = '') => void end({ error_type: error })
  }
}
