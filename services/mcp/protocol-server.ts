import {
  type Implementation,
  type ListResourcesResult,
  type ListToolsResult,
  ProtocolError,
  type ReadResourceResult,
  ResourceNotFoundError,
  Server,
  type ServerCapabilities,
} from '@modelcontextprotocol/server'
import { forCallers, isServiceError } from '../../contracts/errors.ts'
import type { Json, JsonObject } from '../../contracts/json.ts'
import { callTool, type ToolPaths } from './call-tool.ts'
import { JSON_RPC_CODES, LISTS_KEPT } from './mcp-messages.ts'
import { PAYMENT_EXTENSION, paymentLines } from './paid-tools.ts'
import { servedPrompts } from './prompts.ts'
import { type McpResource, NOTICE } from './resources.ts'
import { TOOL_GROUPS } from './tool-groups.ts'
import type { ListedTool } from './tool-list.ts'
import type { Caller, ToolOutcome } from './tool-outcome.ts'
import { toolResult } from './tool-result.ts'
import { WATCH_TEMPLATES } from './watch-uris.ts'

/** Dependencies that every exchange of this edge shares. */
export interface McpCore {
  readonly info: Implementation
  readonly paths: ToolPaths
  readonly tools: readonly ListedTool[]
  readonly resources: readonly McpResource[]
  readonly extension: McpExtension | undefined
  /** Whether verdicts can be listened to. */
  readonly hasListening?: boolean
  /** The state of a payment, for the holder of its id; undefined where nothing is paid for. @throws ServiceError `payment_unknown` */
  readonly payment?: ((id: string) => Promise<JsonObject>) | undefined
}

/** Further tools, resources and prompts on the same edge: how a conformance suite finds the ones it names. */
export interface McpExtension {
  /** Listed after the tools of the service. */
  readonly tools: ListToolsResult['tools']
  readonly capabilities: ServerCapabilities
  /** Sets handlers of its own on the server of one exchange; what they do not know they leave to `base`. */
  install(server: Server, base: McpBase): void
}

/** The methods that the service itself answers. */
export interface McpBase {
  readonly callTool: (name: string, request: Json, payment?: readonly string[]) => Promise<ToolOutcome>
  readonly listResources: () => ListResourcesResult
  readonly readResource: (uri: string) => Promise<ReadResourceResult>
  readonly announce: Announcer
}

/** Tells open subscriptions that a list has changed. */
export interface Announcer {
  toolsChanged(): void
  promptsChanged(): void
}

/** Every tool that is served, by its use. */
const instructionsFor = (served: readonly { readonly name: string }[]): string => {
  const groups = TOOL_GROUPS.map(({ use, tools }) => {
    const names = Object.keys(tools).filter((name) => served.some((tool) => tool.name === name))
    return names.length === 0 ? '' : `${use}: ${names.join(', ')}. `
  })
  return `Trade calls (BUY, SELL, HOLD), market regimes, scans and funding arbitrage for coins on the monitored exchanges. Ask scan_trade_calls for what stands out, get_trade_call and get_market_regime for one coin. Confidence is the calibrated probability that the barrier of the called side comes before the other, and lives in 50–60. ${groups.join('')}A refusal names its code and what to do. ${NOTICE}`
}

