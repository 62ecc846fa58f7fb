import { isUtf8 } from 'node:buffer'
import { type Json, type JsonObject, jsonFault, parseJson } from '../../contracts/infra/json.ts'
import { LIMITS } from '../../contracts/limits.ts'

/** MCP narrows JSON-RPC's ids: text or safe integers, never null. */
export type RequestId = string | number

/** Codes of JSON-RPC 2.0 and MCP. */
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
  /** Headers that contradict the message. */
  headerMismatch: -32020,
  missingCapability: -32021,
  unsupportedVersion: -32022,
} as const

/** Errors of the request itself, which HTTP says too. */
const BAD_REQUESTS = /^(?:parseError|invalidRequest|transport|headerMismatch|unsupportedVersion)$/

export interface RpcError {
  readonly code: number
  readonly message: string
  readonly data?: Json
}

/** An error of the protocol, with its HTTP status and headers. */
export class RpcFault extends Error {
  readonly error: RpcError
  readonly status: number
  readonly headers: Readonly<Record<string, string>>

  /** @param options.status of HTTP */
  constructor(
    code: keyof typeof JSON_RPC_CODES,
    message: string,
    options: Partial<Pick<RpcFault, 'status' | 'headers'>> & { data?: Json | undefined } = {},
  ) {
    super(message.toWellFormed())
    const { data, status = BAD_REQUESTS.test(code) ? 400 : 200, headers = {} } = options
    this.error = { code: JSON_RPC_CODES[code], message: this.message, ...(data !== undefined && { data }) }
    this.status = status
    this.headers = headers
  }
}

export const rpcErrorText = (id: RequestId | null, error: RpcError): string =>
  `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"error":${JSON.stringify(error)}}`

/** @param resultText JSON */
export const rpcResultText = (id: RequestId, resultText: string): string =>
  `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${resultText}}`

export const isRequestId = (value: unknown): value is RequestId =>
  typeof value === 'string' || Number.isSafeInteger(value)

/** The id that an answer to the message repeats; null if the message has none that can be sent back. */
export const idOf = (message: Json): RequestId | null =>
  isJsonObject(message) && isRequestId(message.id) ? message.id : null

export const isJsonObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * Reads the body of a request as one JSON-RPC message.
 *
 * It refuses bytes that are not UTF-8 or not JSON, nesting past the limit, the key `__proto__`, half characters, and
 * batches: one revision had them, and a batch would be many charges behind one rate limit.
 */
export function readMessage(body: Buffer): JsonObject | RpcFault {
  let value: Json
  try {
    if (!isUtf8(body)) return malformed('the body is not UTF-8')
    value = parseJson(body.toString('utf8')) as Json
  } catch {
    return malformed('the body is not JSON')
  }
  const fault = jsonFault(value, LIMITS.jsonDepth)
  if (fault !== undefined) return invalidRequest(fault)
  if (Array.isArray(value))
    return invalidRequest('batches are not read here; send one message in each request')
  return isJsonObject(value) ? value : invalidRequest('the body is not a JSON-RPC 2.0 message')
}

const malformed = (reason: string): RpcFault => new RpcFault('parseError', `Parse error: ${reason}`)

export const invalidRequest = (reason: string): RpcFault =>
  new RpcFault('invalidRequest', `Invalid Request: ${reason}`)
