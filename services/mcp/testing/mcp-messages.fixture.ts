/** The envelope of the stateless revision, as the official client writes it. */
export const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

export interface Sent {
  readonly headers: Record<string, string>
  readonly payload: string
}

const JSON_HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  host: '127.0.0.1:8402',
}

/** A request of the stateless revision, with the headers that repeat what it says. */
export function modern(method: string, params: object = {}, headers: Record<string, string> = {}): Sent {
  const { name, uri } = params as { name?: unknown; uri?: unknown }
  const named = [name, uri].find((value) => typeof value === 'string')
  return {
    headers: {
      ...JSON_HEADERS,
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(named === undefined ? {} : { 'mcp-name': named }),
      ...headers,
    },
    payload: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { _meta: ENVELOPE, ...params } }),
  }
}

/** A request of the handshake era. */
export const legacy = (method: string, params: object = {}, headers: Record<string, string> = {}): Sent => ({
  headers: { ...JSON_HEADERS, 'mcp-protocol-version': '2025-11-25', ...headers },
  payload: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
})

/** Any body, under the headers of a sound request. */
export const raw = (payload: string, headers: Record<string, string> = {}): Sent => ({
  headers: { ...JSON_HEADERS, ...headers },
  payload,
})
