import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import { z } from 'zod'
import { forCallers, isServiceError } from '../../contracts/errors.ts'
import { faultMessage, inputFaults } from '../../contracts/input-faults.ts'
import type { Json, JsonObject } from '../../contracts/json.ts'
import {
  invalidRequest,
  isJsonObject,
  isRequestId,
  JSON_RPC_CODES,
  type RequestId,
  RpcFault,
} from './jsonrpc.ts'
import { PAYMENT_EXTENSION } from './paid-tools.ts'
import { type McpResource, NOTICE, PAYMENT_TEMPLATE, paymentIdIn } from './resources.ts'
import { TOOL_GROUPS } from './tool-groups.ts'
import type { ListedTool } from './tool-list.ts'
import type { Caller } from './tool-outcome.ts'

/** The stateless revision, and those that begin with a handshake, newest first. */
const MODERN_VERSION = '2026-07-28'
const LEGACY_VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05', '2024-10-07']
const SUPPORTED = `(supported: ${[MODERN_VERSION, ...LEGACY_VERSIONS].join(', ')})`

export type Era = 'modern' | 'legacy'

const KEY = 'io.modelcontextprotocol/'
const VERSION_KEY = `${KEY}protocolVersion`
export const CLIENT_CAPABILITIES_META_KEY = `${KEY}clientCapabilities`

/** The name of the MCP server, in its protocol and in every announcement. */
export const SERVER_NAME = 'signal-service'
export const SERVER_TITLE = 'Signal service'

/** A request whose envelope is sound. */
export interface RpcRequest {
  readonly era: Era
  readonly id: RequestId
  readonly method: string
  readonly params: JsonObject
  /** `_meta` of the parameters: what the client is, the trace, a payment. */
  readonly meta: JsonObject
}

const CAPABILITIES = z.record(z.string(), z.looseObject({}).nullable())
const CLIENT = z.looseObject({ name: z.string(), version: z.string() })
const ENVELOPE = z.looseObject({
  _meta: z.looseObject({
    [VERSION_KEY]: z.string(),
    [CLIENT_CAPABILITIES_META_KEY]: CAPABILITIES,
    [`${KEY}clientInfo`]: CLIENT.nullish(),
    [`${KEY}logLevel`]: z
      .enum(['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'])
      .nullish(),
  }),
})
const INITIALIZE = z.looseObject({
  protocolVersion: z.string(),
  capabilities: CAPABILITIES,
  clientInfo: CLIENT,
})
const PAGE = z.looseObject({
  // Every list fits one page, so no answer gave a cursor.
  cursor: z
    .string()
    .nullish()
    .refine((cursor) => typeof cursor !== 'string', 'no list here has a further page'),
})
const READ = z.looseObject({ uri: z.string() })

function check(schema: z.ZodType, params: JsonObject, status = 200): void {
  const { error } = schema.safeParse(params)
  if (error === undefined) return
  const faults = inputFaults(error.issues, 'params', 'this method')
  throw new RpcFault(
    { code: JSON_RPC_CODES.invalidParams, message: `Invalid params: ${faultMessage(faults)}` },
    { status },
  )
}

const MEMBERS: ReadonlySet<string> = new Set(['jsonrpc', 'id', 'method', 'params'])
const NO_PARAMS: JsonObject = {}

/**
 * The request in a message; undefined for a notification or an answer, which nothing comes of.
 *
 * @throws RpcFault
 */
export function readRequest(headers: IncomingHttpHeaders, message: JsonObject): RpcRequest | undefined {
  const { id, method, params: sent } = message
  if (message.jsonrpc !== '2.0') throw invalidRequest('the body is not a JSON-RPC 2.0 message')
  if (method === undefined && ('result' in message || 'error' in message)) return undefined
  const params = sent ?? NO_PARAMS
  if (typeof method !== 'string' || !isJsonObject(params) || (id !== undefined && !isRequestId(id)))
    throw invalidRequest('the body is not a JSON-RPC message')
  const { _meta: sentMeta } = params
  const meta = sentMeta ?? NO_PARAMS
  if (!isJsonObject(meta) || !isRequestId(meta.progressToken ?? 0))
    throw invalidRequest('_meta is not an object, or its progressToken is no id')
  for (const member in message)
    if (!MEMBERS.has(member)) throw invalidRequest(`"${member.slice(0, 64)}" is not part of JSON-RPC`)
  const version = headerOf(headers, 'mcp-protocol-version')
  const claim = isHandshake(method, params) ? undefined : (meta[VERSION_KEY] ?? undefined)
  if (claim === undefined && (version === undefined || version < MODERN_VERSION)) {
    if (version !== undefined && method !== 'initialize' && !LEGACY_VERSIONS.includes(version))
      throw unsupported(version, { code: JSON_RPC_CODES.transport })
    if (id === undefined) return undefined
    return { era: 'legacy', id, method, params, meta }
  }
  if (method === 'initialize' && claim === undefined) throw mismatch(`${method} is not part of ${version}`)
  if (id !== undefined) check(ENVELOPE, params, 400)
  const revision = typeof claim === 'string' ? claim : (version ?? '')
  checkHeaders(headers, { method, params, revision, isRequest: id !== undefined })
  return id === undefined ? undefined : { era: 'modern', id, method, params, meta }
}

