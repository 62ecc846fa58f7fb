import type { JsonObject } from '../../contracts/json.ts'
import { bytesOf, textOf } from '../../contracts/json-text.ts'
import { type RequestId, rpcErrorText, rpcResultText } from './jsonrpc.ts'
import { SETTLEMENT_META_KEY } from './paid-tools.ts'
import type { ToolOutcome } from './tool-outcome.ts'

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
