import type { FastifyBaseLogger } from 'fastify'
import { forCallers, type ServiceError } from '../../contracts/errors.ts'
import type { JsonObject } from '../../contracts/json.ts'
import { bytesOf, textOf } from '../../contracts/json-text.ts'
import type { CauseLog } from '../http/cause-log.ts'
import type { ToolAnswer } from '../tool-calls/index.ts'
import { type RequestId, type RpcError, rpcErrorText, rpcResultText } from './jsonrpc.ts'
import type { McpTelemetry } from './mcp-telemetry.ts'

/** The part of a request that a tool call needs beside its message. */
export interface Caller {
  readonly authorization: string | undefined
  readonly address: string
  readonly idempotencyKey: string | undefined
  readonly traceparent: string | undefined
  readonly requestId: string
  /** Aborted when nobody waits for the answer any more; asked for only where something has to be waited for. */
  readonly signal: () => AbortSignal
  readonly log: FastifyBaseLogger
  readonly logCause?: CauseLog | undefined
  /** Nothing is measured where it is left out. */
  readonly telemetry?: McpTelemetry | undefined
}

/** The members of a call that are its caller's. */
export const byCaller = ({ authorization, address, idempotencyKey, requestId, traceparent }: Caller) => ({
  authorization,
  address,
  idempotencyKey,
  requestId,
  traceparent,
})

/** The result of the check of the caller's key. */
export type KeyCheck = 'ok' | 'unknown' | 'unverifiable'

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

/** The field for the outcome of a payment (x402, transport for MCP). */
const SETTLEMENT_META_KEY = 'x402/payment-response'

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
  const meta = metaOf(outcome)
  const more = meta === undefined ? '' : JSON.stringify(meta).slice(1, -1)
  // A tail ends with the metadata of the era.
  const end = more === '' ? tail : tail === '' ? `,"_meta":{${more}}` : `${tail.slice(0, -1)},${more}}`
  const answer = rpcResultText(
    typeof id === 'string' ? bytesOf(id) : id,
    `{"content":[{"type":"text","text":${text}}],"structuredContent":${bytes},"isError":${!isAnswer}${bytesOf(end)}}`,
  )
  return Buffer.from(answer, 'latin1')
}

function metaOf(outcome: ToolOutcome): JsonObject | undefined {
  const settlement = outcome.kind === 'answer' ? outcome.settlement : undefined
  return settlement && { [SETTLEMENT_META_KEY]: settlement }
}
