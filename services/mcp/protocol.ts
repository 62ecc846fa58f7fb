import type { IncomingHttpHeaders } from 'node:http'
import { z } from 'zod'
import { faultMessage, inputFaults } from '../../contracts/infra/input-faults.ts'
import type { JsonObject } from '../../contracts/infra/json.ts'
import type { Caller } from './call-tool.ts'
import { invalidRequest, isJsonObject, isRequestId, type RequestId, RpcFault } from './jsonrpc.ts'
import { LISTED_RESOURCES, type McpResourceSources, NOTICE, readResource } from './resources.ts'
import { type ListedTool, TOOL_GROUPS } from './tools.ts'

/** The stateless revision, and those that begin with a handshake, newest first. */
const MODERN_VERSION = '2026-07-28'
const LEGACY_VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05', '2024-10-07']
const SUPPORTED = `(supported: ${[MODERN_VERSION, ...LEGACY_VERSIONS].join(', ')})`

type Era = 'modern' | 'legacy'

const KEY = 'io.modelcontextprotocol/'
const VERSION_KEY = `${KEY}protocolVersion`
export const CLIENT_CAPABILITIES_META_KEY = `${KEY}clientCapabilities`
/** Clients that name it get the price by a result of its own type. */
const PAYMENT_EXTENSION = 'org.x402/payment'

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
  const faults = faultMessage(inputFaults(error.issues, 'params', 'this method'))
  throw new RpcFault('invalidParams', `Invalid params: ${faults}`, { status })
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
  // A client that begins with the handshake may fill a part of the newer envelope.
  const isHandshake = method === 'initialize' && !ENVELOPE.safeParse(params).success
  const claim = isHandshake ? undefined : (meta[VERSION_KEY] ?? undefined)
  if (claim === undefined && (version === undefined || version < MODERN_VERSION)) {
    if (version !== undefined && method !== 'initialize' && !LEGACY_VERSIONS.includes(version))
      throw unsupported('transport', version)
    return id === undefined ? undefined : { era: 'legacy', id, method, params, meta }
  }
  if (method === 'initialize' && claim === undefined) throw mismatch(`${method} is not part of ${version}`)
  if (id !== undefined) check(ENVELOPE, params, 400)
  const revision = typeof claim === 'string' ? claim : (version ?? '')
  // Where the header names another one, that is said below.
  if (revision !== MODERN_VERSION && (version ?? revision) === revision)
    throw unsupported('unsupportedVersion', revision, { supported: [MODERN_VERSION], requested: revision })
  const request = id === undefined ? undefined : ({ era: 'modern', id, method, params, meta } as const)
  checkHeaders(headers, revision, method, request)
  return request
}

/** The parameter that `Mcp-Name` repeats. */
const NAMED_BY = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
])

/**
 * Headers of the stateless revision repeat the message, so that a proxy can route it unread.
 *
 * @param request undefined for a notification, which may leave them out
 */
function checkHeaders(headers: IncomingHttpHeaders, revision: string, method: string, request?: RpcRequest) {
  const named = NAMED_BY.get(method)
  const name = named === undefined ? undefined : request?.params[named]
  const repeated = [
    ['MCP-Protocol-Version', revision, headerOf(headers, 'mcp-protocol-version')],
    ['Mcp-Method', method, headerOf(headers, 'mcp-method')],
    ['Mcp-Name', name, decoded(headerOf(headers, 'mcp-name'))],
  ] as const
  for (const [header, text, found] of repeated) {
    if (typeof text !== 'string' || found === text) continue
    if (found !== undefined) throw mismatch(`${header} is not ${JSON.stringify(text.slice(0, 256))}`)
    if (request !== undefined) throw mismatch(`${header} is missing`)
  }
}

function headerOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const { [name]: value } = headers
  return typeof value === 'string' ? value.trim() : undefined
}

/** `=?base64?…?=` is for names that a header cannot carry. */
function decoded(header: string | undefined): string | undefined {
  const [, base64] = /^=\?base64\?(.*)\?=$/.exec(header ?? '') ?? []
  if (base64 === undefined) return header
  const bytes = Buffer.from(base64, 'base64')
  // Text that is no base64 names nothing.
  return bytes.toString('base64') === base64 ? bytes.toString() : ''
}

const mismatch = (message: string): RpcFault =>
  new RpcFault('headerMismatch', `Bad Request: the request headers and body disagree: ${message}`)

