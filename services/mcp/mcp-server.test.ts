import type { FastifyInstance, LightMyRequestResponse } from 'fastify'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ServiceError } from '../../contracts/errors/errors.ts'
import { fakeKnowledgeService } from '../http/testing/knowledge-service.fixture.ts'
import type { ToolCall } from '../tool-calls/tool-call.ts'
import { createMcpEdge, fakeCalls, KEYS } from './testing/mcp-edge.fixture.ts'
import { ENVELOPE, legacy, modern, raw, type Sent } from './testing/mcp-messages.fixture.ts'

let app: FastifyInstance
let asked: ToolCall[]

beforeEach(async () => {
  const calls = fakeCalls()
  asked = calls.asked
  app = await createMcpEdge({ calls: calls.path })
})
afterEach(() => app.close())

const post = ({ headers, payload }: Sent): Promise<LightMyRequestResponse> =>
  app.inject({ method: 'POST', url: '/mcp', headers, payload })

const SERVED_VERSIONS = '2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05, 2024-10-07'
const CALL = { name: 'get_trade_call', arguments: { coin: 'BTC' } }
const ERAS = { modern, legacy }

describe.each(Object.entries(ERAS))('%s era', (era, request) => {
  test('answers a tool call as JSON, with the same JSON as text', async () => {
    const response = await post(request('tools/call', CALL))
    expect(response.statusCode).toBe(200)
    expect(response.headers['content-type']).toBe('application/json; charset=utf-8')
    expect(response.headers['cache-control']).toBe('no-store')
    const { result, id } = response.json()
    expect(id).toBe(1)
    expect(result).toMatchObject({ isError: false, structuredContent: { call: 'SELL', coin: 'BTC' } })
    expect(JSON.parse(result.content[0].text)).toEqual(result.structuredContent)
    expect(result.resultType).toBe(era === 'modern' ? 'complete' : undefined)
    const { _meta: meta } = result
    expect(meta?.['io.modelcontextprotocol/serverInfo']?.name).toBe(
      era === 'modern' ? 'signal-service' : undefined,
    )
  })

  test.each(['−1 é 😀', '"\\u2212"', 'plain'])(
    'answers with the id %s and a text of any characters',
    async (id) => {
      const sent = request('tools/call', { ...CALL, name: 'get_trade_−call' })
      const response = await post({
        ...sent,
        payload: sent.payload.replace('"id":1', `"id":${JSON.stringify(id)}`),
      })
      expect(response.json().id).toBe(id)
      expect(response.headers['content-length']).toBe(String(response.rawPayload.length))
      expect(JSON.stringify(response.json())).toContain('get_trade_−call')
    },
  )

  test('takes a tool by the name that others give it, and lists it once', async () => {
    const response = await post(request('tools/call', { ...CALL, name: 'get_trade_signal' }))
    expect(response.json().result).toMatchObject({ isError: false, structuredContent: { call: 'SELL' } })
    expect(asked.map(({ tool }) => tool)).toEqual(['get_trade_call'])
    expect((await post(request('tools/list'))).body).not.toContain('get_trade_signal')
  })

  test('lists tools, to be kept in the stateless revision', async () => {
    const { result } = (await post(request('tools/list'))).json()
    expect(result.tools).toHaveLength(4)
    expect(result.ttlMs).toBe(era === 'modern' ? 300_000 : undefined)
    expect(result.cacheScope).toBe(era === 'modern' ? 'public' : undefined)
  })

  test.each(['unknown_timeframe', 'unknown_coin', 'unknown_exchange'] as const)(
    'says %s as arguments that do not fit, with the code of the protocol',
    async (code) => {
      await app.close()
      app = await createMcpEdge({ calls: { call: () => Promise.reject(new ServiceError(code)) } })
      const { result } = (await post(request('tools/call', CALL))).json()
      expect(result.isError).toBe(true)
      expect(result.content[0].text).toMatch(new RegExp(`^MCP error -32602: ${code}: `))
      expect(result.structuredContent.code).toBe(code)
    },
  )

  test.each([KEYS.unknown, KEYS.unverifiable])(
    'refuses every method with the key %s, as 200',
    async (key) => {
      const code = key === KEYS.unknown ? -32003 : -32004
      const methods: [string, object][] = [
        ['tools/call', CALL],
        ['tools/list', {}],
        ['resources/list', {}],
        ['resources/read', { uri: 'signal://service' }],

        ['no/such/method', {}],
        era === 'modern' ? ['server/discover', {}] : ['initialize', INITIALIZE],
      ] as const
      for (const [method, params] of methods) {
        const response = await post(request(method, params, { authorization: key }))
        expect(response.statusCode, method).toBe(200)
        expect(response.headers['www-authenticate']).toBeUndefined()
        expect(response.json(), method).toMatchObject({
          id: 1,
          error: { code, data: { retryable: code === -32004, request_id: expect.any(String) as string } },
        })
      }
      expect(asked).toHaveLength(1)
    },
  )

  test('refuses arguments of the wrong kind in the result, whatever their type', async () => {
    for (const params of [{ name: 'get_trade_call', arguments: [] }, { name: 7 }, { arguments: {} }]) {
      const response = await post(request('tools/call', params))
      expect(response.statusCode).toBe(200)
      const { result } = response.json()
      expect(result.isError).toBe(true)
      expect(result.content[0].text).toMatch(/^MCP error -32602: /)
    }
  })

  test('hands on the idempotency key, and says when nothing was charged', async () => {
    const sent = request('tools/call', CALL, { 'idempotency-key': 'once' })
    const [first, second] = [await post(sent), await post(sent)]
    expect(asked.map(({ idempotencyKey }) => idempotencyKey)).toEqual(['once', 'once'])
    expect(first.headers['idempotency-replayed']).toBeUndefined()
    expect(second.headers['idempotency-replayed']).toBe('true')
  })

  test('takes notifications, and calls nothing for them', async () => {
    const { headers } = request('notifications/cancelled')
    const payload = JSON.stringify({
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: 1 },
    })
    const response = await post({ headers: { ...headers, authorization: KEYS.unknown }, payload })
    expect([response.statusCode, response.body]).toEqual([202, ''])
    expect(asked).toEqual([])
  })

  test('knows no other methods, and no subscriptions', async () => {
    const status = era === 'modern' ? 404 : 200
    for (const method of ['no/such/method', 'resources/subscribe']) {
      const response = await post(request(method, { uri: 'signal://service' }))
      expect([response.statusCode, response.json().error.code], method).toEqual([status, -32601])
    }
    const listen = await post(request('subscriptions/listen', { notifications: { toolsListChanged: true } }))
    expect([listen.statusCode, listen.json().error.code]).toEqual([404, -32601])
  })

  test('has no second page of any list', async () => {
    for (const method of ['tools/list', 'resources/list', 'resources/templates/list']) {
      const { error } = (await post(request(method, { cursor: 'next' }))).json()
      expect(error.code, method).toBe(-32602)
    }
  })

  test.each(['text', '', 0, -7, Number.MAX_SAFE_INTEGER, '\u0000"\\'])('sends back the id %j', async (id) => {
    const sent = request('tools/list')
    const payload = JSON.stringify({ ...JSON.parse(sent.payload), id })
    expect((await post({ ...sent, payload })).json().id).toBe(id)
  })

  test.each([null, true, [1], { a: 1 }, 1.5, 2 ** 60])('refuses the id %j', async (id) => {
    const sent = request('tools/call', CALL)
    const payload = JSON.stringify({ ...JSON.parse(sent.payload), id })
    const response = await post({ ...sent, payload })
    expect(response.statusCode).toBe(400)
    expect(response.json().error.code).toBe(-32600)
    expect(asked).toEqual([])
  })
})