/** A client that begins with the handshake may fill a part of the newer envelope. */
const isHandshake = (method: string, params: JsonObject): boolean =>
  method === 'initialize' && !ENVELOPE.safeParse(params).success

/** The parameter that `Mcp-Name` repeats. */
const NAMED_BY: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
}

/** Headers of the stateless revision repeat the message, so that a proxy can route it unread. */
function checkHeaders(
  headers: IncomingHttpHeaders,
  sent: { method: string; params: JsonObject; revision: string; isRequest: boolean },
): void {
  const { method, params, revision, isRequest } = sent
  const version = headerOf(headers, 'mcp-protocol-version')
  const methodHeader = headerOf(headers, 'mcp-method')
  if (version !== undefined && version !== revision)
    throw mismatch(`MCP-Protocol-Version is not ${revision.slice(0, 64)}`)
  if (methodHeader !== undefined && methodHeader !== method)
    throw mismatch(`Mcp-Method is not ${method.slice(0, 64)}`)
  if (revision !== MODERN_VERSION) {
    const data = { supported: [MODERN_VERSION], requested: revision }
    throw unsupported(revision, { code: JSON_RPC_CODES.unsupportedVersion, data })
  }
  if (!isRequest) return
  if (version === undefined) throw mismatch('MCP-Protocol-Version is missing')
  if (methodHeader === undefined) throw mismatch('Mcp-Method is missing')
  const name = Object.hasOwn(NAMED_BY, method) ? params[NAMED_BY[method] ?? ''] : undefined
  if (typeof name !== 'string') return
  const header = headerOf(headers, 'mcp-name')
  if (header === undefined) throw mismatch('Mcp-Name is missing')
  if (decoded(header) !== name) throw mismatch(`Mcp-Name is not ${JSON.stringify(name.slice(0, 256))}`)
}

function headerOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const { [name]: value } = headers
  return typeof value === 'string' ? value.trim() : undefined
}

/** `=?base64?…?=` is for names that a header cannot carry; undefined if it is not base64. */
function decoded(header: string): string | undefined {
  const [, base64] = /^=\?base64\?(.*)\?=$/.exec(header) ?? []
  if (base64 === undefined) return header
  const bytes = Buffer.from(base64, 'base64')
  return bytes.toString('base64') === base64 ? bytes.toString() : undefined
}

const mismatch = (message: string): RpcFault =>
  new RpcFault(
    {
      code: JSON_RPC_CODES.headerMismatch,
      message: `Bad Request: the request headers and body disagree: ${message}`.toWellFormed(),
    },
    { status: 400 },
  )

const unsupported = (version: string, error: { code: number; data?: Json }): RpcFault =>
  new RpcFault(
    {
      ...error,
      message: `Unsupported protocol version: ${version.slice(0, 64).toWellFormed()} ${SUPPORTED}`,
    },
    { status: 400 },
  )

/** Further tools and methods, which a conformance suite asks for by name. */
export interface McpExtension {
  /** Listed after the tools of the service. */
  readonly tools: readonly JsonObject[]
  readonly capabilities: JsonObject
  /** Result or stream of events; undefined leaves the request to the service. @throws RpcFault */
  answer(request: RpcRequest, signal: AbortSignal): JsonObject | Readable | undefined
}

/** Dependencies of the protocol. */
export interface McpCore {
  readonly version: string
  readonly isPaid: boolean
  readonly tools: readonly ListedTool[]
  readonly resources: readonly McpResource[]
  readonly extension: McpExtension | undefined
  /** The state of a payment, for the holder of its id; undefined if nothing is sold. @throws ServiceError `payment_unknown` */
  readonly payment?: ((id: string) => Promise<JsonObject>) | undefined
}

interface Method {
  /** The only era that has it. */
  readonly era?: Era
  readonly params?: z.ZodType
  /** How long a client may keep the result. */
  readonly cached?: JsonObject
  /** The result is the same for every request. */
  readonly isFixed?: boolean
  readonly answer: (params: JsonObject, caller: Caller) => JsonObject | Promise<JsonObject>
}

/** Lists depend on no caller and change with no release of a client. */
const LIST = { params: PAGE, isFixed: true, cached: { ttlMs: 300_000, cacheScope: 'public' } } as const