/** The SDK's server for one exchange: it knows the protocol, this file knows the service. */
export function createProtocolServer(core: McpCore, caller: Caller, announce: Announcer): Server {
  const server = new Server(core.info, {
    capabilities: {
      tools: {},
      resources: {},
      prompts: {},
      ...(core.paths.paid !== undefined && { extensions: { [PAYMENT_EXTENSION]: {} } }),
      ...core.extension?.capabilities,
    },
    instructions: instructionsFor(core.tools),
    cacheHints: {
      'tools/list': LISTS_KEPT,
      'resources/list': LISTS_KEPT,
      'prompts/list': LISTS_KEPT,
      'resources/templates/list': LISTS_KEPT,
      'server/discover': LISTS_KEPT,
      'resources/read': { ...LISTS_KEPT, ttlMs: 60_000 },
    },
  })
  const base = createBase(core, caller, announce)
  server.setRequestHandler('tools/list', ({ params }) => {
    refuseCursor(params?.cursor)
    return { tools: [...core.tools, ...(core.extension?.tools ?? [])] }
  })
  server.setRequestHandler('tools/call', async ({ params }) => {
    const { name, arguments: request = {}, _meta: meta } = params
    return toolResult(
      await base.callTool(name, request as Json, paymentLines(meta as JsonObject | undefined)),
    )
  })
  server.setRequestHandler('resources/list', ({ params }) => {
    refuseCursor(params?.cursor)
    return base.listResources()
  })
  server.setRequestHandler('resources/templates/list', ({ params }) => {
    refuseCursor(params?.cursor)
    const watched = core.hasListening === true ? WATCH_TEMPLATES : []
    return { resourceTemplates: [...watched, ...(core.payment === undefined ? [] : [PAYMENT_TEMPLATE])] }
  })
  const prompts = servedPrompts(core.tools)
  server.setRequestHandler('prompts/list', ({ params }) => {
    refuseCursor(params?.cursor)
    return { prompts: prompts.list }
  })
  server.setRequestHandler('prompts/get', ({ params }) => prompts.get(params.name, params.arguments))
  server.setRequestHandler('resources/read', ({ params }) => base.readResource(params.uri))
  core.extension?.install(server, base)
  return server
}

function createBase(core: McpCore, caller: Caller, announce: Announcer): McpBase {
  return {
    announce,
    callTool: (name, request, payment) => callTool(core.paths, caller, { name, request, payment }),
    listResources: () => ({ resources: core.resources.map(listed) }),
    async readResource(uri) {
      const payment = paymentAt(uri, core)
      const resource = payment ?? core.resources.find((one) => one.uri === uri)
      if (resource === undefined) throw new ResourceNotFoundError(uri.slice(0, 256).toWellFormed())
      const text = JSON.stringify(await readSafely({ ...resource, uri }, caller))
      return { contents: [{ uri, mimeType: JSON_TYPE, text }], ...(payment && NOT_KEPT) }
    },
  }
}

const JSON_TYPE = 'application/json'
/** A payment is its payer's affair, and changes. */
const NOT_KEPT = { ttlMs: 0, cacheScope: 'private' } as const

/** As a template of RFC 6570. */
const PAYMENT_TEMPLATE = {
  uriTemplate: 'signal://payments/{id}',
  name: 'payment',
  title: 'A payment',
  description:
    'Where a payment stands, by `_service.payment.id` of its answer: whether it is settled, and what was sent back of it.',
  mimeType: JSON_TYPE,
} as const

const PAYMENT_URI = /^signal:\/\/payments\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/

/** The payment at an address of {@link PAYMENT_TEMPLATE}; undefined for another address. */
function paymentAt(uri: string, { payment }: McpCore): Pick<McpResource, 'read'> | undefined {
  const [, id] = PAYMENT_URI.exec(uri) ?? []
  return id === undefined || payment === undefined ? undefined : { read: () => payment(id) }
}

const listed = ({ uri, name, title, description, mimeType }: McpResource) => ({
  uri,
  name,
  title,
  description,
  mimeType,
})

async function readSafely(
  resource: Pick<McpResource, 'uri' | 'read'>,
  { log, requestId }: Caller,
): Promise<Json> {
  try {
    return await resource.read()
  } catch (error) {
    if (isServiceError(error) && error.code !== 'internal_error') {
      const { code, message, nextStep } = forCallers(error)
      throw new ProtocolError(JSON_RPC_CODES.internalError, message, {
        code,
        next_step: nextStep,
        request_id: requestId,
      })
    }
    log.error({ err: error, request_id: requestId, uri: resource.uri }, 'resource could not be read')
    throw new ProtocolError(JSON_RPC_CODES.internalError, 'Internal error', { request_id: requestId })
  }
}

/** Every list fits one page, so no page before it gave a cursor. */
function refuseCursor(cursor: string | undefined): void {
  if (cursor === undefined) return
  throw new ProtocolError(JSON_RPC_CODES.invalidParams, 'Invalid params: no list here has a further page')
}
