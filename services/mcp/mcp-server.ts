import type { FastifyError, FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { ERRORS } from '../../contracts/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { sentCredential } from '../accounts/index.ts'
import { acceptsHtmlFirst, acceptsJson } from '../http/accept.ts'
import { errorBody, retryLater, toServiceError } from '../http/errors.ts'
import { anyObject, KEY_IF_ANY, operation, unchecked } from '../http/openapi.ts'
import { createWaits } from '../http/request-signal.ts'
import type { WebhookService } from '../http/webhook-service.ts'
import { isTraceparent } from '../runtime/tracing/trace-context.ts'
import type { KnowledgeService } from '../tool-calls/index.ts'
import {
  type Caller,
  callTool,
  keyFault,
  PAYMENT_EXTENSION,
  paymentLines,
  type ToolPaths,
  toolAnswerBytes,
} from './call-tool.ts'
import {
  idOf,
  isJsonObject,
  type RequestId,
  RpcFault,
  readMessage,
  rpcErrorText,
  rpcResultText,
} from './jsonrpc.ts'
import {
  CLIENT_CAPABILITIES_META_KEY,
  createProtocol,
  type McpExtension,
  type RpcRequest,
  readRequest,
} from './protocol.ts'
import { type BearerOptions, checkBearer, type RequestGuard, refusalOf } from './request-guard.ts'
import { type McpResourceSources, mcpResources } from './resources.ts'
import {
  type FreeTools,
  type HistoryTools,
  historyTools,
  knowledgeTools,
  listedTools,
  webhookTools,
} from './tools.ts'

/** Answers what HTTP or a guard before this edge refuses, as JSON-RPC, so that clients of MCP can read it. */
function answerTransportFailure(
  error: FastifyError,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const refusal = toServiceError(error)
  const { status } = ERRORS[refusal.code]
  if (status >= 500 && refusal.code !== 'shutting_down') {
    request.log.error({ err: error, request_id: request.id }, 'request failed')
  }
  const { message, ...data } = errorBody(refusal, request.id)
  retryLater(reply, refusal)
  const code = refusal.code === 'internal_error' ? 'internalError' : 'transport'
  return refuse(reply, new RpcFault(code, message, { status, data }))
}

/** The tools of a part that is left out are not listed. */
export interface McpServerOptions extends Omit<ToolPaths, 'free'> {
  readonly knowledge?: KnowledgeService | undefined
  readonly history?: HistoryTools | undefined
  readonly webhooks?: WebhookService | undefined
  readonly sources: McpResourceSources
  readonly payment?: McpResourceSources['payment']
  /** Network address of the caller, as trusted proxies tell it. */
  readonly addressOf: (request: FastifyRequest) => string
  readonly guard: RequestGuard
  /** Checks access tokens of programs; without it no token is accepted. */
  readonly bearer?: BearerOptions | undefined
  readonly extension?: McpExtension | undefined
}

/** The dependencies that answer one message. */
interface Edge extends McpServerOptions, ToolPaths {
  readonly protocol: ReturnType<typeof createProtocol>
  /** Aborted when nobody waits for the answer any more. */
  readonly untilGone: (reply: FastifyReply) => AbortSignal
}

function createEdge(options: McpServerOptions, untilGone: Edge['untilGone']): Edge {
  const { paid, checkKey, knowledge, history, webhooks, sources, payment, extension } = options
  const free = new Map([
    ...(knowledge === undefined ? [] : knowledgeTools(knowledge)),
    ...(history === undefined ? [] : historyTools(history, checkKey, sources.exchanges)),
    ...(webhooks === undefined ? [] : webhookTools(webhooks)),
  ])
  const tools = listedTools(free)
  const names = tools.map(({ name }) => name)
  const resources = mcpResources({ ...sources, payment }, names)
  const isPaid = paid !== undefined
  const protocol = createProtocol({ version: sources.version, isPaid, tools, resources, extension })
  return { ...options, free, protocol, untilGone }
}

const envelope = z.object({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.int(), z.null()]).describe('Comes back with the answer'),
})
const MCP = {
  ...operation('tools', 'mcp', 'Call a tool through the Model Context Protocol', {
    description:
      'JSON-RPC 2.0, one message in one request, answered with JSON; there are no sessions. Without a key the free allowance of the caller’s address applies. Every answered tool call costs one call of the quota, HOLD included; refusals and errors cost nothing. `search_knowledge`, `chat_knowledge` and the tools for webhooks need a key and cost no calls; `get_regime_shifts` needs none and is free. A client looks at `error` first (-32003: the key is unknown; -32004: it could not be checked, try again), then at `result.isError`.',
    security: KEY_IF_ANY,
  }),
  headers: z.object({
    'Idempotency-Key': z
      .string()
      .optional()
      .describe(
        'Up to 255 visible ASCII characters, new for every new request: the same request with the same key gets the stored answer and is not charged again',
      ),
    'MCP-Protocol-Version': z.string().optional().describe('The revision of the protocol'),
  }),
  body: envelope
    .extend({
      id: envelope.shape.id.optional().describe('Left out, the message is a notification'),
      method: z.string().describe('`tools/call`, `tools/list`, `initialize`, `resources/read` and so on'),
      params: anyObject.optional(),
    })
    .meta({
      examples: [
        {
          jsonrpc: '2.0',
          id: 1,
          method: 'tools/call',
          params: { name: 'get_trade_call', arguments: { coin: 'BTC', timeframe: '1h' } },
        },
      ],
    }),
  response: {
    200: envelope.extend({ result: anyObject.optional(), error: anyObject.optional() }),
    202: z.undefined().describe('A notification was accepted; there is no answer'),
    '4xx': envelope.extend({ error: anyObject }).describe('An error of JSON-RPC or of HTTP'),
  },
}

