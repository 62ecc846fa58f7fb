import { execFile, spawnSync } from 'node:child_process'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createSignalClient, ROUTES } from '../../clients/typescript/src/index.ts'
import type { OpenApiDocument } from '../../services/http/openapi.ts'
import { serverOfEveryRoute } from '../../services/http/testing/every-route.fixture.ts'
import { ALL_TOOL_NAMES, WEBHOOK_TOOLS } from '../../services/mcp/tools.ts'

const CLIENT = resolve(import.meta.dirname, '../../clients/python')
const hasPython = spawnSync('python3', ['--version']).status === 0
const reason = hasPython ? '' : ' (skipped: python3 not on PATH)'

const camel = (name: string): string => name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
const snake = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** Operations that clients reach by other means than a method of their name. */
const REACHED: Readonly<Record<string, string>> = {
  mcp: 'call',
  search: 'searchKnowledge',
  chat: 'chatKnowledge',
  createWebhook: 'createWebhook',
  webhooks: 'listWebhooks',
  webhook: 'getWebhook',
  deleteWebhook: 'deleteWebhook',
  pauseWebhook: 'pauseWebhook',
  resumeWebhook: 'resumeWebhook',
  rotateWebhookSecret: 'rotateWebhookSecret',
  testWebhook: 'testWebhook',
  webhookAttempts: 'listWebhookDeliveries',
  recoverWebhook: 'recoverWebhook',
  replayVerdicts: 'replay',
  followVerdicts: 'follow',
  logProof: 'proof',
  payment: 'payment',
  ready: 'state',
}
/** Operations that no client has: pages, files that other programs read by their address, and what browsers sign in by. */
const ELSEWHERE =
  /^(?:docs|docsPage|docsExample|openApi|describeService|alive|metrics|llms|llmsFull|sealedFile|log(?!Proof)\w+|(?:pay|offer|buy)[A-Z]\w+|\w*[sS]essions?|eraseAccount|apps|endApp|registerClient|token|revokeToken|\w*Metadata|paidResources|registryEntry|aiCatalog|\w*[sS]erverCard|registryProof)$/

/** A call of every method: in Python `from` and `to` are `start` and `end`. */
const one = { id: 'a/b' }
const series = { exchange: 'SIM', coin: 'BTC', timeframe: '1h' }
const span = { from: '2026-01-01', to: '2026-01-02' }
const CALLS: Readonly<Record<string, object>> = {
  getTradeCall: { coin: 'BTC', timeframe: '1h' },
  getMarketRegime: { coin: 'BTC' },
  scanTradeCalls: { top_n: 5 },
  scanFundingArb: { coins: ['BTC'] },
  searchKnowledge: { query: 'what costs a call', limit: 3 },
  chatKnowledge: { question: 'what costs a call' },
  getRegimeShifts: { coin: 'BTC' },
  createWebhook: { events: ['trade_call'], url: 'https://bot.example.com/hook' },
  listWebhooks: { status: 'all' },
  getWebhook: one,
  deleteWebhook: one,
  pauseWebhook: one,
  resumeWebhook: { ...one, from: 'now' },
  rotateWebhookSecret: { ...one, overlap_hours: 2 },
  testWebhook: one,
  listWebhookDeliveries: { ...one, limit: 3 },
  recoverWebhook: { ...one, since: '2026-01-01T00:00:00Z' },
  markets: { coin: ['BTC', 'ETH'], is_monitored: true, exchange: null },
  bars: { ...series, ...span },
  trackRecord: { group_by: 'series' },
  trackRecordMonths: {},
  trackRecordCoins: { timeframe: '1h' },
  regimeShifts: { ...series, limit: 3 },
  seriesHistory: { ...series, limit: 3 },
  board: {},
  sealedDays: { exchange: 'HL' },
  verifyVerdict: { verdict_id: 'd' },
  signIn: { email: 'you@example.com' },
  confirmSignIn: { email: 'you@example.com', code: '7K2M9-QX4RT' },
  account: {},
  usage: {},
  ownPayments: { limit: 3 },
  keys: {},
  issueKey: { label: 'bot' },
  revokeKey: one,
  changeWebhook: { ...one, min_strength: 70 },
  webhookRetries: one,
  webhookEvents: { ...one, after: '41' },
}
const ONCE = Object.entries(WEBHOOK_TOOLS)
  .filter(([, { effect }]) => !('readOnlyHint' in effect || 'idempotentHint' in effect))
  .map(([name]) => name)

