import { z } from 'zod'
import { operationsOf } from '../http/openapi/operation.ts'

const message = {
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.int(), z.null()]).describe('Comes back with the answer'),
}
const body = z.object({
  ...message,
  id: message.id.optional().describe('Left out, the message is a notification'),
  method: z.string().describe('`tools/call`, `tools/list`, `initialize`, `resources/read` and so on'),
  params: z.record(z.string(), z.json()).optional(),
})
const result = z
  .object({ ...message, result: z.record(z.string(), z.json()) })
  .describe(
    'The result of the method. That of a tool has its answer as `structuredContent`; with `isError` the tool refused, and `code`, `message` and `next_step` stand there',
  )
const error = z
  .object({ ...message, error: z.object({ code: z.int(), message: z.string(), data: z.json().optional() }) })
  .describe('-32003: the key is unknown. -32004: it could not be checked; try again. Others: JSON-RPC 2.0')

/** Refusals by HTTP itself; refusals of keys and tools come inside an answer with status 200. */
const REFUSALS = {
  400: 'The body is not one JSON-RPC 2.0 message (-32700, -32600), or its envelope is not sound',
  403: 'The service is not called by this name, or pages of this origin may not call it',
  404: 'The method is not known',
  405: 'Another method than POST: there is no stream to open and no session to end',
  406: 'JSON is not accepted',
  413: 'The message is too large',
  414: 'The address is too long',
  415: 'The body is not JSON',
  429: 'Too many requests in a short time; `Retry-After` says how long to wait',
  500: 'Something failed that should not have',
  503: 'This process is shutting down, or the event store does not answer',
}
const refusals = Object.entries(REFUSALS).map(
  ([status, description]) => [status, { description, content: { 'application/json': error } }] as const,
)

/** The arguments and answers of the tools are in `tools/list`, and in this document with the routes that do the same. */
export const mcpOperation = operationsOf({ tag: 'tools', key: 'optional' })(
  'mcp',
  'Ask a tool, through the Model Context Protocol',
  {
    description:
      'JSON-RPC 2.0, one message in one request, answered with JSON; there are no sessions. A key is taken but not needed: without one, the free allowance of the caller’s address applies. Every answered tool call costs one call of the quota, HOLD included; refusals and errors cost nothing. The two tools about the service itself, `search_knowledge` and `chat_knowledge`, need a key and cost no calls; `get_regime_shifts` reads the record, needs none and is free; the tools that manage webhooks, such as `create_webhook`, need a key, cost no calls, and do what the routes under `/api/webhooks` do. A client looks at `error` first, then at `result.isError`.',
    headers: {
      'Idempotency-Key':
        'Up to 255 visible ASCII characters, new for every new request: the same request sent again with it gives the stored answer and is not charged again',
      'MCP-Protocol-Version': 'The revision of the protocol that is spoken',
    },
    body,
    bodyExample: {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'get_trade_call', arguments: { coin: 'BTC', timeframe: '1h' } },
    },
    answers: {
      ...Object.fromEntries(refusals),
      200: {
        description: 'A JSON-RPC answer: a result, a refusal of a tool, or an error',
        content: { 'application/json': z.union([result, error]) },
      },
      202: { description: 'A notification was taken; there is no answer', content: {} },
    },
  },
)
