import type { FastifyError, FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { ERRORS } from '../../contracts/errors.ts'
import type { Json, JsonObject } from '../../contracts/json.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { sentCredential } from '../accounts/index.ts'
import { acceptsHtmlFirst, acceptsJson } from '../http/accept-header.ts'
import type { CauseLog } from '../http/cause-log.ts'
import { toServiceError } from '../http/errors.ts'
import { createWaits } from '../http/waits.ts'
import { isTraceparent } from '../runtime/tracing/trace-context.ts'
import { type BearerOptions, challengeOf } from './bearer.ts'
import { callTool, keyError, type ToolPaths } from './call-tool.ts'
import type { FreeTools } from './free-tools.ts'
import {
  idOf,
  isJsonObject,
  JSON_RPC_CODES,
  type RequestId,
  type RpcError,
  RpcFault,
  readMessage,
  rpcErrorText,
  rpcResultText,
} from './jsonrpc.ts'
import { mcpOperation } from './mcp-operation.ts'
import type { McpTelemetry } from './mcp-telemetry.ts'
import { PAYMENT_EXTENSION, paymentLines } from './paid-tools.ts'
import {
  CLIENT_CAPABILITIES_META_KEY,
  type createProtocol,
  type McpExtension,
  type RpcRequest,
  readRequest,
} from './protocol.ts'
import { isForeignOrigin, type RequestGuard, refusalOf } from './request-guard.ts'
import type { Caller } from './tool-outcome.ts'
import { toolAnswerBytes } from './tool-result.ts'

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
  const data: JsonObject = {
    code: refusal.code,
    next_step: refusal.nextStep,
    request_id: request.id,
    ...(refusal.details === undefined ? {} : { details: refusal.details }),
  }
  // A caller of this function may have set a more specific value.
  if (refusal.code === 'rate_limited' && !reply.hasHeader('retry-after')) reply.header('retry-after', '1')
  const code = refusal.code === 'internal_error' ? JSON_RPC_CODES.internalError : JSON_RPC_CODES.transport
  return reply
    .code(status)
    .header('content-type', 'application/json; charset=utf-8')
    .send(rpcErrorText(null, { code, message: refusal.message, data }))
}

export interface McpRoutesOptions extends ToolPaths {
  /** Network address of the caller, as trusted proxies tell it. */
  readonly addressOf: (request: FastifyRequest) => string
  readonly guard: RequestGuard
  readonly protocol: ReturnType<typeof createProtocol>
  /** Checks access tokens of programs; without it no token is accepted. */
  readonly bearer?: BearerOptions | undefined
  /** Told why calls are refused, where callers are not. */
  readonly logCause?: CauseLog
  /** Nothing is measured where it is left out. */
  readonly telemetry?: McpTelemetry | undefined
  readonly extension?: McpExtension | undefined
}

/** The dependencies that answer one message. */
interface Edge extends McpRoutesOptions {
  /** Aborted when nobody waits for the answer any more. */
  readonly untilGone: (reply: FastifyReply) => AbortSignal
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
export const mcpRoutes: FastifyPluginAsync<McpRoutesOptions> = async (app, options) => {
  const edge: Edge = { ...options, untilGone: createWaits(app) }
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_, body, done) => done(null, body))
  app.setErrorHandler(answerTransportFailure)
  app.addHook('onRequest', (request, reply, done) => {
    const { host, origin } = request.headers
    const refusal = refusalOf(options.guard, host, origin)
    if (refusal !== undefined) {
      refuse(reply, 403, { code: JSON_RPC_CODES.transport, message: refusal })
      return
    }
    if (origin !== undefined && isForeignOrigin(options.guard, host, origin)) {
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
    { bodyLimit: LIMITS.requestBodyBytes, schema: { operation: mcpOperation } },
    (request, reply) => answer(edge, request, reply),
  )
  refuseOtherMethods(app, options.free)
}

/**
 * There is neither a stream to open with GET nor a session to end with DELETE. A browser is led to the page that says
 * how to connect.
 */
function refuseOtherMethods(app: FastifyInstance, free: FreeTools): void {
  app.route({
    method: ['GET', 'DELETE', 'PUT', 'PATCH', 'OPTIONS'],
    url: '/mcp',
    async handler({ method, headers }, reply) {
      // The documentation is served if it can be searched.
      if (method === 'GET' && acceptsHtmlFirst(headers.accept) && free.has('search_knowledge'))
        return reply.redirect('/docs/mcp', 303)
      if (method === 'OPTIONS' && reply.hasHeader('access-control-allow-origin')) {
        return reply.code(204).headers(PREFLIGHT_HEADERS).send()
      }
      const message = `Method Not Allowed: ${method}; send JSON-RPC messages with POST, as /docs/mcp shows`
      return refuse(reply.header('allow', 'POST'), 405, { code: JSON_RPC_CODES.transport, message })
    },
  })
}

async function answer(edge: Edge, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  if (!acceptsJson(request.headers.accept)) {
    const message = 'Not Acceptable: answers are JSON; accept application/json'
    return refuse(reply, 406, { code: JSON_RPC_CODES.transport, message })
  }
  const message = readMessage(Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0))
  if (message instanceof RpcFault) return refuse(reply, message.status, message.error, message.id)
  const { bearer } = edge
  const challenge = bearer && (await challengeOf(bearer, request, message))
  if (challenge !== undefined) {
    const { status, header, code, message: text } = challenge
    const error = { code: JSON_RPC_CODES.transport, message: text, data: { code, request_id: request.id } }
    return refuse(reply.header('www-authenticate', header), status, error, idOf(message))
  }
  try {
    const rpc = readRequest(request.headers, message)
    return rpc === undefined ? await reply.code(202).send() : await answerRequest(edge, rpc, request, reply)
  } catch (error) {
    if (!(error instanceof RpcFault)) throw error
    return refuse(reply, error.status, error.error, idOf(message))
  }
}