describe('the stateless revision', () => {
  test.each([
    ['another method in the header', { 'mcp-method': 'tools/list' }],
    ['the method in other letters', { 'mcp-method': 'Tools/Call' }],
    ['another tool in the header', { 'mcp-name': 'get_market_regime' }],
    ['another revision in the header', { 'mcp-protocol-version': '2025-11-25' }],
    ['a name that is not base64', { 'mcp-name': '=?base64?%%%?=' }],
  ])('refuses %s', async (_, headers) => {
    const response = await post(modern('tools/call', CALL, headers))
    expect([response.statusCode, response.json()]).toMatchObject([400, { id: 1, error: { code: -32020 } }])
    expect(asked).toEqual([])
  })

  test.each(['mcp-method', 'mcp-name', 'mcp-protocol-version'])(
    'refuses a request without %s',
    async (name) => {
      const { headers, payload } = modern('tools/call', CALL)
      const { [name]: _, ...rest } = headers
      const response = await post({ headers: rest, payload })
      expect([response.statusCode, response.json().error.code]).toEqual([400, -32020])
    },
  )

  test('takes the name in base64 and with spaces around it', async () => {
    const encoded = `=?base64?${Buffer.from('get_trade_call').toString('base64')}?=`
    for (const name of [encoded, '  get_trade_call ']) {
      const response = await post(modern('tools/call', CALL, { 'mcp-name': name }))
      expect(response.json().result.isError, name).toBe(false)
    }
  })

  test('refuses revisions it does not know, and says which it does', async () => {
    const version = '2030-01-01'
    const meta = { ...ENVELOPE, 'io.modelcontextprotocol/protocolVersion': version }
    const response = await post(
      modern('tools/call', { ...CALL, _meta: meta }, { 'mcp-protocol-version': version }),
    )
    expect([response.statusCode, response.json()]).toMatchObject([
      400,
      { error: { code: -32022, data: { requested: version, supported: ['2026-07-28'] } } },
    ])
    const handshake = await post(legacy('tools/list', {}, { 'mcp-protocol-version': '1999-01-01' }))
    expect(handshake.statusCode).toBe(400)
    for (const one of [response, handshake])
      expect(one.json().error.message).toContain(`(supported: ${SERVED_VERSIONS})`)
  })

  test.each([
    ['initialize', undefined, 'is missing'],
    ['initialize', { protocolVersion: '2025-06-18', capabilities: {} }, 'clientInfo: is missing'],
    ['resources/read', { uri: 5 }, 'uri: expected string, received number'],
    ['resources/list', { cursor: 5 }, 'cursor: expected string, received number'],
    ['tools/list', { cursor: 5 }, 'cursor: expected string, received number'],
  ])('says in one line what does not fit in %s with %j', async (method, params, fault) => {
    const sent = raw(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))
    const response = await post(sent)
    expect(response.json().error).toEqual({
      code: -32602,
      message: expect.stringMatching(/^Invalid params: .*$/),
    })
    expect(response.json().error.message).toContain(fault)
  })

  test.each([
    ['initialize', { title: null }, {}],
    ['initialize', {}, { sampling: null }],
  ])('takes what is null in %s for left out: %j %j', async (method, client, capabilities) => {
    const clientInfo = { name: 'x', version: '1', ...client }
    const response = await post(legacy(method, { protocolVersion: '2025-06-18', capabilities, clientInfo }))
    expect(response.json().result.protocolVersion).toBe('2025-06-18')
  })

  test('takes a byte order mark before a message', async () => {
    const sent = legacy('ping')
    const response = await post({ ...sent, payload: `\uFEFF${sent.payload}` })
    expect(response.json()).toMatchObject({ result: {} })
  })

  test.each(['io.modelcontextprotocol/clientCapabilities', 'io.modelcontextprotocol/protocolVersion'])(
    'refuses an envelope without %s',
    async (key) => {
      const meta = Object.fromEntries(Object.entries(ENVELOPE).filter(([name]) => name !== key))
      const response = await post(modern('tools/call', { ...CALL, _meta: meta }))
      expect([response.statusCode, response.json().error.code]).toEqual([400, -32602])
      expect(asked).toEqual([])
    },
  )

  test('takes the trace context from the message where no header has it', async () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    await post(modern('tools/call', { ...CALL, _meta: { ...ENVELOPE, traceparent } }))
    await post(modern('tools/call', { ...CALL, _meta: { ...ENVELOPE, traceparent: 'x' } }))
    expect(asked.map((call) => call.traceparent)).toEqual([traceparent, undefined])
  })
})

