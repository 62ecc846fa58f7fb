import type { Json, JsonObject } from '../../../contracts/json.ts'

/** MCP narrows JSON-RPC's ids: text or whole numbers, never null. */
export type RequestId = string | number

/** Codes of JSON-RPC 2.0 and of MCP that this edge answers with itself. */
export const JSON_RPC_CODES = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  /** What HTTP itself refuses: the method, the media type, the size, the origin. */
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

/**
 * The text of an answer with an error.
 *
 * @param id null where the request's own could not be read.
 */
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
