import {
  createMcpHandler,
  isLegacyRequest,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import type { FastifyBaseLogger } from 'fastify'
import { assert } from '../../contracts/assert.ts'
import { faultMessage, type InputIssue, inputFaults } from '../../contracts/input-faults.ts'
import type { Json, JsonObject } from '../../contracts/json.ts'
import {
  idOf,
  isJsonObject,
  JSON_RPC_CODES,
  LEGACY_VERSIONS,
  MODERN_VERSION,
  type RequestId,
  type RpcError,
  rpcErrorText,
} from './mcp-messages.ts'
import { createProtocolServer, type McpCore } from './protocol-server.ts'
import type { Caller } from './tool-outcome.ts'

/** One message as it came over HTTP. */
export interface Exchange {
  readonly message: JsonObject
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly caller: Caller
  /** Aborted when the client has gone. */
  readonly signal: AbortSignal
}

/** The SDK's way through the protocol, for every message that is not answered on the short way. */
export type SdkExchange = ReturnType<typeof createSdkExchange>

/** Headers that decide how a message is read; nothing else of a request is for the SDK. */
const READ_HEADERS = ['mcp-protocol-version', 'mcp-method', 'mcp-name'] as const
/** Headers of a request for the SDK; the media types were checked before. */
const CHECKED_HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
} as const
const ADDRESS = 'http://localhost/mcp'

/**
 * Both eras through the SDK's low-level server, one server for each message and nothing kept between them.
 * Answers are JSON; only an extension's tools, which say things before they are done, are answered as streams.
 */
export function createSdkExchange(core: McpCore, log: FastifyBaseLogger) {
  const callers = new WeakMap<Request, Caller>()
  const callerOf = (request: Request | undefined): Caller => {
    const caller = request && callers.get(request)
    assert(caller !== undefined, 'an exchange of MCP knows its caller')
    return caller
  }
  // The client gets its fault in the answer; the log keeps it for the operator.
  const note = (error: Error): void => log.debug({ err: error }, 'MCP exchange')
  const modern = createMcpHandler(
    ({ requestInfo }) => createProtocolServer(core, callerOf(requestInfo), modern.notify),
    { legacy: 'reject', maxSubscriptions: MOST_SUBSCRIPTIONS, onerror: note },
  )
  const legacy = async (request: Request, message: JsonObject): Promise<Response> => {
    const server = createProtocolServer(core, callerOf(request), modern.notify)
    Object.assign(server, { onerror: note })
    const isStreamed = core.extension !== undefined && message.method === 'tools/call'
    const transport = new WebStandardStreamableHTTPServerTransport({
      enableJsonResponse: !isStreamed,
      supportedProtocolVersions: LEGACY_VERSIONS,
    })
    await server.connect(transport)
    if (isStreamed) request.signal.addEventListener('abort', () => void server.close(), { once: true })
    try {
      return await transport.handleRequest(request, { parsedBody: message })
    } finally {
      if (!isStreamed) await server.close()
    }
  }
  return {
    async answer({ message, headers, caller, signal }: Exchange): Promise<Response> {
      if (message.method === 'subscriptions/listen' && core.extension === undefined)
        return nothingToListenTo(message)
      const request = new Request(ADDRESS, {
        method: 'POST',
        headers: readHeaders(headers),
        body: '{}',
        signal,
      })
      callers.set(request, caller)
      const { params, ...rest } = message
      const meant = params === undefined || params === null ? rest : { ...rest, params: withoutUnset(params) }
      const isLegacy = await isLegacyRequest(request, meant)
      const response = await (isLegacy
        ? legacy(request, meant)
        : modern.fetch(request, { parsedBody: meant }))
      return inWords(response)
    },
    /** Ends open streams. */
    close: (): Promise<void> => modern.close(),
  }
}

/** Without members that are null, which many clients send for what is unset; what a tool is given is the tool's. */
const withoutUnset = (value: Json): Json =>
  isJsonObject(value)
    ? Object.fromEntries(
        Object.entries(value)
          .filter(([, member]) => member !== null)
          .map(([name, member]) => [name, name === 'arguments' ? member : withoutUnset(member)]),
      )
    : value

const VERSIONS: readonly string[] = [MODERN_VERSION, ...LEGACY_VERSIONS]

/** As either server of the SDK says it. */
const UNSUPPORTED = /^(?:Bad Request: )?Unsupported protocol version: (\S+)/

/**
 * The SDK calls parameters that do not fit an internal error, and answers the whole report of its validator; and each of
 * its two servers names the revisions that it serves itself.
 */
async function inWords(response: Response): Promise<Response> {
  if (response.headers.get('content-type')?.startsWith('application/json') !== true) return response
  const text = await response.text()
  const { status, headers } = response
  const init = { status, headers: { 'content-type': headers.get('content-type') ?? '' } }
  if (!text.includes('"error":{')) return new Response(text, init)
  const answer = JSON.parse(text) as { id: RequestId | null; error?: RpcError }
  const { id, error } = answer
  const [, version] = UNSUPPORTED.exec(error?.message ?? '') ?? []
  if (error !== undefined && version !== undefined) {
    // `data.supported` has to be the list of server/discover, which has the revisions without a handshake.
    const message = `Unsupported protocol version: ${version} (supported: ${VERSIONS.join(', ')})`
    return new Response(rpcErrorText(id, { ...error, message }), init)
  }
  const issues = error?.code === JSON_RPC_CODES.internalError ? issuesIn(error.message) : undefined
  if (issues !== undefined) {
    const faults = inputFaults(issues, 'params', 'this method')
    const message = `Invalid params: ${faultMessage(faults).replaceAll('params.', '')}`
    return new Response(rpcErrorText(id, { code: JSON_RPC_CODES.invalidParams, message }), init)
  }
  return new Response(text, init)
}

/** The report of the validator; undefined for a message in words. */
function issuesIn(message: string): InputIssue[] | undefined {
  if (!message.startsWith('[')) return undefined
  try {
    return JSON.parse(message) as InputIssue[]
  } catch {
    return undefined
  }
}

/** The limit of an extension's subscriptions. */
const MOST_SUBSCRIPTIONS = 16

function readHeaders(headers: Exchange['headers']): Record<string, string> {
  const read: Record<string, string> = { ...CHECKED_HEADERS }
  for (const name of READ_HEADERS) {
    const value = headers[name]
    if (typeof value === 'string') read[name] = value
  }
  return read
}

/** The SDK would open a stream that nothing ever comes on. */
const nothingToListenTo = (message: JsonObject): Response =>
  new Response(
    rpcErrorText(idOf(message), {
      code: JSON_RPC_CODES.methodNotFound,
      message: 'Method not found: nothing here changes that could be subscribed to',
    }),
    { status: 404, headers: { 'content-type': 'application/json' } },
  )