/** Every method but `tools/call`. */
export function createProtocol(core: McpCore) {
  const serverInfo = { name: SERVER_NAME, title: SERVER_TITLE, version: core.version }
  const capabilities = {
    tools: {},
    resources: {},
    ...(core.isPaid && { extensions: { [PAYMENT_EXTENSION]: {} } }),
    ...core.extension?.capabilities,
  }
  const about = { capabilities, instructions: instructionsFor(core.tools) }
  const methods: Readonly<Record<string, Method>> = {
    initialize: {
      era: 'legacy',
      params: INITIALIZE,
      answer({ protocolVersion: asked }) {
        const [newest] = LEGACY_VERSIONS
        const protocolVersion = LEGACY_VERSIONS.find((version) => version === asked) ?? newest ?? ''
        return { protocolVersion, serverInfo, ...about }
      },
    },
    ping: { era: 'legacy', answer: () => ({}) },
    'server/discover': {
      ...LIST,
      era: 'modern',
      answer: () => ({ supportedVersions: [MODERN_VERSION], ...about }),
    },
    'tools/list': { ...LIST, answer: () => ({ tools: [...core.tools, ...(core.extension?.tools ?? [])] }) },
    'resources/list': {
      ...LIST,
      answer: () => ({ resources: core.resources.map(({ listed }) => listed) }),
    },
    'resources/templates/list': {
      ...LIST,
      answer: () => ({ resourceTemplates: core.payment === undefined ? [] : [PAYMENT_TEMPLATE] }),
    },
    'resources/read': {
      params: READ,
      cached: { ...LIST.cached, ttlMs: 60_000 },
      answer: ({ uri }, caller) => readResource(core, uri as string, caller),
    },
  }
  const serverMeta = { [`${KEY}serverInfo`]: serverInfo }
  const textOf = (era: Era, result: JsonObject, cached?: JsonObject): string =>
    JSON.stringify(
      era === 'legacy' ? result : { resultType: 'complete', ...cached, ...result, _meta: serverMeta },
    )
  const fixed = new Map<string, string>()
  return {
    /** The end of every result of an era. */
    tail: { legacy: '', modern: `,"resultType":"complete","_meta":${JSON.stringify(serverMeta)}` },
    /** The text of a result, or a stream of events. @throws RpcFault */
    async answer(request: RpcRequest, caller: Caller): Promise<string | Readable> {
      const { era, method, params } = request
      const extended = core.extension?.answer(request, caller.signal())
      if (extended !== undefined) return isStream(extended) ? extended : textOf(era, extended)
      const served = Object.hasOwn(methods, method) ? methods[method] : undefined
      if (served === undefined || (served.era ?? era) !== era) throw notFound(request)
      if (served.params !== undefined) check(served.params, params)
      const key = `${era} ${method}`
      const known = fixed.get(key)
      if (known !== undefined) return known
      const text = textOf(era, await served.answer(params, caller), served.cached)
      if (served.isFixed) fixed.set(key, text)
      return text
    },
  }
}

const isStream = (result: JsonObject | Readable): result is Readable => typeof result.pipe === 'function'

/** Nothing here changes, so no stream of changes is opened: a client that asks for one hears so by HTTP too. */
function notFound({ era, method }: RpcRequest): RpcFault {
  const isListening = method === 'subscriptions/listen'
  const reason = isListening ? ': nothing here changes that could be subscribed to' : ''
  const error = { code: JSON_RPC_CODES.methodNotFound, message: `Method not found${reason}` }
  return new RpcFault(error, { status: era === 'modern' || isListening ? 404 : 200 })
}

async function readResource(core: McpCore, uri: string, caller: Caller): Promise<JsonObject> {
  const { payment } = core
  const id = payment === undefined ? undefined : paymentIdIn(uri)
  const read =
    id === undefined ? core.resources.find(({ listed }) => listed.uri === uri)?.read : () => payment?.(id)
  if (read === undefined) {
    const message = `Resource not found: ${uri.slice(0, 256)}`.toWellFormed()
    const data = { uri: uri.slice(0, 256).toWellFormed() }
    throw new RpcFault({ code: JSON_RPC_CODES.invalidParams, message, data })
  }
  try {
    const text = JSON.stringify(await read())
    // A payment is its payer's affair, and changes.
    const cached = id === undefined ? {} : { ttlMs: 0, cacheScope: 'private' }
    return { contents: [{ uri, mimeType: 'application/json', text }], ...cached }
  } catch (error) {
    throw unreadable(error, uri, caller)
  }
}

function unreadable(error: unknown, uri: string, { log, requestId }: Caller): RpcFault {
  if (isServiceError(error) && error.code !== 'internal_error') {
    const { code, message, nextStep } = forCallers(error)
    const data = { code, next_step: nextStep, request_id: requestId }
    return new RpcFault({ code: JSON_RPC_CODES.internalError, message, data })
  }
  log.error({ err: error, request_id: requestId, uri }, 'resource could not be read')
  const data = { request_id: requestId }
  return new RpcFault({ code: JSON_RPC_CODES.internalError, message: 'Internal error', data })
}

/** Every tool that is served, by its use. */
function instructionsFor(served: readonly ListedTool[]): string {
  const groups = TOOL_GROUPS.map(({ use, tools }) => {
    const names = Object.keys(tools).filter((name) => served.some((tool) => tool.name === name))
    return names.length === 0 ? '' : `${use}: ${names.join(', ')}. `
  })
  return `Trade calls (BUY, SELL, HOLD), market regimes, scans and funding arbitrage for coins on the monitored exchanges. Ask scan_trade_calls for what stands out, get_trade_call and get_market_regime for one coin. Confidence is the calibrated probability that the barrier of the called side comes before the other, and lives in 50–60. ${groups.join('')}A refusal names its code and what to do. ${NOTICE}`
}