async function answerRequest(
  edge: Edge,
  rpc: RpcRequest,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { id, era, method, params } = rpc
  const caller = callerOf(edge, request, params, () => edge.untilGone(reply))
  if (method !== 'tools/call' || edge.extension?.tools.some(({ name }) => name === params.name)) {
    const { authorization } = request.headers
    // A call of a tool checks its key itself.
    const check = authorization === undefined ? 'ok' : await edge.checkKey(authorization)
    if (check !== 'ok') throw new RpcFault(keyError(check, request.id))
    const result = await edge.protocol.answer(rpc, caller)
    if (typeof result !== 'string') return reply.type('text/event-stream').send(result)
    return send(reply, rpcResultText(id, result))
  }
  const { _meta: given, name, arguments: sent = {} } = params
  const meta = isJsonObject(given) ? given : {}
  const outcome = await callTool(edge, caller, { name, request: sent, payment: paymentLines(meta) })
  if (outcome.kind === 'answer' && outcome.isReplay) reply.header('idempotency-replayed', 'true')
  const takesOffer = era === 'modern' && takesOffers(meta)
  return send(reply, toolAnswerBytes(id, outcome, edge.protocol.tail[era], takesOffer))
}

/** The client says that it knows results that are offers. */
function takesOffers(meta: JsonObject): boolean {
  const { [CLIENT_CAPABILITIES_META_KEY]: capabilities } = meta
  const { extensions } = isJsonObject(capabilities) ? capabilities : {}
  return isJsonObject(extensions) && Object.hasOwn(extensions, PAYMENT_EXTENSION)
}

function callerOf(
  edge: Edge,
  request: FastifyRequest,
  params: Json | undefined,
  signal: Caller['signal'],
): Caller {
  const { 'idempotency-key': idempotencyKey, traceparent } = request.headers
  return {
    authorization: sentCredential(request.headers),
    address: edge.addressOf(request),
    idempotencyKey: typeof idempotencyKey === 'string' ? idempotencyKey : undefined,
    traceparent: [traceparent, metaOf(params).traceparent].find(isTraceparent),
    requestId: request.id,
    signal,
    log: request.log,
    logCause: edge.logCause,
    telemetry: edge.telemetry,
  }
}

/** Fields of a message beside its arguments, such as the trace context of the stateless revision. */
function metaOf(params: Json | undefined): JsonObject {
  const { _meta: meta } = isJsonObject(params) ? params : {}
  return isJsonObject(meta) ? meta : {}
}

const refuse = (
  reply: FastifyReply,
  status: number,
  error: RpcError,
  id: RequestId | null = null,
): FastifyReply => send(reply.code(status), rpcErrorText(id, error))

const send = (reply: FastifyReply, text: string | Buffer): FastifyReply =>
  reply
    .header('content-type', 'application/json; charset=utf-8')
    .header('cache-control', 'no-store')
    .send(text)
