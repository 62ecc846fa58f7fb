import { isUtf8 } from 'node:buffer'
import { type Json, type JsonObject, jsonFault } from '../../../contracts/json.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { idOf, isJsonObject, JSON_RPC_CODES, type RequestId, type RpcError } from './json-rpc.ts'

/** The ranges that take in JSON, the most specific first. */
const RANGES = ['application/json', 'application/*', '*/*']

/**
 * Whether an `Accept` header admits JSON (RFC 9110 §12.5.1): the most specific range decides. Clients of MCP
 * name both JSON and event streams; every other caller who would take JSON is served as well.
 *
 * @example acceptsJson('text/html, application/*;q=0.5') && !acceptsJson('text/event-stream')
 */
export function acceptsJson(accept: string | undefined): boolean {
  if (accept === undefined || accept === '*/*' || accept === USUAL) return true
  const parts = accept.toLowerCase().split(',')
  for (const range of RANGES) {
    const part = parts.find((one) => one.split(';', 1)[0]?.trim() === range)
    if (part !== undefined) return !/;\s*q=0(?:\.0{0,3})?\s*(?:;|$)/.test(part)
  }
  return false
}

/** As the official clients send it. */
const USUAL = 'application/json, text/event-stream'

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
    return { value: JSON.parse(text) as Json }
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