const PREFLIGHT_HEADERS = {
  'access-control-allow-methods': 'POST',
  'access-control-allow-headers':
    'accept, authorization, content-type, idempotency-key, mcp-method, mcp-name, mcp-protocol-version, traceparent',
  'access-control-max-age': '600',
} as const

/**
 * `POST /mcp`: the Model Context Protocol, both the stateless revision 2026-07-28 and the handshake of the revisions
 * before it. No sessions; answers are JSON.
 */
export const mcpServer: FastifyPluginAsync<McpServerOptions> = async (app, options) => {
  const edge = createEdge(options, createWaits(app))
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_, body, done) => done(null, body))
  app.setErrorHandler(answerTransportFailure)
  app.addHook('onRequest', (request, reply, done) => {
    const { host, origin } = request.headers
    const refusal = refusalOf(options.guard, host, origin)
    if (refusal !== undefined) {
      refuse(reply, new RpcFault('transport', refusal, { status: 403 }))
      return
    }
    if (origin !== undefined && options.guard.origins.includes(origin)) {
      reply.headers({
        'access-control-allow-origin': origin,
        'access-control-expose-headers': 'x-request-id, idempotency-replayed, www-authenticate',
        vary: 'origin',
      })
    }
    done()
  })
  app.post(
    '/mcp',
    { bodyLimit: LIMITS.requestBodyBytes, schema: MCP, validatorCompiler: unchecked },
    (request, reply) => answer(edge, request, reply),
  )
  refuseOtherMethods(app, edge.free)
}

/**
 * There is neither a stream to open with GET nor a session to end with DELETE. A browser is led to the page that says
 * how to connect.
 */
function refuseOtherMethods(app: FastifyInstance, free: FreeTools): void {
  app.route({
    method: ['GET', 'DELETE', 'PUT', 'PATCH', 'OPTIONS'],
    url: '/mcp',
    async handler(request, reply) {
      const { method } = request
      // The documentation is served if it can be searched.
      if (method === 'GET' && acceptsHtmlFirst(request) && free.has('search_knowledge'))
        return reply.redirect('/docs/mcp', 303)
      if (method === 'OPTIONS' && reply.hasHeader('access-control-allow-origin')) {
        return reply.code(204).headers(PREFLIGHT_HEADERS).send()
      }
      const message = `Method Not Allowed: ${method}; send JSON-RPC messages with POST, as /docs/mcp shows`
      return refuse(reply, new RpcFault('transport', message, { status: 405, headers: { allow: 'POST' } }))
    },
  })
}

async function answer(edge: Edge, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  let id: RequestId | null = null
  try {
    if (!acceptsJson(request))
      throw new RpcFault('transport', 'Not Acceptable: answers are JSON; accept application/json', {
        status: 406,
      })
    const message = readMessage(Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0))
    if (message instanceof RpcFault) throw message
    id = idOf(message)
    if (edge.bearer !== undefined) await checkBearer(edge.bearer, request, message)
    const rpc = readRequest(request.headers, message)
    return rpc === undefined ? await reply.code(202).send() : await answerRequest(edge, rpc, request, reply)
  } catch (error) {
    if (error instanceof RpcFault) return refuse(reply, error, id)
    throw error
  }
}

async function answerRequest(
  edge: Edge,
  rpc: RpcRequest,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { id, era, method, params, meta } = rpc
  const caller = callerOf(edge, rpc, request, reply)
  if (method !== 'tools/call' || edge.extension?.tools.some(({ name }) => name === params.name)) {
    const { authorization } = request.headers
    // A call of a tool checks its key itself.
    const check = authorization === undefined ? 'ok' : await edge.checkKey(authorization)
    if (check !== 'ok') throw keyFault(check, request.id)
    const result = await edge.protocol.answer(rpc, caller)
    if (typeof result !== 'string') return reply.type('text/event-stream').send(result)
    return send(reply, rpcResultText(id, result))
  }
  const { name, arguments: sent = {} } = params
  const outcome = await callTool(edge, caller, { name, request: sent, payment: paymentLines(meta) })
  if (outcome.kind === 'answer' && outcome.isReplay) reply.header('idempotency-replayed', 'true')
  return send(reply, toolAnswerBytes(id, outcome, edge.protocol.tail[era], takesOffers(rpc)))
}

/** The client says that it knows results that are offers. */
function takesOffers({ era, meta: { [CLIENT_CAPABILITIES_META_KEY]: capabilities } }: RpcRequest): boolean {
  const { extensions } = isJsonObject(capabilities) ? capabilities : {}
  return era === 'modern' && isJsonObject(extensions) && Object.hasOwn(extensions, PAYMENT_EXTENSION)
}

function callerOf(edge: Edge, { meta }: RpcRequest, request: FastifyRequest, reply: FastifyReply): Caller {
  const { 'idempotency-key': idempotencyKey, traceparent } = request.headers
  return {
    sender: {
      authorization: sentCredential(request.headers),
      address: edge.addressOf(request),
      idempotencyKey: typeof idempotencyKey === 'string' ? idempotencyKey : undefined,
      traceparent: [traceparent, meta.traceparent].find(isTraceparent),
      requestId: request.id,
    },
    signal: () => edge.untilGone(reply),
    log: request.log,
  }
}

const refuse = (reply: FastifyReply, fault: RpcFault, id: RequestId | null = null): FastifyReply =>
  send(reply.code(fault.status).headers(fault.headers), rpcErrorText(id, fault.error))

const send = (reply: FastifyReply, text: string | Buffer): FastifyReply =>
  reply
    .header('content-type', 'application/json; charset=utf-8')
    .header('cache-control', 'no-store')
    .send(text)
