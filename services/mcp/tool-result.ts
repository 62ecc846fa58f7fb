import { type CallToolResult, ProtocolError } from '@modelcontextprotocol/server'
import type { JsonObject } from '../../contracts/json.ts'
import { type RequestId, rpcErrorText, rpcResultText } from './mcp-messages.ts'
import { SETTLEMENT_META_KEY } from './paid-tools.ts'
import type { ToolOutcome } from './tool-outcome.ts'

/**
 * The answer to `tools/call` as text, put together around one serialisation of the tool's answer.
 *
 * @param tail what results of the era end with, from `,` on; empty in the handshake era.
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
  const structured = (isAnswer ? outcome.text : undefined) ?? JSON.stringify(outcome.body)
  const text = JSON.stringify(outcome.kind === 'refusal' ? outcome.text : structured)
  const settlement = isAnswer ? outcome.settlement : undefined
  const end = settlement === undefined ? tail : withMeta(tail, { [SETTLEMENT_META_KEY]: settlement })
  return rpcResultText(
    id,
    `{"content":[{"type":"text","text":${text}}],"structuredContent":${structured},"isError":${!isAnswer}${end}}`,
  )
}

/** The end of a result, with something added to its metadata, which it may have none of. */
function withMeta(tail: string, meta: JsonObject): string {
  const { _meta: own, ...rest } = JSON.parse(`{"x":0${tail}}`) as JsonObject & { _meta?: JsonObject }
  const { x: _, ...members } = rest
  return `,${JSON.stringify({ ...members, _meta: { ...own, ...meta } }).slice(1, -1)}`
}

/** The same for the SDK, which serialises it. @throws ProtocolError for an error of the protocol. */
export function toolResult(outcome: ToolOutcome): CallToolResult {
  if (outcome.kind === 'error') {
    throw new ProtocolError(outcome.error.code, outcome.error.message, outcome.error.data)
  }
  const text = outcome.kind === 'refusal' ? outcome.text : JSON.stringify(outcome.body)
  const settlement = outcome.kind === 'answer' ? outcome.settlement : undefined
  return {
    content: [{ type: 'text', text }],
    structuredContent: outcome.body,
    isError: outcome.kind !== 'answer',
    ...(settlement !== undefined && { _meta: { [SETTLEMENT_META_KEY]: settlement } }),
  }
}