describe('the handshake era', () => {
  test('agrees on a revision and gives no session', async () => {
    for (const version of ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']) {
      const response = await post(legacy('initialize', { ...INITIALIZE, protocolVersion: version }))
      expect(response.headers['mcp-session-id']).toBeUndefined()
      expect(response.json().result).toMatchObject({
        protocolVersion: version,
        serverInfo: { name: 'signal-service', version: '1.2.3' },
        capabilities: { tools: {}, resources: {} },
      })
    }
  })

  test('begins with a part of the newer envelope too', async () => {
    const { 'io.modelcontextprotocol/clientCapabilities': _, ...part } = ENVELOPE
    const response = await post(legacy('initialize', { ...INITIALIZE, _meta: part }))
    expect(response.json().result.protocolVersion).toBe('2025-11-25')
  })

  test.each([[], 'x', { progressToken: 1.5 }])('refuses the metadata %j', async (_meta) => {
    const response = await post(legacy('tools/call', { ...CALL, _meta }))
    expect([response.statusCode, response.json()]).toMatchObject([400, { id: 1, error: { code: -32600 } }])
  })

  test('answers a ping', async () => {
    expect((await post(legacy('ping'))).json()).toEqual({ jsonrpc: '2.0', id: 1, result: {} })
  })

  test('needs no revision in the header, and refuses one that it does not know', async () => {
    const { headers, payload } = legacy('tools/call', CALL)
    const { 'mcp-protocol-version': _, ...rest } = headers
    expect((await post({ headers: rest, payload })).json().result.isError).toBe(false)
    const unknown = await post(legacy('tools/call', CALL, { 'mcp-protocol-version': '1999-01-01' }))
    expect(unknown.statusCode).toBe(400)
  })
})