let server: Server
let url: string
let isLosing = false
let asked: string[] = []
beforeAll(async () => {
  server = createServer((request, response) => {
    let body = ''
    request.on('data', (part: Buffer) => (body += part.toString()))
    request.on('end', () => {
      const sent = body === '' ? undefined : (JSON.parse(body) as { params?: object })
      asked.push(JSON.stringify([request.method, request.url, sent?.params ?? sent]))
      const { searchParams } = new URL(request.url ?? '', 'http://x')
      if (isLosing) response.destroy()
      else if (searchParams.get('coin') === 'WALKED') {
        const isSecond = searchParams.get('after') === 'b'
        response.end(JSON.stringify({ rows: [isSecond ? 2 : 1], next: isSecond ? null : 'b' }))
      } else if (request.method === 'DELETE') response.writeHead(204).end()
      else response.end(JSON.stringify(request.url === '/mcp' ? { result: { structuredContent: {} } } : {}))
    })
  }).listen(0, '127.0.0.1')
  await new Promise((done) => server.once('listening', done))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

const methods = (tries = 1) =>
  createSignalClient({ url, tries }) as unknown as Readonly<
    Record<string, (request: object) => Promise<unknown>>
  >

/** Runs a program of Python with the client, and returns the JSON that it prints. */
async function python(program: string, given: unknown): Promise<unknown> {
  const script = `import json, sys\nfrom signal_client import *\ngiven = json.loads(sys.argv[1])\n${program}`
  const env = { PATH: process.env.PATH, PYTHONPATH: CLIENT, PYTHONDONTWRITEBYTECODE: '1' }
  const { stdout } = await promisify(execFile)('python3', ['-c', script, JSON.stringify(given)], { env })
  return JSON.parse(stdout)
}
const calls = Object.entries(CALLS).map(
  ([name, { from, to, ...rest }]: [string, { from?: string; to?: string }]) => [
    snake(name),
    { ...rest, ...(from !== undefined && { start: from }), ...(to !== undefined && { end: to }) },
  ],
)

test('the client for TypeScript has a method for each tool and for each route that callers use', async () => {
  const has = Object.keys(methods())
  expect(ALL_TOOL_NAMES.map(camel).filter((name) => !has.includes(name))).toEqual([])
  const app = await serverOfEveryRoute()
  const { paths } = (await app.inject('/openapi.json')).json<OpenApiDocument>()
  await app.close()
  const operations = Object.entries(paths).flatMap(([path, of]) =>
    Object.entries(of).map(([method, { operationId }]) => [
      operationId,
      `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`,
    ]),
  )
  const routes = operations.filter(([name = '']) => !(name in REACHED) && !ELSEWHERE.test(name))
  expect(Object.fromEntries(routes)).toEqual(ROUTES)
  expect(Object.values(REACHED).filter((name) => !has.includes(name))).toEqual([])
  const ids = operations.map(([name]) => name)
  expect(Object.keys(REACHED).filter((name) => !ids.includes(name))).toEqual([])
})

test.skipIf(!hasPython)(`the one for Python has the same methods${reason}`, async () => {
  const has = Object.keys(methods()).map(snake).toSorted()
  const found = await python(
    `print(json.dumps(sorted(n for n in vars(SignalClient) if not n.startswith("_"))))`,
    null,
  )
  expect(found).toEqual(has)
})

test.skipIf(!hasPython)(`and asks the same of the service${reason}`, async () => {
  const named = Object.keys(CALLS)
  expect(named.toSorted()).toEqual(
    [...new Set([...ALL_TOOL_NAMES.map(camel), ...Object.keys(ROUTES)])].toSorted(),
  )
  asked = []
  for (const [name, request] of Object.entries(CALLS)) await methods()[name]?.(request)
  const byTypescript = asked
  expect(byTypescript).toHaveLength(named.length)
  expect(byTypescript).toContain(
    JSON.stringify(['GET', '/api/markets?coin=BTC%2CETH&is_monitored=true', null]),
  )
  const given = { url, calls }
  asked = []
  await python(
    `
signals = SignalClient(given["url"], tries=1)
for name, fields in given["calls"]:
    getattr(signals, name)(**fields)
print("null")`,
    given,
  )
  const normal = (requests: string[]) =>
    requests.map((text) => {
      const [method, path, body] = JSON.parse(text) as [string, string, unknown]
      const { pathname, searchParams } = new URL(path, url)
      return [method, pathname, Object.fromEntries(searchParams), body]
    })
  expect(normal(asked)).toEqual(normal(byTypescript))
})

test(`pages of a list are asked for to the last one${reason}`, async () => {
  const asks = ['/list/rows?coin=WALKED', '/list/rows?coin=WALKED&after=b']
  const expected = [[1], [2]]
  const found: unknown[] = []
  asked = []
  for await (const page of createSignalClient({ url }).pages('/list/rows', { coin: 'WALKED' }))
    found.push((page as { rows: unknown }).rows)
  expect([found, asked.map((text) => (JSON.parse(text) as string[])[1])]).toEqual([expected, asks])
  if (!hasPython) return
  asked = []
  const byPython = await python(
    `print(json.dumps([page["rows"] for page in SignalClient(given["url"]).pages(given["path"], coin="WALKED")]))`,
    { url, path: '/list/rows' },
  )
  expect(byPython).toEqual(expected)
  expect(asked.map((text) => (JSON.parse(text) as string[])[1])).toEqual(asks)
})

test(`an id of dots alone is none, so that no request goes to another path${reason}`, async () => {
  asked = []
  const ids = ['', '.', '..']
  for (const id of ids)
    for (const name of ['revokeKey', 'webhookRetries'])
      await expect(methods()[name]?.({ id })).rejects.toThrow(/is no id/)
  const signals = createSignalClient({ url })
  await expect(signals.payment('..')).rejects.toThrow(/is no id/)
  await expect(signals.proof('..')).rejects.toThrow(/is no id/)
  if (hasPython) {
    const said = await python(
      `
signals = SignalClient(given["url"])
refused = 0
for id in given["ids"]:
    for method in (signals.revoke_key, signals.webhook_retries, signals.payment, signals.proof):
        try:
            method(id)
        except ValueError:
            refused += 1
print(json.dumps(refused))`,
      { url, ids },
    )
    expect(said).toBe(12)
  }
  expect(asked).toEqual([])
})

test(`a call that acts again with each repeat is not repeated where its answer was lost${reason}`, async () => {
  isLosing = true
  try {
    for (const name of ['getWebhook', ...ONCE.map(camel)]) {
      const times = ONCE.map(camel).includes(name) ? 1 : 2
      asked = []
      await expect(methods(2)[name]?.(CALLS[name] ?? {})).rejects.toMatchObject({ code: 'given_up' })
      expect([name, asked.length]).toEqual([name, times])
      if (!hasPython) continue
      asked = []
      const code = await python(
        `
try:
    getattr(SignalClient(given["url"], tries=2, sleep=lambda _: None), given["name"])(**given["fields"])
except Refusal as refusal:
    print(json.dumps(refusal.code))`,
        { url, name: snake(name), fields: calls.find(([of]) => of === snake(name))?.[1] },
      )
      expect([code, asked.length]).toEqual(['given_up', times])
    }
  } finally {
    isLosing = false
  }
})
