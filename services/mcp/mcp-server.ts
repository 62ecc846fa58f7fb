import type { FastifyError, FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import type { Registry } from 'prom-client'
import { z } from 'zod'
import { ERRORS } from '../../contracts/errors/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { Accounts } from '../accounts/index.ts'
import { acceptsHtmlFirst, acceptsJson } from '../http/accept.ts'
import { senderOf } from '../http/add-routes.ts'
import { errorBody, refusalFor } from '../http/errors.ts'
import { anyObject, KEY_IF_ANY, KEYED_HEADERS, operation, unchecked } from '../http/openapi.ts'
import { createWaits } from '../http/request-signal.ts'
import type { WebhookService } from '../http/webhook-service.ts'
import { callTool, createMcpTelemetry, keyFault, type ToolPaths, toolAnswerText } from './call-tool.ts'
import { type DiscoveryOptions, discoveryRoutes } from './discovery.ts'
import { idOf, type RequestId, RpcFault, readMessage, rpcErrorText, rpcResultText } from './jsonrpc.ts'
import { createProtocol, type RpcRequest, readRequest, takesOffers } from './protocol.ts'
import { checkBearer, type RequestGuard, refusalOf } from './request-guard.ts'
import type { McpResourceSources } from './resources.ts'
import { type FreeToolSources, freeTools, listedTools } from './tools.ts'

/** The tools of a part that is left out are not listed. */
export interface McpServerOptions extends Omit<ToolPaths, 'free'>, FreeToolSources {
  readonly sources: McpResourceSources
  readonly guard: RequestGuard
  /** Check the access tokens of programs; without them none is accepted. */
  readonly accounts?: Accounts | undefined
}

/** The parts of a server that the protocol stands on, as the routes do; those that are left out are not served. */
export interface McpPluginOptions extends DiscoveryOptions {
  readonly mcp?: Omit<McpServerOptions, 'accounts' | 'telemetry' | 'webhooks'> | undefined
  readonly accounts?: { readonly accounts: Accounts } | undefined
  readonly webhooks?: WebhookService | undefined
  readonly metrics: Registry
}

/** The Model Context Protocol, and the documents by which agents find the service. */
export const mcpPlugin: FastifyPluginAsync<McpPluginOptions> = async (app, options) => {
  const { mcp, webhooks, metrics } = options
  await app.register(discoveryRoutes, options)
  if (mcp === undefined) return
  const accounts = options.accounts?.accounts
  await app.register(mcpServer, { ...mcp, accounts, webhooks, telemetry: createMcpTelemetry(metrics) })
}

const envelope = z.object({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.int(), z.null()]).describe('Comes back with the answer'),
})
const CALL = { name: 'get_trade_call', arguments: { coin: 'BTC', timeframe: '1h' } }
const MCP = {
  ...operation('tools', 'mcp', 'Call a tool through the Model Context Protocol'),
  description:
    'JSON-RPC 2.0, one message in one request, answered with JSON; there are no sessions. Without a key the free allowance of the caller’s address applies. Every answered tool call costs one call of the quota, HOLD included; refusals and errors cost nothing. `search_knowledge`, `chat_knowledge` and the tools for webhooks need a key and cost no calls; `get_regime_shifts` needs none and is free. A client looks at `error` first (-32003: the key is unknown; -32004: it could not be checked, try again), then at `result.isError`.',
  security: KEY_IF_ANY,
  headers: KEYED_HEADERS,
  body: envelope
    .partial({ id: true })
    .extend({ method: z.string(), params: anyObject.optional() })
    .meta({ examples: [{ jsonrpc: '2.0', id: 1, method: 'tools/call', params: CALL }] }),
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
  const free = freeTools(options)
  const paths = { ...options, free }
  const protocol = createProtocol(options.sources, listedTools(free), options.paid !== undefined)
  const untilGone = createWaits(app)

  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_, body, done) => done(null, body))
  app.setErrorHandler(refuseTransport)
  guardRequests(app, options.guard)

  async function answer(rpc: RpcRequest, request: FastifyRequest, reply: FastifyReply) {
    const { id, era, method } = rpc
    const caller = {
      ...senderOf(request, rpc.meta.traceparent),
      signal: () => untilGone(reply),
      log: request.log,
    }
    if (method !== 'tools/call') {
      const { authorization } = request.headers
      // A call of a tool checks its key itself.
      const check = authorization === undefined ? 'ok' : await options.checkKey(authorization)
      if (check !== 'ok') throw keyFault(check, request.id)
      return send(reply, rpcResultText(id, await protocol.answer(rpc, caller)))
    }
    const outcome = await callTool(paths, caller, rpc)
    if (outcome.kind === 'answer' && outcome.isReplay) reply.header('idempotency-replayed', 'true')
    return send(reply, toolAnswerText(id, outcome, protocol.tail[era], takesOffers(rpc)))
  }

  const route = { bodyLimit: LIMITS.requestBodyBytes, schema: MCP, validatorCompiler: unchecked }
  app.post('/mcp', route, async (request, reply) => {
    let id: RequestId | null = null
    try {
      if (!acceptsJson(request)) {
        const why = 'Not Acceptable: answers are JSON; accept application/json'
        throw new RpcFault('transport', why, { status: 406 })
      }
      const message = readMessage(Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0))
      if (message instanceof RpcFault) throw message
      id = idOf(message)
      if (options.accounts !== undefined) await checkBearer(options.accounts, request, message)
      const rpc = readRequest(request.headers, message)
      return rpc === undefined ? await reply.code(202).send() : await answer(rpc, request, reply)
    } catch (error) {
      if (error instanceof RpcFault) return refuse(reply, error, id)
      throw error
    }
  })
  refuseOtherMethods(app, free.has('search_knowledge'))
}

