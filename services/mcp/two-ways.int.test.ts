import fc from 'fast-check'
import type { FastifyInstance } from 'fastify'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createMcpEdge } from './testing/mcp-edge.fixture.ts'
import { ENVELOPE, legacy, modern, type Sent } from './testing/mcp-messages.fixture.ts'

/** One edge with the short way, and one where every message takes the SDK's. */
let short: FastifyInstance
let long: FastifyInstance

beforeAll(async () => {
  short = await createMcpEdge()
  long = await createMcpEdge({ hasShortWay: false })
})
afterAll(async () => {
  await short.close()
  await long.close()
})

/** The first value about as often as all the others together. */
const mostly = <T>(first: T, ...others: T[]): fc.Arbitrary<T> =>
  fc.oneof(fc.constant(first), fc.constantFrom(...others))

const capability = fc.oneof(
  fc.constant({}),
  fc.constant({ listChanged: true }),
  fc.constant({ listChanged: 1 }),
  fc.constant({ form: {}, url: {} }),
  fc.constant({ form: { applyDefaults: 'x' } }),
  fc.constant({ tools: {}, context: 1 }),
  fc.constant({ 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html'] } }),
  fc.constant({ 'some/thing': null }),
  fc.constantFrom(null, true, [], 'x'),
)
const capabilities = fc.oneof(
  fc.dictionary(
    fc.constantFrom('roots', 'sampling', 'elicitation', 'extensions', 'experimental', 'tasks', 'constructor'),
    capability,
    { maxKeys: 3 },
  ),
  fc.constantFrom(undefined, null, [], 'all'),
)
const client = fc.constantFrom<unknown>(
  undefined,
  { name: 'test', version: '1' },
  { name: 'test', version: '1', title: 'Test' },
  { name: 'test' },
  { name: 1, version: '1' },
  { name: 'test', version: '1', icons: [{ src: 'x' }] },
  { name: 'test', version: '1', websiteUrl: 7 },
  [],
)
const version = mostly<unknown>('2026-07-28', '2025-11-25', '2030-01-01', 7, undefined)
const envelope = fc
  .tuple(
    version,
    client,
    capabilities,
    mostly<unknown>(undefined, 'info', 'loud'),
    mostly<unknown>(undefined, 1, 'a', 1.5, {}),
  )
  .map(([protocolVersion, info, can, logLevel, progressToken]) => ({
    'io.modelcontextprotocol/protocolVersion': protocolVersion,
    'io.modelcontextprotocol/clientInfo': info,
    'io.modelcontextprotocol/clientCapabilities': can,
    'io.modelcontextprotocol/logLevel': logLevel,
    progressToken,
  }))
const meta = fc.oneof(
  fc.constant(ENVELOPE),
  envelope,
  fc.constantFrom<unknown>(undefined, {}, { progressToken: 2 }, [], 'x'),
)
const header = (right: string) =>
  fc.oneof(
    { weight: 12, arbitrary: fc.constant<string | undefined>(right) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        undefined,
        '',
        ` ${right} `,
        'tools/list',
        'get_market_regime',
        '=?base64?eA==?=',
      ),
    },
  )
const versionHeader = mostly<string | undefined>(
  '2026-07-28',
  undefined,
  '2025-11-25',
  '2025-11-25',
  '2024-10-07',
  '2024-01-01',
  '2030-01-01',
  'latest',
)
const tool = fc.constantFrom('get_trade_call', 'scan_funding_arb', 'get_rich', '=?base64?eA==?=', '')
const args = fc.constantFrom<unknown>(undefined, {}, { coin: 'BTC' }, { coin: 7 }, { coin: 'BTC', more: [1] })
const extra = mostly<object>({}, { extra: 1 }, { id: 1.5 }, { id: 'a' }, { id: null })

const sent: fc.Arbitrary<Sent> = fc
  .record({ meta, tool, args, extra, versionHeader, isCall: fc.boolean() })
  .chain(({ meta: _meta, tool: name, args: given, extra: more, versionHeader: stated, isCall }) => {
    const method = isCall ? 'tools/call' : 'tools/list'
    const params = { _meta, ...(isCall ? { name, arguments: given } : {}) }
    const message = { jsonrpc: '2.0', id: 1, method, params, ...more }
    return fc.tuple(header(method), header(name)).map(([methodHeader, nameHeader]) => {
      const all = {
        ...legacy(method).headers,
        'mcp-protocol-version': stated,
        'mcp-method': methodHeader,
        'mcp-name': nameHeader,
      }
      const headers = Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== undefined)
      return { headers: Object.fromEntries(headers), payload: JSON.stringify(message) }
    })
  })

const through = async (edge: FastifyInstance, { headers, payload }: Sent): Promise<unknown> => {
  const response = await edge.inject({ method: 'POST', url: '/mcp', headers, payload })
  return [response.statusCode, JSON.parse(response.body)]
}

test('the short way gives what the SDK gives, for sound and unsound requests', {
  timeout: 60_000,
}, async () => {
  let sound = 0
  await fc.assert(
    fc.asyncProperty(sent, async (request) => {
      const answers = [await through(short, request), await through(long, request)]
      if ((answers[0] as [number])[0] === 200) sound++
      expect(answers[0]).toEqual(answers[1])
    }),
    { numRuns: 1_500 },
  )
  expect(sound).toBeGreaterThan(100)
})

test.each([modern, legacy])('nothing of the long way is left out of the short: %o', async (request) => {
  for (const params of [
    { name: 'get_trade_call', arguments: { coin: 'BTC' } },
    { name: 'get_trade_call', arguments: {} },
  ]) {
    const message = request('tools/call', params)
    expect(await through(short, message)).toEqual(await through(long, message))
  }
})
