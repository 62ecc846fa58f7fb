import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders } from 'node:http'
import { type Json, type JsonObject, jsonFault, parseJson } from '../../contracts/json.ts'
import { LIMITS } from '../../contracts/limits.ts'

/** Fields of the metadata of a request. The SDK has these names, too, but is loaded with the first message for it. */
export const CLIENT_CAPABILITIES_META_KEY = 'io.modelcontextprotocol/clientCapabilities'
const CLIENT_INFO_META_KEY = 'io.modelcontextprotocol/clientInfo'
const LOG_LEVEL_META_KEY = 'io.modelcontextprotocol/logLevel'
const PROTOCOL_VERSION_META_KEY = 'io.modelcontextprotocol/protocolVersion'

/** The name of the MCP server, in its protocol and in every announcement. */
export const SERVER_NAME = 'signal-service'
export const SERVER_TITLE = 'Signal service'

/** How long lists and resources may be kept; nothing in them depends on who asks. */
export const LISTS_KEPT = { ttlMs: 300_000, cacheScope: 'public' } as const

/** MCP narrows JSON-RPC's ids: text or whole numbers, never null. */
export type RequestId = string | number

/** Codes of JSON-RPC 2.0 and of MCP that this edge answers with itself. */
export const JSON_RPC_CODES = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  /** Refusals by HTTP itself: the method, the media type, the size, the origin. */
  transport: -32000,
  /** A key that does not exist or was revoked. */
  keyUnknown: -32003,
  /** A key that could not be checked; the same request may succeed later. */
  keyUnverifiable: -32004,
} as const

export interface RpcError {
  readonly code: number
  readonly message: string
  readonly data?: Json
}

/** Thrown, it is what the SDK answers. */
export const rpcFault = ({ message, ...fields }: RpcError): Error => Object.assign(new Error(message), fields)

/** The text of an answer with an error. @param id null where the request's own could not be read. */
export const rpcErrorText = (id: RequestId | null, error: RpcError): string =>
  `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"error":${JSON.stringify(error)}}`

/** The text of an answer; `resultText` is JSON already. */
export const rpcResultText = (id: RequestId, resultText: string): string =>
  `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${resultText}}`

/** The schema of MCP takes safe integers only. */
export const isRequestId = (value: unknown): value is RequestId =>
  typeof value === 'string' || Number.isSafeInteger(value)

/** The id to answer a message with; null where it has none that can be sent back. */
export function idOf(message: Json): RequestId | null {
  return isJsonObject(message) && isRequestId(message.id) ? message.id : null
}

export const isJsonObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A message, or why there is none. */
export type Reading =
  | { readonly message: JsonObject; readonly error?: undefined }
  | { readonly error: RpcError; readonly id: RequestId | null; readonly message?: undefined }

/**
 * Reads the body of a request as one JSON-RPC message.
 *
 * Refused are bytes that are not UTF-8 or not JSON, nesting past the limit, the key `__proto__`, half
 * characters, and batches: the revisions since 2025-06-18 know none, and before that no client is known to
 * have sent any.
 */
export function readMessage(body: Buffer): Reading {
  if (!isUtf8(body)) return refused('the body is not UTF-8', JSON_RPC_CODES.parseError)
  const parsed = parse(body.toString('utf8'))
  if (parsed.error !== undefined) return refused(parsed.error, JSON_RPC_CODES.parseError)
  const { value } = parsed
  const fault = jsonFault(value, LIMITS.jsonDepth)
  if (fault !== undefined) return refused(fault, JSON_RPC_CODES.invalidRequest)
  if (Array.isArray(value)) {
    return refused(
      'batches are not read here; send one message in each request',
      JSON_RPC_CODES.invalidRequest,
    )
  }
  if (!isJsonObject(value) || value.jsonrpc !== '2.0') {
    return refused('the body is not a JSON-RPC 2.0 message', JSON_RPC_CODES.invalidRequest, idOf(value))
  }
  return { message: value }
}

function parse(
  text: string,
): { readonly value: Json; readonly error?: undefined } | { readonly error: string } {
  try {
    return { value: parseJson(text) as Json }
  } catch {
    return { error: 'the body is not JSON' }
  }
}

const WORDS: Readonly<Record<number, string>> = {
  [JSON_RPC_CODES.parseError]: 'Parse error',
  [JSON_RPC_CODES.invalidRequest]: 'Invalid Request',
}