function guardRequests(app: FastifyInstance, guard: RequestGuard): void {
  app.addHook('onRequest', async ({ headers: { host, origin } }, reply) => {
    const refusal = refusalOf(guard, host, origin)
    if (refusal !== undefined) return refuse(reply, new RpcFault('transport', refusal, { status: 403 }))
    if (origin !== undefined && guard.origins.includes(origin))
      reply.headers({
        'access-control-allow-origin': origin,
        'access-control-expose-headers': 'x-request-id, idempotency-replayed, www-authenticate',
        vary: 'origin',
      })
    return undefined
  })
}

/**
 * There is neither a stream to open with GET nor a session to end with DELETE. A browser is led to the page that says
 * how to connect, if it is served.
 */
const refuseOtherMethods = (app: FastifyInstance, isDocumented: boolean): FastifyInstance =>
  app.route({
    method: ['GET', 'DELETE', 'PUT', 'PATCH', 'OPTIONS'],
    url: '/mcp',
    async handler(request, reply) {
      const { method } = request
      if (method === 'GET' && acceptsHtmlFirst(request) && isDocumented)
        return reply.redirect('/docs/mcp', 303)
      if (method === 'OPTIONS' && reply.hasHeader('access-control-allow-origin'))
        return reply.code(204).headers(PREFLIGHT_HEADERS).send()
      const message = `Method Not Allowed: ${method}; send JSON-RPC messages with POST, as /docs/mcp shows`
      return refuse(reply, new RpcFault('transport', message, { status: 405, headers: { allow: 'POST' } }))
    },
  })

/** Answers what HTTP or a guard before this edge refuses, as JSON-RPC, so that clients of MCP can read it. */
function refuseTransport(error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const refusal = refusalFor(error, request, reply)
  const { message, ...data } = errorBody(refusal, request.id)
  const code = refusal.code === 'internal_error' ? 'internalError' : 'transport'
  return refuse(reply, new RpcFault(code, message, { status: ERRORS[refusal.code].status, data }))
}

const refuse = (reply: FastifyReply, fault: RpcFault, id: RequestId | null = null): FastifyReply =>
  send(reply.code(fault.status).headers(fault.headers), rpcErrorText(id, fault.error))

const send = (reply: FastifyReply, text: string): FastifyReply =>
  reply.headers({ 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' }).send(text)