describe('the transport', () => {
  test.each(['GET', 'DELETE', 'PUT', 'PATCH', 'OPTIONS', 'HEAD'] as const)(
    'has nothing for %s',
    async (method) => {
      const response = await app.inject({ method, url: '/mcp', headers: { host: 'localhost' } })
      expect([response.statusCode, response.headers.allow]).toEqual([405, 'POST'])
    },
  )

  test('leads a browser to the page that says how to connect, where it is served, and no program', async () => {
    const get = async (edge: FastifyInstance, accept: string) => {
      const response = await edge.inject({ url: '/mcp', headers: { host: 'localhost', accept } })
      return [response.statusCode, response.headers.location]
    }
    const documented = await createMcpEdge({ knowledge: fakeKnowledgeService().service })
    expect(await get(documented, 'text/html,application/xhtml+xml,*/*;q=0.8')).toEqual([303, '/docs/mcp'])
    for (const accept of ['text/event-stream', 'application/json, text/event-stream', '*/*'])
      expect(await get(documented, accept)).toEqual([405, undefined])
    expect(await get(app, 'text/html')).toEqual([405, undefined])
    await documented.close()
  })

  test.each([
    ['not JSON', '{"jsonrpc":', -32700],
    ['nothing', '', -32700],
    ['a batch', JSON.stringify([JSON.parse(legacy('ping').payload)]), -32600],
    ['an empty batch', '[]', -32600],
    ['text', '"text"', -32600],
    ['another protocol', '{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600],
    ['no protocol', '{"id":1,"method":"ping"}', -32600],
    ['__proto__', '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"__proto__":{"a":1}}}', -32600],
    [
      '__proto__ in disguise',
      '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"\\u005f_proto__":1}}',
      -32600,
    ],
    [
      'deep nesting',
      `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":${'['.repeat(9_000)}${']'.repeat(9_000)}}}`,
      -32600,
    ],
    ['half a character', '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\\ud800"}}', -32600],
  ])('refuses %s', async (_, payload, code) => {
    const response = await post(raw(payload))
    expect([response.statusCode, response.json().error.code]).toEqual([400, code])
    expect(asked).toEqual([])
  })

  test('sends back the id of a message of another protocol', async () => {
    const response = await post(raw('{"jsonrpc":"1.0","id":7,"method":"ping"}'))
    expect(response.json()).toMatchObject({ id: 7, error: { code: -32600 } })
  })

  test('refuses bytes that are not UTF-8', async () => {
    const payload = Buffer.concat([
      Buffer.from('{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"'),
      Buffer.from([0xff, 0xc3]),
      Buffer.from('"}}'),
    ])
    const response = await app.inject({ method: 'POST', url: '/mcp', headers: raw('').headers, payload })
    expect([response.statusCode, response.json().error.code]).toEqual([400, -32700])
  })

  test.each(['text/plain', 'application/x-www-form-urlencoded', 'application/json, application/json'])(
    'refuses a body of the type %s',
    async (type) => {
      const response = await post(raw(legacy('ping').payload, { 'content-type': type }))
      expect([response.statusCode, response.json()]).toMatchObject([
        415,
        { id: null, error: { code: -32000, data: { code: 'unsupported_media_type' } } },
      ])
    },
  )

  test('refuses ten megabytes', async () => {
    const payload = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'ping',
      params: { a: 'x'.repeat(10_485_760) },
    })
    const response = await post(raw(payload))
    expect([response.statusCode, response.json().error.data.code]).toEqual([413, 'payload_too_large'])
  })

  test.each(['text/event-stream', 'text/html', 'application/json;q=0'])(
    'refuses Accept: %s',
    async (accept) => {
      const response = await post(legacy('tools/call', CALL, { accept }))
      expect(response.statusCode).toBe(406)
      expect(asked).toEqual([])
    },
  )

  test.each(['*/*', 'application/json', 'text/event-stream, application/*;q=0.1'])(
    'answers Accept: %s',
    async (accept) => {
      expect((await post(legacy('ping', {}, { accept }))).statusCode).toBe(200)
      expect((await post(legacy('tools/call', CALL, { accept }))).statusCode).toBe(200)
    },
  )

  test('answers a refusal of a guard in front of it as JSON-RPC', async () => {
    const edge = await createMcpEdge({}, (server) =>
      server.addHook('onRequest', async () => {
        throw new ServiceError('rate_limited')
      }),
    )
    const { headers, payload } = legacy('tools/call', CALL)
    const response = await edge.inject({ method: 'POST', url: '/mcp', headers, payload })
    expect([response.statusCode, response.json()]).toMatchObject([
      429,
      { jsonrpc: '2.0', id: null, error: { code: -32000, data: { code: 'rate_limited' } } },
    ])
    await edge.close()
  })
})

