import type { IncomingHttpHeaders } from 'node:http'
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  LOG_LEVEL_META_KEY,
  PROTOCOL_VERSION_META_KEY,
} from '@modelcontextprotocol/server'
import type { Json, JsonObject } from '../../../contracts/json.ts'
import { isJsonObject, isRequestId, type RequestId } from './json-rpc.ts'

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
 * are as clients send them. Whatever is unusual, be it wrong or not, is undefined here and left to the SDK,
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

/** Of each capability, whether it is one of the forms that clients are known to send. */
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