const refused = (reason: string, code: number, id: RequestId | null = null): Reading => ({
  error: { code, message: `${WORDS[code]}: ${reason}` },
  id,
})

/** The stateless revision. */
export const MODERN_VERSION = '2026-07-28'
/** Revisions of the handshake that are served. */
export const LEGACY_VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05', '2024-10-07']

export type Era = 'modern' | 'legacy'

/** A request that is certain to be sound in its envelope. */
export interface PlainRequest {
  readonly era: Era
  readonly id: RequestId
  readonly method: 'tools/list' | 'tools/call'
  readonly params: JsonObject
}

const MEMBERS = new Set(['jsonrpc', 'id', 'method', 'params'])
const NO_PARAMS: JsonObject = {}

/**
 * Recognises the requests that need no second look: `tools/list` and `tools/call` whose headers and envelope
 * are as clients send them. An unusual request, be it wrong or not, is undefined here and left to the SDK,
 * which knows every rule; so this may only ever take what the SDK would take too.
 */
export function plainRequest(headers: IncomingHttpHeaders, message: JsonObject): PlainRequest | undefined {
  const { id, method, params = NO_PARAMS } = message
  if (method !== 'tools/call' && method !== 'tools/list') return undefined
  if (!isRequestId(id) || !isJsonObject(params)) return undefined
  for (const member in message) if (!MEMBERS.has(member)) return undefined
  const era = eraOf(headers, method, params)
  return era && { era, id, method, params }
}

function eraOf(headers: IncomingHttpHeaders, method: string, params: JsonObject): Era | undefined {
  const version = headers['mcp-protocol-version']
  const { _meta: meta } = params
  if (meta === undefined) return isLegacy(version) ? 'legacy' : undefined
  if (!isJsonObject(meta)) return undefined
  const { progressToken } = meta
  if (progressToken !== undefined && !isRequestId(progressToken)) return undefined
  if (!(PROTOCOL_VERSION_META_KEY in meta)) return isLegacy(version) ? 'legacy' : undefined
  const isModern =
    version === MODERN_VERSION &&
    meta[PROTOCOL_VERSION_META_KEY] === MODERN_VERSION &&
    headers['mcp-method'] === method &&
    isNamed(headers['mcp-name'], method, params.name) &&
    isPlainClient(meta[CLIENT_INFO_META_KEY]) &&
    arePlainCapabilities(meta[CLIENT_CAPABILITIES_META_KEY]) &&
    meta[LOG_LEVEL_META_KEY] === undefined
  return isModern ? 'modern' : undefined
}

const isLegacy = (version: unknown): boolean =>
  version === undefined || (typeof version === 'string' && LEGACY_VERSIONS.includes(version))

/** `Mcp-Name` repeats the name of the tool; `=?base64?…?=` is for names that headers cannot carry, and none is. */
const isNamed = (header: unknown, method: string, name: Json | undefined): boolean =>
  method === 'tools/list' ||
  (typeof name === 'string' ? header === name && !name.startsWith('=?') : header === undefined)

const isPlainClient = (client: Json | undefined): boolean =>
  client === undefined ||
  (isJsonObject(client) &&
    typeof client.name === 'string' &&
    typeof client.version === 'string' &&
    Object.values(client).every((value) => typeof value === 'string'))

/** Whether each capability has one of the forms that clients are known to send. */
const CAPABILITIES: Readonly<Record<string, (value: JsonObject) => boolean>> = {
  roots: ({ listChanged, ...rest }) =>
    (listChanged === undefined || typeof listChanged === 'boolean') && Object.keys(rest).length === 0,
  sampling: (value) => Object.values(value).every(isJsonObject),
  elicitation: ({ form = {}, url = {}, ...rest }) =>
    isEmpty(form) && isEmpty(url) && Object.keys(rest).length === 0,
  extensions: (value) => Object.values(value).every(isJsonObject),
  experimental: (value) => Object.values(value).every(isJsonObject),
}

const arePlainCapabilities = (capabilities: Json | undefined): boolean =>
  isJsonObject(capabilities) &&
  Object.entries(capabilities).every(
    ([name, value]) =>
      isJsonObject(value) && Object.hasOwn(CAPABILITIES, name) && CAPABILITIES[name]?.(value),
  )

const isEmpty = (value: Json): boolean => isJsonObject(value) && Object.keys(value).length === 0