describe('pages of others', () => {
  test.each([
    ['another name', { host: 'evil.example' }],
    ['another name that resolves here', { host: 'evil.example:8402', origin: 'http://evil.example:8402' }],
    ['another origin', { origin: 'https://evil.example' }],
    ['an origin that hides itself', { origin: 'null' }],
    ['another port of this machine', { origin: 'http://127.0.0.1:3000' }],
  ])('are kept out: %s', async (_, headers) => {
    const response = await post(legacy('tools/call', CALL, headers))
    expect([response.statusCode, response.json().error.code]).toEqual([403, -32000])
    expect(response.headers['access-control-allow-origin']).toBeUndefined()
    expect(asked).toEqual([])
  })

  test('are let in where they are known, and their browsers are told so', async () => {
    const origin = 'https://page.example'
    const response = await post(legacy('tools/call', CALL, { origin }))
    expect(response.json().result.isError).toBe(false)
    expect(response.headers).toMatchObject({ 'access-control-allow-origin': origin, vary: 'origin' })
    const preflight = await app.inject({
      method: 'OPTIONS',
      url: '/mcp',
      headers: { host: 'localhost', origin },
    })
    expect([preflight.statusCode, preflight.headers]).toMatchObject([
      204,
      { 'access-control-allow-methods': 'POST', 'access-control-allow-origin': origin },
    ])
  })

  test('of its own are let in', async () => {
    const response = await post(legacy('ping', {}, { origin: 'http://127.0.0.1:8402' }))
    expect(response.statusCode).toBe(200)
  })
})

const INITIALIZE = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'test', version: '1.0.0' },
}
