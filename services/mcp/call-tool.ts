import type { FastifyBaseLogger } from 'fastify'
import { Histogram, type Registry } from 'prom-client'
import { type ErrorCode, forCallers, isServiceError, ServiceError } from '../../contracts/errors.ts'
import type { Json, JsonObject } from '../../contracts/json.ts'
import { bytesOf, textOf } from '../../contracts/json-text.ts'
import { canonicalTool, TOOLS, unknownTool } from '../../contracts/tools/tool-catalogue.ts'

import type {
  CallPath,
  PaidCall,
  PaidCallPath,
  PaidOutcome,
  ToolAnswer,
  ToolCall,
} from '../tool-calls/index.ts'
import {
  JSON_RPC_CODES,
  type RequestId,
  type RpcError,
  RpcFault,
  rpcErrorText,
  rpcResultText,
} from './jsonrpc.ts'
import type { FreeTools, KeyCheck } from './tools.ts'

/** The part of a request that a tool call needs beside its message. */
export interface Caller {
  readonly sender: Pick<
    ToolCall,
    'authorization' | 'address' | 'idempotencyKey' | 'requestId' | 'traceparent'
  >
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
  | { readonly kind: 'error'; readonly error: RpcError }

/** The members of every refusal. */
export function refusalBody(error: ServiceError) {
  const { code, message, nextStep, details } = forCallers(error)
  return { code, message, next_step: nextStep, ...(details === undefined ? {} : { details }) }
}

/**
 * The answer to `tools/call`, put together around one serialisation of the tool's answer.
 *
 * @param tail what results of the era end with, from `,` on, its metadata last; empty in the handshake era.
 * @param takesOffers whether the client knows results that are offers
 */
export function toolAnswerBytes(
  id: RequestId,
  outcome: ToolOutcome,
  tail: string,
  takesOffers = false,
): Buffer {
  if (outcome.kind === 'error') return Buffer.from(rpcErrorText(id, outcome.error))
  if (outcome.kind === 'offer' && takesOffers) {
    const result = { resultType: 'payment_required', paymentRequired: outcome.body }
    return Buffer.from(rpcResultText(id, JSON.stringify(result)))
  }
  const isAnswer = outcome.kind === 'answer'
  const { bytes, quoted } = (isAnswer ? outcome.text : undefined) ?? textOf(outcome.body)
  const text = outcome.kind === 'refusal' ? bytesOf(JSON.stringify(outcome.text)) : quoted
  const settlement = isAnswer ? outcome.settlement : undefined
  // The transport of x402 for MCP names the field.
  const more = settlement === undefined ? '' : `"x402/payment-response":${JSON.stringify(settlement)}`
  // A tail ends with the metadata of the era.
  const end = more === '' ? tail : tail === '' ? `,"_meta":{${more}}` : `${tail.slice(0, -1)},${more}}`
  const answer = rpcResultText(
    typeof id === 'string' ? bytesOf(id) : id,
    `{"content":[{"type":"text","text":${text}}],"structuredContent":${bytes},"isError":${!isAnswer}${bytesOf(end)}}`,
  )
  return Buffer.from(answer, 'latin1')
}

/** Other texts of callers must not make labels. */
const OTHER = '_OTHER'

/**
 * Durations of MCP's operations, by the names of OpenTelemetry: begins a tool call, and returns what ends it.
 *
 * The result takes why the call failed; undefined where it did not.
 */
export type McpTelemetry = (name: Json | undefined) => (error: string | undefined) => void

/** @param options.tools names with a label of their own @param options.monotonic milliseconds */
export function createMcpTelemetry(options: {
  readonly registry: Registry
  readonly tools: ReadonlySet<string>
  readonly monotonic: () => number
}): McpTelemetry {
  const { monotonic, tools } = options
  const duration = new Histogram({
    name: 'mcp_server_operation_duration_seconds',
    help: 'Time that the operations of MCP take, by method, tool, and why they failed',
    labelNames: ['mcp_method_name', 'gen_ai_tool_name', 'error_type'] as const,
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [options.registry],
  })
  return (name) => {
    const startedAt = monotonic()
    const tool = typeof name === 'string' && tools.has(name) ? name : OTHER
    return (error) => {
      const labels = { mcp_method_name: 'tools/call', gen_ai_tool_name: tool, error_type: error ?? '' }
      duration.observe(labels, (monotonic() - startedAt) / 1_000)
    }
  }
}

/** The field for the payment of a call (x402, transport for MCP). */
const PAYMENT_META_KEY = 'x402/payment'
/** Headers of the other transport that prove who the payer is, by their members here. */
const PROOF_HEADERS = {
  'x402/payment-secret': 'Payment-Secret',
  'x402/sign-in-with-x': 'SIGN-IN-WITH-X',
} as const
/** Clients that name it get the price by a result of its own type. */
export const PAYMENT_EXTENSION = 'org.x402/payment'

/**
 * The payment in the metadata of a call, and the proof beside it, as lines of headers; undefined where there is no payment. The
 * header holds the same JSON, as it is or in base64.
 */
export function paymentLines(meta: JsonObject | undefined): readonly string[] | undefined {
  const payment = meta?.[PAYMENT_META_KEY]
  if (meta === undefined || payment === undefined) return undefined
  const proofs = Object.entries(PROOF_HEADERS).flatMap(([key, name]) => {
    const proof = meta[key]
    return proof === undefined ? [] : [name, typeof proof === 'string' ? proof : JSON.stringify(proof)]
  })
  return ['PAYMENT-SIGNATURE', JSON.stringify(payment), ...proofs]
}

type Pay = PaidCallPath['call']

/** A call of a tool as the path of paid calls takes it. */
export const paidCallOf = (
  { sender, signal }: Caller,
  tool: string,
  request: Json,
): Omit<PaidCall, 'rawHeaders'> => ({
  tool,
  body: { lenient: request, isEmpty: false, require: () => request },
  ...sender,
  signal,
  channel: 'mcp',
})

/**
 * Calls a tool with a payment, by the path that paid routes take: the same authorization has the same answer here and
 * there, and is charged once.
 *
 * @throws ServiceError as the path does
 */
export async function payForTool(pay: Pay, call: PaidCall): Promise<ToolOutcome> {
  const outcome = await pay(call)
  if (outcome.kind === 'offer') return { kind: 'offer', body: requiredOf(outcome.offer, outcome.refusal) }
  const { receipt, ...answer } = outcome
  return { ...answer, settlement: receipt && (decoded(receipt.value) as JsonObject) }
}

/**
 * The offer for a call that was refused because no calls are left; undefined where nothing can be paid.
 *
 * @param refusal why it is to be paid for
 */
export async function offerForTool(
  pay: Pay,
  call: Omit<PaidCall, 'rawHeaders'>,
  refusal: ServiceError,
): Promise<ToolOutcome | undefined> {
  const outcome = await pay({ ...call, authorization: undefined, rawHeaders: [] })
  if (outcome.kind !== 'offer') return undefined
  const body = requiredOf(outcome.offer, refusal)
  return Array.isArray(body.accepts) && body.accepts.length > 0 ? { kind: 'offer', body } : undefined
}

/** `PaymentRequired` of version 2, with the members that every refusal here has. */
function requiredOf(
  offer: Extract<PaidOutcome, { kind: 'offer' }>['offer'],
  refusal: ServiceError,
): JsonObject {
  return { ...(decoded(offer.header) as JsonObject), ...refusalBody(refusal) }
}

const decoded = (base64: string): Json => JSON.parse(Buffer.from(base64, 'base64').toString()) as Json

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
  readonly logCause?: (error: ServiceError, requestId: string) => void
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
