import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { startWireDouble, type WireDouble } from '../../testing/eventstoredb-double/wire-double.ts'
import { type OwnService, startOwnService } from './own-service.fixture.ts'

const OPERATOR_TOKEN = 'operator-token-for-tests'
const UUID = '01a202d9-8383-7ecf-bcf0-c37504ba4724'

interface Operation {
  readonly method: string
  readonly path: string
}

let double: WireDouble
let service: OwnService
let url: string
let key: string
let account: string
let otherAccount: string

const ask = (
  path: string,
  { method = 'GET', body, bearer = key }: { method?: string; body?: unknown; bearer?: string } = {},
) =>
  fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
    ...(method === 'GET' || method === 'DELETE' ? {} : { body: JSON.stringify(body ?? {}) }),
    signal: AbortSignal.timeout(60_000),
  })
const newAccount = async (): Promise<{ key: string; account_id: string }> => {
  const made = await ask('/operator/keys', { method: 'POST', body: { tier: 'pro' }, bearer: OPERATOR_TOKEN })
  return (await made.json()) as { key: string; account_id: string }
}
const call = { jsonrpc: '2.0', id: 1, method: 'tools/call' }
const toolCall = { ...call, params: { name: 'get_trade_call', arguments: { coin: 'BTC', timeframe: '1h' } } }

beforeAll(async () => {
  double = await startWireDouble()
  service = await startOwnService({
    EVENTSTORE_URL: double.connectionString,
    SEALING_KEY: Buffer.alloc(32, 5).toString('base64'),
    OPERATOR_TOKEN,
    COINS: 'BTC',
    TIMEFRAMES: '1h',
    LOG_LEVEL: 'silent',
    RATE_PER_ADDRESS: '1000',
    RATE_PER_KEY: '1000',
    WEBHOOKS_ALLOW_PRIVATE: 'true',
  })
  ;({ url } = service)
  const [mine, theirs] = [await newAccount(), await newAccount()]
  ;({ key, account_id: account } = mine)
  otherAccount = theirs.account_id
  await vi.waitUntil(async () => (await ask('/mcp', { method: 'POST', body: toolCall })).ok, {
    timeout: 30_000,
  })
  await ask('/mcp', { method: 'POST', body: toolCall, bearer: theirs.key })
}, 60_000)
afterAll(async () => {
  await service?.stop()
  double?.stop()
})

/** A reasonable request of each tool, as far as a walk through all of them needs it. */
const BODIES: Readonly<Record<string, unknown>> = {
  '/mcp': toolCall,
  '/api/keys': { label: 'a' },
  '/api/webhooks': { url: 'http://127.0.0.1:9/hook', events: ['trade_call'] },
  '/api/sign-in': { email: 'ada@example.com' },
  '/api/chat': { question: 'What is a regime?' },
  '/api/search': { query: 'regime' },
  '/operator/keys': { tier: 'pro' },
}

async function operations(): Promise<Operation[]> {
  const { paths } = (await (await ask('/openapi.json')).json()) as { paths: Record<string, object> }
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => ({ method: method.toUpperCase(), path })),
  )
}

/** Streams, positions of others, addresses of servers and what a client library says of them. */
const AFFAIRS = [
  /\b(?:account|quota|payment|delivery|subscription|lease|verdict|outcome|subject|chat|webhook|notice)-[\w.]*[0-9a-f]{4}/,
  /store-identity/,
  /ECONN|UNAVAILABLE|EventStoreDB|gRPC|grpc/,
  /127\.0\.0\.1:\d/,
]

test('no refusal of any route tells of streams, servers or accounts of others, while the event store is away', async () => {
  const all = await operations()
  expect(all.length).toBeGreaterThan(30)
  double.stop()
  let refusals = 0
  for (const { method, path } of all) {
    for (const bearer of path.startsWith('/operator') ? [OPERATOR_TOKEN] : [key, 'sk_live_nonsense']) {
      const response = await ask(path.replace(/\{[^}]+\}/g, UUID), { method, bearer, body: BODIES[path] })
      if (response.status < 400 && path !== '/mcp') {
        await response.body?.cancel()
        continue
      }
      refusals += 1
      const text = (await response.text()).replaceAll(url, '')
      const told = `${method} ${path}: ${text}`
      for (const affair of AFFAIRS) expect(told).not.toMatch(affair)
      expect(told).not.toContain(otherAccount)
      expect(account).not.toBe(otherAccount)
    }
  }
  expect(refusals).toBeGreaterThan(20)
}, 300_000)
