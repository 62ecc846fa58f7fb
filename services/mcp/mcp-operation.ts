import { z } from 'zod'
import { serviceBlockSchema } from '../../contracts/service-block.ts'
import { HISTORY_TOOLS } from '../../contracts/tools/history-catalogue.ts'
import { KNOWLEDGE_TOOLS } from '../../contracts/tools/knowledge-catalogue.ts'
import { TOOLS } from '../../contracts/tools/tool-catalogue.ts'
import { operationsOf } from '../http/openapi/operation.ts'

const id = z.union([z.string(), z.int(), z.null()]).describe('Comes back with the answer')

/** One shape per tool, by its name; every other method passes as well. */
const toolCalls = Object.entries({ ...TOOLS, ...KNOWLEDGE_TOOLS, ...HISTORY_TOOLS }).map(
  ([name, { request, description }]) =>
    z
      .object({
        jsonrpc: z.literal('2.0'),
        id,
        method: z.literal('tools/call'),
        params: z.object({ name: z.literal(name), arguments: request }),
      })
      .describe(description),
)
const otherMethods = z
  .object({
    jsonrpc: z.literal('2.0'),
    id: id.optional(),
    method: z.string(),
    params: z.record(z.string(), z.json()).optional(),
  })
  .describe('Any other method of the protocol; without an `id` it is a notification')

const ofMarkets = z.object({ _service: serviceBlockSchema })
const results = [
  ...Object.entries(TOOLS).map(([name, { response, title }]) => ({
    words: `${title} (${name})`,
    answer: z.intersection(response, ofMarkets),
  })),
  ...Object.entries({ ...KNOWLEDGE_TOOLS, ...HISTORY_TOOLS }).map(([name, { response, title }]) => ({
    words: `${title} (${name})`,
    answer: response,
  })),
]
const toolResults = results.map(({ words, answer }) =>
  z
    .object({
      jsonrpc: z.literal('2.0'),
      id,
      result: z.object({
        content: z
          .array(z.object({ type: z.literal('text'), text: z.string() }))
          .describe('The same JSON as text'),
        structuredContent: answer,
      }),
    })
    .describe(words),
)
const refusals = z
  .object({
    jsonrpc: z.literal('2.0'),
    id,
    result: z.object({
      isError: z.literal(true),
      content: z.array(z.object({ type: z.literal('text'), text: z.string() })),
      structuredContent: z.record(z.string(), z.json()).optional(),
    }),
  })
  .describe('A tool that refused: `code`, `message` and `next_step` stand in `structuredContent`')
const otherResults = z
  .object({ jsonrpc: z.literal('2.0'), id, result: z.record(z.string(), z.json()) })
  .describe('The result of any other method: `initialize`, `ping`, `tools/list`, `resources/read` and so on')
const errors = z
  .object({
    jsonrpc: z.literal('2.0'),
    id,
    error: z.object({ code: z.int(), message: z.string(), data: z.json().optional() }),
  })
  .describe('-32003: the key is unknown. -32004: it could not be checked; try again. Others: JSON-RPC 2.0')

/** A refusal by HTTP itself; refusals of keys and tools come inside an answer with status 200. */
const refusedAs = (description: string) => ({ description, content: { 'application/json': errors } })

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
    body: z.union([...toolCalls, otherMethods]),
    bodyExample: {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'get_trade_call', arguments: { coin: 'BTC', timeframe: '1h' } },
    },
    answers: {
      200: {
        description: 'A JSON-RPC answer: a result, a refusal of a tool, or an error',
        content: { 'application/json': z.union([...toolResults, refusals, otherResults, errors]) },
      },
      400: refusedAs(
        'The body is not one JSON-RPC 2.0 message (-32700, -32600), or its envelope is not sound',
      ),
      403: refusedAs('The service is not called by this name, or pages of this origin may not call it'),
      404: refusedAs('The method is not known'),
      405: refusedAs('Another method than POST: there is no stream to open and no session to end'),
      406: refusedAs('JSON is not accepted'),
      413: refusedAs('The message is too large'),
      414: refusedAs('The address is too long'),
      415: refusedAs('The body is not JSON'),
      429: refusedAs('Too many requests in a short time; `Retry-After` says how long to wait'),
      500: refusedAs('Something failed that should not have'),
      503: refusedAs('This process is shutting down, or the event store does not answer'),
      202: { description: 'A notification was taken; there is no answer', content: {} },
    },
  },
)
