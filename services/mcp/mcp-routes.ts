import type { FastifyError, FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { ERRORS } from '../../contracts/errors.ts'
import type { Json, JsonObject } from '../../contracts/json.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { sentCredential } from '../accounts/index.ts'
import { acceptsHtmlFirst, acceptsJson } from '../http/accept-header.ts'
import type { CauseLog } from '../http/cause-log.ts'
import { toServiceError } from '../http/errors.ts'
import { createWaits, signalOfLeaving } from '../http/waits.ts'
import { isTraceparent } from '../runtime/tracing/trace-context.ts'
import { type BearerOptions, challengeOf } from './bearer.ts'
import { callTool, keyError, type ToolPaths } from './call-tool.ts'
import type { FreeTools } from './free-tools.ts'
import {
  CLIENT_CAPABILITIES_META_KEY,
  type Era,
  idOf,
  isJsonObject,
  JSON_RPC_CODES,
  type PlainRequest,
  plainRequest,
  type RequestId,
  type RpcError,
  readMessage,
  rpcErrorText,
  rpcResultText,
} from './mcp-messages.ts'
import { mcpOperation } from './mcp-operation.ts'
import type { McpTelemetry } from './mcp-telemetry.ts'
import { PAYMENT_EXTENSION, paymentLines } from './paid-tools.ts'
import type { McpExtension } from './protocol-server.ts'
import { isForeignOrigin, type RequestGuard, refusalOf } from './request-guard.ts'
import type { SdkExchange } from './sdk-exchange.ts'
import type { Caller, KeyCheck } from './tool-outcome.ts'
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
  /** Answers every message that is not a plain one. */
  readonly sdk: SdkExchange
  /** The result of `tools/list` in each era, and what every result of the era ends with. */
  readonly toolList: Readonly<Record<Era, string>>
  readonly tail: Readonly<Record<Era, string>>
  /** Checks access tokens of programs; without it no token is accepted. */
  readonly bearer?: BearerOptions | undefined
  /** Told why calls are refused, where callers are not. */
  readonly logCause?: CauseLog
  /** Nothing is measured where it is left out. */
  readonly telemetry?: McpTelemetry | undefined
  /** Further tools, resources and prompts, such as those a conformance suite asks for. */
  readonly extension?: McpExtension | undefined
  /** Off, every message takes the SDK's way: for tests that compare the two, and benchmarks. */
  readonly hasShortWay?: boolean
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
  app.addHook('preClose', () => edge.sdk.close())
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
      // Where the documentation is searched, it is served.
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
  const reading = readMessage(Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0))
  if (reading.error !== undefined) return refuse(reply, 400, reading.error, reading.id)
  const { message } = reading
  const { bearer } = edge
  const challenge = bearer && (await challengeOf(bearer, request, message))
  if (challenge !== undefined) {
    const { status, header, code, message: text } = challenge
    const error = { code: JSON_RPC_CODES.transport, message: text, data: { code, request_id: request.id } }
    return refuse(reply.header('www-authenticate', header), status, error, idOf(message))
  }
  const plain = edge.hasShortWay === false ? undefined : plainRequest(request.headers, message)
  if (plain?.method === 'tools/call' && isOurs(edge, plain))
    return answerToolCall(edge, plain, request, reply)
  const check = await checkKey(edge, request, message)
  if (check !== 'ok') return send(reply, rpcErrorText(idOf(message), keyError(check, request.id)))
  if (plain?.method === 'tools/list' && plain.params.cursor === undefined) {
    return send(reply, rpcResultText(plain.id, edge.toolList[plain.era]))
  }
  return answerBySdk(edge, message, request, reply)
}

/** A tool of an extension is called through the SDK; every other name is the service's to answer. */
const isOurs = ({ extension }: Edge, { params: { name } }: PlainRequest): boolean =>
  extension === undefined || !extension.tools.some((tool) => tool.name === name)

async function answerToolCall(
  edge: Edge,
  { id, era, params }: PlainRequest,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const caller = callerOf(edge, request, params, () => edge.untilGone(reply))
  const { _meta: given, name, arguments: sent = {} } = params
  const meta = isJsonObject(given) ? given : {}
  const outcome = await callTool(edge, caller, {
    name,
    request: sent,
    payment: paymentLines(meta),
  })
  if (outcome.kind === 'answer' && outcome.isReplay) reply.header('idempotency-replayed', 'true')
  return send(reply, toolAnswerBytes(id, outcome, edge.tail[era], era === 'modern' && takesOffers(meta)))
}

/** Whether a client says that it knows results that are offers. */
function takesOffers(meta: JsonObject): boolean {
  const { [CLIENT_CAPABILITIES_META_KEY]: capabilities } = meta
  const { extensions } = isJsonObject(capabilities) ? capabilities : {}
  return isJsonObject(extensions) && Object.hasOwn(extensions, PAYMENT_EXTENSION)
}

/** Notifications have no answer that could refuse them, and do nothing here; a tool call checks its own key. */
async function checkKey(edge: Edge, request: FastifyRequest, message: JsonObject): Promise<KeyCheck> {
  const { authorization } = request.headers
  const isRequest = 'id' in message && 'method' in message
  if (authorization === undefined || !isRequest) return 'ok'
  return edge.checkKey(authorization)
}

async function answerBySdk(
  edge: Edge,
  message: JsonObject,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const signal = signalOfLeaving(reply)
  const caller = callerOf(edge, request, message.params, () => signal)
  const { headers } = request
  const response = await edge.sdk.answer({ message, headers, caller, signal })
  const contentType = response.headers.get('content-type')
  if (response.status >= 500) request.log.error({ request_id: request.id }, 'MCP exchange failed')
  reply.code(response.status)
  if (contentType === null) return reply.send()
  if (contentType.startsWith('text/event-stream')) return reply.send(response)
  return reply.header('content-type', contentType).send(await response.text())
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