const unsupported = (code: 'transport' | 'unsupportedVersion', version: string, data?: JsonObject) =>
  new RpcFault(code, `Unsupported protocol version: ${version.slice(0, 64)} ${SUPPORTED}`, { data })

/** The client says that it knows results that are offers. */
export function takesOffers({
  era,
  meta: { [CLIENT_CAPABILITIES_META_KEY]: capabilities },
}: RpcRequest): boolean {
  const { extensions } = isJsonObject(capabilities) ? capabilities : {}
  return era === 'modern' && isJsonObject(extensions) && Object.hasOwn(extensions, PAYMENT_EXTENSION)
}

type Method = (request: RpcRequest, caller: Caller) => string | Promise<string>

const LISTS_CACHED = { ttlMs: 300_000, cacheScope: 'public' }

/** Answers every method but `tools/call`. */
export function createProtocol(sources: McpResourceSources, tools: readonly ListedTool[], isPaid: boolean) {
  const serverInfo = { name: SERVER_NAME, title: SERVER_TITLE, version: sources.version }
  const serverMeta = { [`${KEY}serverInfo`]: serverInfo }
  const about = {
    capabilities: {
      tools: {},
      resources: {},
      ...(isPaid && { extensions: { [PAYMENT_EXTENSION]: {} } }),
    },
    instructions: instructionsFor(tools),
  }
  const textOf = (era: Era, result: JsonObject, cached?: JsonObject): string =>
    JSON.stringify(
      era === 'legacy' ? result : { resultType: 'complete', ...cached, ...result, _meta: serverMeta },
    )
  /** A list depends on no caller, so its text is made once. */
  const list = (result: JsonObject): Method => {
    const texts = { legacy: textOf('legacy', result), modern: textOf('modern', result, LISTS_CACHED) }
    return ({ era, params }) => {
      check(PAGE, params)
      return texts[era]
    }
  }
  const initialize: Method = ({ params }) => {
    check(INITIALIZE, params)
    const [newest = ''] = LEGACY_VERSIONS
    const protocolVersion = LEGACY_VERSIONS.find((one) => one === params.protocolVersion) ?? newest
    return textOf('legacy', { protocolVersion, serverInfo, ...about })
  }
  const read: Method = async ({ era, params }, caller) => {
    check(READ, params)
    const names = tools.map(({ name }) => name)
    const result = await readResource(sources, names, params.uri as string, caller)
    return textOf(era, result, { ...LISTS_CACHED, ttlMs: 60_000 })
  }
  const shared = {
    'tools/list': list({ tools }),
    'resources/list': list({ resources: LISTED_RESOURCES }),
    'resources/templates/list': list({ resourceTemplates: [] }),
    'resources/read': read,
  }
  const discover = list({ supportedVersions: [MODERN_VERSION], ...about })
  const methods: Readonly<Record<Era, ReadonlyMap<string, Method>>> = {
    legacy: new Map(Object.entries<Method>({ ...shared, initialize, ping: () => '{}' })),
    modern: new Map(Object.entries<Method>({ ...shared, 'server/discover': discover })),
  }
  return {
    /** The end of every result of an era. */
    tail: { legacy: '', modern: `,"resultType":"complete","_meta":${JSON.stringify(serverMeta)}` },
    /** The text of a result. @throws RpcFault */
    async answer(request: RpcRequest, caller: Caller): Promise<string> {
      const { era, method } = request
      const own = methods[era].get(method)
      if (own !== undefined) return own(request, caller)
      // No stream of changes is opened: a client that asks for one hears so by HTTP too.
      const isListening = method === 'subscriptions/listen'
      const reason = isListening ? ': nothing here changes that could be subscribed to' : ''
      const status = era === 'modern' || isListening ? 404 : 200
      throw new RpcFault('methodNotFound', `Method not found${reason}`, { status })
    },
  }
}

/** Every tool that is served, by its use. */
function instructionsFor(served: readonly ListedTool[]): string {
  const groups = TOOL_GROUPS.map(({ use, tools }) => {
    const names = Object.keys(tools).filter((name) => served.some((tool) => tool.name === name))
    return names.length === 0 ? '' : `${use}: ${names.join(', ')}. `
  })
  return `Trade calls (BUY, SELL, HOLD), market regimes, scans and funding arbitrage for coins on the monitored exchanges. Ask scan_trade_calls for what stands out, get_trade_call and get_market_regime for one coin. Confidence is the calibrated probability that the barrier of the called side comes before the other, and lives in 50–60. ${groups.join('')}A refusal names its code and what to do. ${NOTICE}`
}
