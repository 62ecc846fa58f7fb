import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { JsonObject } from '../../contracts/infra/json.ts'
import type { OpenApiDocument } from './openapi.ts'
import { jsonSchemaFaults } from './testing/json-schema-faults.ts'
import { type ServiceProcess, startServiceProcess } from './testing/start-service-process.ts'

const OPERATOR_TOKEN = 'operator-token-for-tests'

let service: ServiceProcess
let document: OpenApiDocument
let key: string

beforeAll(async () => {
  service = await startServiceProcess({
    OPERATOR_TOKEN,
    COINS: 'BTC',
    TIMEFRAMES: '1h',
    RATE_PER_ADDRESS: 'off',
  })
  document = (await (await fetch(`${service.url}/openapi.json`)).json()) as OpenApiDocument
  const made = await fetch(`${service.url}/operator/keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${OPERATOR_TOKEN}`, 'content-type': 'application/json' },
    body: '{"tier":"starter"}',
  })
  ;({ key } = (await made.json()) as { key: string })
  // Signed within seconds of the start.
  await vi.waitUntil(async () => (await fetch(`${service.url}/log/checkpoint`)).ok, {
    timeout: 20_000,
    interval: 200,
  })
})
afterAll(async () => {
  await service?.stop()
  service?.remove()
})

interface Try {
  readonly path: string
  /** As the document names it, where it has parameters. */
  readonly template?: string
  readonly method?: string
  readonly status: number
  readonly isKeyed?: boolean
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

const rpc = (method: string, params?: object): object => ({
  jsonrpc: '2.0',
  id: 1,
  method,
  ...(params && { params }),
})
const call = (name: string, args: object): object => rpc('tools/call', { name, arguments: args })
const mcp = (body: unknown, more: Partial<Try> = {}): Try => ({
  path: '/mcp',
  method: 'POST',
  status: 200,
  body,
  ...more,
})
const INITIALIZE = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'test', version: '1' },
}
const NOBODY = '00000000-0000-8000-8000-000000000000'
const HOOK = { url: 'https://bot.example.com/hook', events: ['trade_call'] }

const TRIES: readonly Try[] = [
  mcp(rpc('initialize', INITIALIZE)),
  mcp(rpc('ping')),
  mcp(rpc('tools/list')),
  mcp(rpc('resources/list')),
  mcp(rpc('resources/read', { uri: 'signal://service' })),
  mcp(rpc('nothing/there')),
  mcp({ jsonrpc: '2.0', method: 'notifications/initialized' }, { status: 202 }),
  mcp(call('get_trade_call', { coin: 'btc' })),
  mcp(call('get_trade_call', { coin: 'btc', timeframe: '7m' })),
  mcp(call('get_market_regime', { coin: 'BTC', timeframe: '1H' }), { isKeyed: true }),
  mcp(call('scan_trade_calls', {})),
  mcp(call('scan_funding_arb', {})),
  mcp(call('search_knowledge', { query: 'quota' }), { isKeyed: true }),
  mcp(call('get_trade_call', { symbol: 'BTC' })),
  mcp(call('get_trade_call', { coin: 'BTC' }), { headers: { authorization: 'Bearer sk_live_x' } }),
  mcp('{', { status: 400 }),
  mcp(rpc('ping'), { status: 403, headers: { origin: 'https://elsewhere.example' } }),
  mcp(rpc('ping'), { status: 406, headers: { accept: 'text/html' } }),
  mcp(rpc('ping'), { status: 415, headers: { 'content-type': 'text/plain' } }),
  mcp('x'.repeat(70_000), { status: 413 }),
  ...['get_trade_call', 'get_market_regime', 'scan_trade_calls', 'scan_funding_arb', 'plans/pro'].map(
    (product): Try => ({ path: `/x402/${product}`, status: 402 }),
  ),
  { path: '/x402/get_trade_call', method: 'POST', status: 402, body: { coin: 'BTC' } },
  { path: '/x402/get_trade_call', method: 'POST', status: 200, isKeyed: true, body: { coin: 'BTC' } },
  { path: '/x402/get_trade_call', method: 'POST', status: 422, isKeyed: true, body: { coin: 'NONE' } },
  { path: `/x402/payments/${NOBODY}`, template: '/x402/payments/{id}', status: 404 },
  { path: '/', status: 200 },
  { path: '/livez', status: 200 },
  { path: '/readyz', status: 200 },
  { path: '/metrics', status: 401 },
  { path: '/metrics', status: 200, headers: { authorization: `Bearer ${OPERATOR_TOKEN}` } },
  { path: '/openapi.json', status: 200 },
  { path: '/docs', status: 200 },
  { path: '/docs/quotas', template: '/docs/{page}', status: 200 },
  { path: '/docs/nothing', template: '/docs/{page}', status: 404 },
  { path: '/docs/examples/bot.py', template: '/docs/examples/{file}', status: 200 },
  { path: '/api/markets?coin=btc', status: 200 },
  { path: '/api/markets?colour=red', status: 400 },
  { path: '/api/bars?exchange=SIM&coin=BTC&timeframe=1h&from=1767225600000&to=1767312000000', status: 200 },
  { path: '/api/bars?exchange=SIM&coin=BTC&timeframe=1h&from=2&to=1', status: 400 },
  { path: '/api/verdicts?limit=2', status: 200 },
  { path: '/api/verdicts?limit=x', status: 400 },
  { path: '/api/track-record', status: 200 },
  { path: '/api/regime-shifts?exchange=SIM&coin=BTC&timeframe=1h', status: 200 },
  { path: `/verify/${NOBODY}`, template: '/verify/{verdict_id}', status: 404 },
  { path: '/sealed', status: 200 },
  {
    path: '/sealed/exchange=SIM/date=2026-01-31/verdicts.parquet',
    template: '/sealed/{exchange}/{date}/{file}',
    status: 404,
  },
  { path: '/log/checkpoint', status: 200 },
  { path: '/log/vkeys', status: 200 },
  { path: '/log/tile/5/000', template: '/log/tile/{path}', status: 404 },
  { path: '/log/tile/0/0', template: '/log/tile/{path}', status: 400 },
  { path: '/log/contents/x999/000', template: '/log/contents/{path}', status: 404 },
  { path: `/log/proof/${NOBODY}`, template: '/log/proof/{verdict_id}', status: 404 },
  { path: '/api/sign-in', method: 'POST', status: 202, body: { email: 'ada@example.com' } },
  { path: '/api/sign-in', method: 'POST', status: 400 },
  {
    path: '/api/sign-in/confirm',
    method: 'POST',
    status: 401,
    body: { email: 'ada@example.com', code: '00000-00000' },
  },
  { path: '/api/account', status: 200, isKeyed: true },
  { path: '/api/account', status: 401 },
  { path: '/api/keys', status: 200, isKeyed: true },
  { path: '/api/keys', method: 'POST', status: 201, isKeyed: true },
  {
    path: '/api/keys',
    method: 'POST',
    status: 415,
    isKeyed: true,
    body: 'x',
    headers: { 'content-type': 'a/b' },
  },
  { path: `/api/keys/${NOBODY}`, template: '/api/keys/{id}', method: 'DELETE', status: 404, isKeyed: true },
  { path: '/api/usage', status: 200, isKeyed: true },
  { path: '/api/search', method: 'POST', status: 200, isKeyed: true, body: { query: 'quota' } },
  { path: '/api/search', method: 'POST', status: 400, isKeyed: true, body: { query: 'q' } },
  {
    path: '/api/chat',
    method: 'POST',
    status: 200,
    isKeyed: true,
    body: { question: 'Does a HOLD cost a call?' },
  },
  { path: '/api/webhooks', status: 200, isKeyed: true },
  { path: '/api/webhooks', method: 'POST', status: 400, isKeyed: true, body: { ...HOOK, events: ['x'] } },
  { path: `/api/webhooks/${NOBODY}`, template: '/api/webhooks/{id}', status: 404, isKeyed: true },
]

