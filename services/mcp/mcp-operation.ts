import { z } from 'zod'
import { serviceBlockSchema } from '../../contracts/service-block.ts'
import { HISTORY_TOOLS } from '../../contracts/tools/history-catalogue.ts'
import { KNOWLEDGE_TOOLS } from '../../contracts/tools/knowledge-catalogue.ts'
import { TOOLS } from '../../contracts/tools/tool-catalogue.ts'
import { operationsOf } from '../http/openapi/operation.ts'

const message = {
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.int(), z.null()]).describe('Comes back with the answer'),
}
const text = z.array(z.object({ type: z.literal('text'), text: z.string() }))

const marketTools = Object.entries(TOOLS).map(([name, tool]) => {
  const response = z.intersection(tool.response, z.object({ _service: serviceBlockSchema }))
  return [name, { ...tool, response }] as const
})
const tools = [...marketTools, ...Object.entries({ ...KNOWLEDGE_TOOLS, ...HISTORY_TOOLS })]

const requests = [
  ...tools.map(([name, { request, description }]) =>
    z
      .object({
        ...message,
        method: z.literal('tools/call'),
        params: z.object({ name: z.literal(name), arguments: request }),
      })
      .describe(description),
  ),
  z
    .object({
      ...message,
      id: message.id.optional(),
      method: z.string(),
      params: z.record(z.string(), z.json()).optional(),
    })
    .describe('Any other method of the protocol; without an `id` it is a notification'),
]

const errors = z
  .object({ ...message, error: z.object({ code: z.int(), message: z.string(), data: z.json().optional() }) })
  .describe('-32003: the key is unknown. -32004: it could not be checked; try again. Others: JSON-RPC 2.0')
const answers = [
  ...tools.map(([name, { response, title }]) =>
    z
      .object({ ...message, result: z.object({ content: text, structuredContent: response }) })
      .describe(`${title} (${name}); \`content\` has the same JSON as text`),
  ),
  z
    .object({ ...message, result: z.record(z.string(), z.json()) })
    .describe(
      'The result of any other method; with `isError`, a tool refused, and `structuredContent` has `code`, `message` and `next_step`',
    ),
  errors,
]

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
    body: z.union(requests),
    bodyExample: {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'get_trade_call', arguments: { coin: 'BTC', timeframe: '1h' } },
    },
    answers: {
      ...Object.fromEntries(
        Object.entries(REFUSALS).map(([status, description]) => [
          status,
          { description, content: { 'application/json': errors } },
        ]),
      ),
      200: {
        description: 'A JSON-RPC answer: a result, a refusal of a tool, or an error',
        content: { 'application/json': z.union(answers) },
      },
      202: { description: 'A notification was taken; there is no answer', content: {} },
    },
  },
)
