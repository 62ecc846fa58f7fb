import { Client, ProtocolError, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { FastifyInstance } from 'fastify'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { JsonObject } from '../../contracts/infra/json.ts'
import {
  CHAT_ANSWER,
  fakeKnowledgeService,
  SEARCH_ANSWER,
} from '../http/testing/knowledge-service.fixture.ts'
import type { ToolCall } from '../tool-calls/tool-call.ts'
import { createMcpEdge, fakeCalls, KEYS, listen, TRACK_RECORD } from './testing/mcp-edge.fixture.ts'
import { sampleAnswer } from './testing/sample-answers.fixture.ts'

let app: FastifyInstance
let url: string
let asked: ToolCall[]
let clients: Client[]

beforeEach(async () => {
  const calls = fakeCalls()
  asked = calls.asked
  clients = []
  app = await createMcpEdge({ calls: calls.path, knowledge: fakeKnowledgeService().service })
  url = await listen(app)
})
afterEach(async () => {
  await Promise.all(clients.map((client) => client.close()))
  await app.close()
})

const MODES = { modern: { pin: '2026-07-28' }, legacy: 'legacy' } as const

describe.each(Object.entries(MODES))('the official client, %s era', (era, mode) => {
  async function connect(headers: Record<string, string> = {}): Promise<Client> {
    const client = new Client({ name: 'referee', version: '1.0.0' }, { versionNegotiation: { mode } })
    clients.push(client)
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }))
    return client
  }

  test('connects, without a session, and learns who answers', async () => {
    const client = await connect()
    expect(client.getNegotiatedProtocolVersion()).toBe(era === 'modern' ? '2026-07-28' : '2025-11-25')
    expect(client.getServerVersion()).toMatchObject({ name: 'signal-service', version: '1.2.3' })
    expect(Object.keys(client.getServerCapabilities() ?? {}).toSorted()).toEqual(['resources', 'tools'])
    expect(client.getInstructions()).toContain('Information, not advice.')
  })

  test('lists the tools in their order', async () => {
    const { tools } = await (await connect()).listTools()
    expect(tools.map(({ name }) => name)).toEqual([
      'get_trade_call',
      'get_market_regime',
      'scan_trade_calls',
      'scan_funding_arb',
      'search_knowledge',
      'chat_knowledge',
    ])
    expect(tools[0]).toMatchObject({
      title: 'Trade call',
      annotations: { readOnlyHint: true, openWorldHint: true },
      inputSchema: { type: 'object', required: ['coin'], additionalProperties: false },
    })
  })

  test.each([
    ['get_trade_call', { coin: 'BTC' }],
    ['get_market_regime', { coin: 'ETH', timeframe: '1d' }],
    ['scan_trade_calls', {}],
    ['scan_funding_arb', { coins: ['BTC'] }],
  ] as const)('calls %s, and its answer is of the schema that is listed', async (name, args) => {
    const client = await connect({ authorization: 'Bearer good', traceparent: TRACEPARENT })
    // The client checks `structuredContent` against the schema once it has the list.
    await client.listTools()
    const result = await client.callTool({ name, arguments: args })
    expect(result.isError).toBe(false)
    expect(result.structuredContent).toEqual(sampleAnswer(name))
    expect(textOf(result)).toBe(JSON.stringify(result.structuredContent))
    expect(asked).toEqual([
      {
        tool: name,
        request: args,
        authorization: 'Bearer good',
        address: '127.0.0.1',
        idempotencyKey: undefined,
        requestId: expect.stringMatching(/^request-\d+$/) as string,
        channel: 'mcp',
        traceparent: TRACEPARENT,
      },
    ])
  })

  test.each([
    ['get_trade_call', {}, 'coin'],
    ['scan_trade_calls', { top_n: 101 }, 'top_n'],
    ['get_trade_call', { coin: 'BTC', surprise: 1 }, 'surprise'],
  ])('is told which argument of %s is wrong: %j', async (name, args, field) => {
    const result = await (await connect()).callTool({ name, arguments: args })
    expect(result.isError).toBe(true)
    expect(textOf(result)).toMatch(/^MCP error -32602: /)
    expect(textOf(result)).toContain(field)
    expect(result.structuredContent).toMatchObject({ code: 'invalid_request' })
  })

  test('is told which tools there are', async () => {
    const result = await (await connect()).callTool({ name: 'get_rich', arguments: {} })
    expect(result.isError).toBe(true)
    expect(textOf(result)).toMatch(/^MCP error -32602: there is no tool "get_rich"/)
    expect(result.structuredContent).toMatchObject({
      code: 'unknown_tool',
      details: {
        given: 'get_rich',
        available: (await (await connect()).listTools()).tools.map(({ name: one }) => one),
      },
    })
  })

  test('is told which tool was likely meant, and of all in the instructions', async () => {
    const client = await connect()
    const { structuredContent } = await client.callTool({ name: 'search_knowlege', arguments: {} })
    expect(structuredContent).toMatchObject({ details: { did_you_mean: 'search_knowledge' } })
    for (const { name } of (await client.listTools()).tools) expect(client.getInstructions()).toContain(name)
    expect(client.getInstructions()).not.toContain('create_webhook')
  })

  test('searches and asks, finds the answers as their schemas say, and reads why it is refused', async () => {
    const client = await connect({ authorization: 'Bearer key' })
    // It checks every answer against the schemas that it was shown.
    await client.listTools()
    const call = async (name: string, args: JsonObject, of = client) =>
      (await of.callTool({ name, arguments: args })).structuredContent
    expect(await call('search_knowledge', { query: 'quota' })).toEqual(SEARCH_ANSWER)
    expect(await call('chat_knowledge', { question: 'What counts?' })).toEqual(CHAT_ANSWER)
    expect(await call('search_knowledge', { query: 'ab' })).toMatchObject({ code: 'QUERY_TOO_SHORT' })
    const nobody = await connect()
    expect(await call('chat_knowledge', { question: 'What counts?' }, nobody)).toMatchObject({
      code: 'unauthorized',
    })
  })

  test('is told that the quota is used up, and what to do', async () => {
    const client = await connect({ authorization: KEYS.exhausted })
    await client.listTools()
    const result = await client.callTool({ name: 'get_trade_call', arguments: { coin: 'BTC' } })
    expect(result.isError).toBe(true)
    expect(textOf(result)).toMatch(/^quota_exhausted: /)
    expect(result.structuredContent).toMatchObject({
      code: 'quota_exhausted',
      next_step: expect.stringContaining('larger plan') as string,
      details: { limit: 200 },
    })
  })

  test('is told nothing of what fails inside', async () => {
    const client = await connect({ authorization: KEYS.broken })
    const result = await client.callTool({ name: 'get_trade_call', arguments: { coin: 'BTC' } })
    expect(result).toMatchObject({ isError: true, structuredContent: { code: 'internal_error' } })
    expect(JSON.stringify(result)).not.toContain('secret')
  })

  test.each([
    [KEYS.unknown, -32003, false],
    [KEYS.unverifiable, -32004, true],
  ])(
    'with the key %s is refused by an error of the protocol, whatever it asks',
    async (key, code, retryable) => {
      const client = await connectWithoutKeyFirst(key)
      const refusal = { code, data: { retryable } }
      await expect(
        client.callTool({ name: 'get_trade_call', arguments: { coin: 'BTC' } }),
      ).rejects.toMatchObject(refusal)
      await expect(client.listTools()).rejects.toMatchObject(refusal)
      await expect(client.listResources()).rejects.toMatchObject(refusal)
      await expect(client.readResource({ uri: 'signal://service' })).rejects.toBeInstanceOf(ProtocolError)
      expect(asked.length).toBe(1)
      await expect(connect({ authorization: key })).rejects.toThrow()
    },
  )

  test('reads the resources', async () => {
    const client = await connect()
    const { resources } = await client.listResources()
    expect(resources.map(({ uri }) => uri)).toEqual(['signal://service', 'signal://track-record'])
    expect((await client.listResourceTemplates()).resourceTemplates).toEqual([])
    expect(await read(client, 'signal://track-record')).toEqual(TRACK_RECORD)
    expect(await read(client, 'signal://service')).toMatchObject({
      version: '1.2.3',
      market: 'simulated',
      exchanges: ['SIM'],
      timeframes: expect.arrayContaining(['1m', '1d']) as unknown,
      tiers: expect.arrayContaining([
        { tier: 'free', calls_per_window: 200, calls_per_day: 100, window: 'calendar month, UTC' },
      ]) as unknown,
      notice: 'Information, not advice.',
    })
    expect(asked).toEqual([])
  })

  test('is told that a resource does not exist', async () => {
    const client = await connect()
    await expect(client.readResource({ uri: 'signal://nothing' })).rejects.toMatchObject({
      code: -32602,
      data: { uri: 'signal://nothing' },
    })
  })

  /** A client whose key is revoked, or cannot be checked any more, after it connected. */
  async function connectWithoutKeyFirst(key: string): Promise<Client> {
    const headers: Record<string, string> = {}
    const client = new Client({ name: 'referee', version: '1.0.0' }, { versionNegotiation: { mode } })
    clients.push(client)
    const withHeaders: typeof fetch = (input, init) => {
      const all = new Headers(init?.headers)
      for (const [name, value] of Object.entries(headers)) all.set(name, value)
      return fetch(input, { ...init, headers: all })
    }
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { fetch: withHeaders }))
    headers.authorization = key
    return client
  }
})

const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

const textOf = (result: { content: unknown }): string =>
  (result.content as { type: string; text: string }[])[0]?.text ?? ''

async function read(client: Client, uri: string): Promise<unknown> {
  const { contents } = await client.readResource({ uri })
  return JSON.parse((contents[0] as { text: string }).text)
}