test.each(TRIES)('$method $path answers $status as the document says', async (one) => {
  const {
    path,
    template = path.split('?')[0] ?? '',
    method = 'GET',
    status,
    isKeyed,
    headers = {},
    body,
  } = one
  const response = await fetch(`${service.url}${path}`, {
    method,
    headers: {
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(isKeyed === true && { authorization: `Bearer ${key}` }),
      ...headers,
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  expect(response.status, text).toBe(status)
  const responses = document.paths[template]?.[method.toLowerCase()]?.responses ?? {}
  const described = (responses[status] ?? responses[`${String(status)[0]}XX`] ?? responses.default) as
    | { readonly content?: Readonly<Record<string, { readonly schema?: JsonObject }>> }
    | undefined
  expect(described).toBeDefined()
  if (text === '') return
  const type = (response.headers.get('content-type') ?? '').split(';')[0] ?? ''
  expect(Object.keys(described?.content ?? {})).toContain(type)
  const schema = described?.content?.[type]?.schema
  if (type !== 'application/json' || schema === undefined) return
  expect(jsonSchemaFaults(JSON.parse(text), resolved(schema))).toEqual([])
})

/** A schema with what it refers to in its place. */
function resolved(schema: JsonObject): JsonObject {
  const text = JSON.stringify(schema, (_key, value: unknown) => {
    const { $ref } = (typeof value === 'object' && value !== null ? value : {}) as { $ref?: unknown }
    if (typeof $ref !== 'string') return value
    return $ref
      .replace('#/', '')
      .split('/')
      .reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], document)
  })
  return JSON.parse(text) as JsonObject
}

test('where nothing can be paid, nobody is told to sign', async () => {
  const response = await fetch(`${service.url}/x402/get_trade_call`, {
    method: 'POST',
    body: '{"coin":"BTC"}',
  })
  const offer = (await response.json()) as { accepts: unknown[]; next_step: string }
  expect([response.status, offer.accepts]).toEqual([402, []])
  expect(offer.next_step).toContain('POST /api/sign-in')
  expect(offer.next_step).not.toMatch(/accepts|PAYMENT/)
})

test('a verdict is verified as the document says, as JSON and as a page', async () => {
  const asked = await fetch(`${service.url}/api/verdicts?limit=1`, {
    headers: { authorization: `Bearer ${OPERATOR_TOKEN}` },
  })
  const { verdict_id: id } = JSON.parse(await asked.text()) as { verdict_id: string }
  const described = document.paths['/verify/{verdict_id}']?.get?.responses[200]
  const content = (described?.content ?? {}) as unknown as Readonly<
    Record<string, { readonly schema?: JsonObject }>
  >
  const json = await fetch(`${service.url}/verify/${id}`)
  expect(jsonSchemaFaults(await json.json(), resolved(content['application/json']?.schema ?? {}))).toEqual([])
  const page = await fetch(`${service.url}/verify/${id}?format=html`)
  expect(Object.keys(content)).toContain(page.headers.get('content-type')?.split(';')[0])
})
