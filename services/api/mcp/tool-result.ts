import { type CallToolResult, ProtocolError } from '@modelcontextprotocol/server'
import type { ToolOutcome } from './call-tool.ts'
import { type RequestId, rpcErrorText, rpcResultText } from './json-rpc.ts'

/**
 * The answer to `tools/call` as text, put together around one serialisation of the tool's answer.
 *
 * @param tail what results of the era end with, from `,` on; empty in the handshake era.
 */
export function toolAnswerText(id: RequestId, outcome: ToolOutcome, tail: string): string {
  if (outcome.kind === 'error') return rpcErrorText(id, outcome.error)
  const isAnswer = outcome.kind === 'answer'
  const structured = (isAnswer ? outcome.text : undefined) ?? JSON.stringify(outcome.body)
  const text = JSON.stringify(isAnswer ? structured : outcome.text)
  return rpcResultText(
    id,
    `{"content":[{"type":"text","text":${text}}],"structuredContent":${structured},"isError":${!isAnswer}${tail}}`,
  )
}

/**
 * The same for the SDK, which serialises it.
 *
 * @throws ProtocolError for an error of the protocol.
 */
export function toolResult(outcome: ToolOutcome): CallToolResult {
  if (outcome.kind === 'error') {
    throw new ProtocolError(outcome.error.code, outcome.error.message, outcome.error.data)
  }
  const text = outcome.kind === 'answer' ? JSON.stringify(outcome.body) : outcome.text
  return {
    content: [{ type: 'text', text }],
    structuredContent: outcome.body,
    isError: outcome.kind !== 'answer',
  }
}
