import { createServer, type Server as HttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, Server } from '@modelcontextprotocol/server'
import fastify from 'fastify'
import type { JsonObject } from '../../contracts/infra/json.ts'
import { createMcpEdge, listen } from '../../services/mcp/testing/mcp-edge.fixture.ts'
import type { CallPath } from '../../services/tool-calls/tool-call.ts'
import { type Load, loadCandidate } from './http-load.ts'
import { type Measured, measure, print, quantile, report } from './measure.ts'

export const BARE = 'bare Fastify POST of the same answer'
const SDK = 'SDK alone, stateless revision'

export interface McpLoadOptions {
  /** The path of tool calls behind the edge: a fake one, or that of the service. */
  readonly calls: CallPath
  /** Measures the SDK alone, too. */
  readonly hasPeer?: boolean
  /** Its answer, for the bare route and the SDK beside it. */
  readonly answer: JsonObject
  readonly authorization?: string
  /** Names who calls, in the titles of the tables; ends with a comma and a space where it is not empty. */
  readonly payers: string
  /** The least share of the bare POST that is asked. */
  readonly floor: number
  readonly connections: readonly number[]
  readonly rounds: number
  readonly seconds: number
}

const CALL = { name: 'get_trade_call', arguments: { coin: 'BTC' } }
const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}
const LEGACY_BODY = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: CALL })
const MODERN_BODY = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { ...CALL, _meta: META },
})
const ACCEPT = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
const MODERN_HEADERS = {
  ...ACCEPT,
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': 'tools/call',
  'mcp-name': 'get_trade_call',
}

interface Target {
  readonly name: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** `tools/call` through the edge in both eras, beside a bare POST of the same answer and, where asked, the SDK alone. */
export async function reportMcpLoad(options: McpLoadOptions): Promise<void> {
  const edge = await createMcpEdge({ calls: options.calls })
  const bare = fastify()
  bare.post('/mcp', async () => options.answer)
  const sdk = sdkServer(options.answer)
  const url = await listen(edge)
  const auth = options.authorization === undefined ? {} : { authorization: options.authorization }
  const targets: Target[] = [
    { name: BARE, url: await listen(bare), headers: { ...ACCEPT, ...auth }, body: LEGACY_BODY },
    { name: 'this edge, handshake era', url, headers: { ...ACCEPT, ...auth }, body: LEGACY_BODY },
    {
      name: 'this edge, stateless revision',
      url,
      headers: { ...MODERN_HEADERS, ...auth },
      body: MODERN_BODY,
    },
    ...(options.hasPeer === true
      ? [{ name: SDK, url: await listenAnywhere(sdk), headers: MODERN_HEADERS, body: MODERN_BODY }]
      : []),
  ]
  for (const connections of options.connections) await reportOne(targets, connections, options)
  await Promise.all([edge.close(), bare.close()])
  sdk.close()
  sdk.closeAllConnections()
}

async function reportOne(
  targets: readonly Target[],
  connections: number,
  options: McpLoadOptions,
): Promise<void> {
  const loads = new Map<string, Load[]>(targets.map(({ name }) => [name, []]))
  const { seconds } = options
  const candidates = targets.map(({ name, ...target }) =>
    loadCandidate(name, { ...target, connections, seconds }, (load) => loads.get(name)?.push(load)),
  )
  const measured: Measured[] = await measure(candidates, options.rounds)
  report(`tools/call, ${options.payers}${connections} connections`, 'requests/s', measured, BARE, {
    'this edge, handshake era': options.floor,
    'this edge, stateless revision': options.floor,
  })
  for (const [name, all] of loads) {
    const middle = (of: (load: Load) => number): number =>
      quantile(
        all.map(of).toSorted((a, b) => a - b),
        0.5,
      )
    const cpu = middle(({ cpuMicros, requests }) => cpuMicros / requests).toFixed(1)
    print(
      `  ${name.padEnd(46)} ${cpu} µs of processor a request, p50 ${middle((l) => l.p50Ms)} ms, p99 ${middle((l) => l.p99Ms)} ms`,
    )
  }
}

/** The SDK on its own with one tool, by its low-level server. */
function sdkServer(answer: JsonObject): HttpServer {
  const handler = createMcpHandler(() => {
    const server = new Server({ name: 'peer', version: '1' }, { capabilities: { tools: {} } })
    server.setRequestHandler('tools/call', () => ({
      content: [{ type: 'text', text: JSON.stringify(answer) }],
      structuredContent: answer,
    }))
    return server
  })
  const listener = toNodeHandler(handler)
  return createServer((request, response) => {
    // The type forgets that a request's method may be undefined.
    void listener(request as Parameters<typeof listener>[0], response)
  })
}

async function listenAnywhere(server: HttpServer): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
}
