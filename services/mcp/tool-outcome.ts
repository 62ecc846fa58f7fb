import type { FastifyBaseLogger } from 'fastify'
import { forCallers, type ServiceError } from '../../contracts/errors.ts'
import type { JsonObject } from '../../contracts/json.ts'
import { bytesOf, textOf } from '../../contracts/json-text.ts'
import type { ToolAnswer, ToolCall } from '../tool-calls/index.ts'
import { type RequestId, type RpcError, rpcErrorText, rpcResultText } from './jsonrpc.ts'

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
