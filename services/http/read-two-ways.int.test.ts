import { afterAll, beforeAll, expect, test } from 'vitest'
import { sendBytes } from './testing/send-bytes.ts'
import { type ServiceProcess, startServiceProcess } from './testing/start-service-process.ts'

let service: ServiceProcess
beforeAll(async () => {
  service = await startServiceProcess({ COINS: 'BTC', TIMEFRAMES: '1h' })
})
afterAll(async () => {
  await service?.stop()
  service?.remove()
})

const send = (text: string) => {
  const port = Number(new URL(service.url).port)
  return sendBytes(Buffer.from(text), { port, isAbandoned: false, timeoutMs: 10_000 })
}

const JSON_TYPE = 'application/json'
const FORM_TYPE = 'application/x-www-form-urlencoded'
const MAILS = 'email=a1%40example.com&email=a2%40example.com'
const call = (names: string): string =>
  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_trade_call","arguments":{${names}}}}`

test.each([
  ['two Host headers', 'GET /livez', ['Host: other.example.com'], '', ''],
  ['a name twice', 'POST /api/sign-in', [], JSON_TYPE, '{"email":"a1@example.com","email":"a2@example.com"}'],
  [
    'a name spelled twice',
    'POST /api/sign-in',
    [],
    JSON_TYPE,
    String.raw`{"email":"a1@b.com","em\u0061il":"a2@b.com"}`,
  ],
  [
    'a name twice in a call',
    'POST /mcp',
    ['Accept: application/json'],
    JSON_TYPE,
    call('"coin":"BTC", "coin" : "ETH"'),
  ],
  [
    'a method twice',
    'POST /mcp',
    [],
    JSON_TYPE,
    '{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}',
  ],
  ['a name twice in the query', 'GET /api/board?limit=1&limit=2', [], '', ''],
  ['a field twice in a form', 'POST /account/sign-in', ['Sec-Fetch-Site: same-origin'], FORM_TYPE, MAILS],
  [
    'a parameter twice at the token endpoint',
    'POST /oauth/token',
    [],
    FORM_TYPE,
    'grant_type=a&grant_type=b',
  ],
])('%s: 400', async (_, line, more, type, body) => {
  const { host } = new URL(service.url)
  const head = [
    `${line} HTTP/1.1`,
    `Host: ${host}`,
    ...(type === '' ? [] : [`Content-Type: ${type}`, `Content-Length: ${Buffer.byteLength(body)}`]),
    ...more,
    'Connection: close',
  ]
  const answer = await send(`${head.join('\r\n')}\r\n\r\n${body}`)
  expect([answer.status, answer.body]).toEqual([400, expect.anything()])
})

test.each([
  ['HTTP/1.1\r\nHost: \r\n', 400],
  ['HTTP/1.1\r\n', 400],
  ['HTTP/1.0\r\n', 200],
])('the host of a request: %j', async (version, status) => {
  expect((await send(`GET /livez ${version}Connection: close\r\n\r\n`)).status).toBe(status)
})

const BODIES: readonly (readonly [path: string, type: string, body: string])[] = [
  ['/api/sign-in', JSON_TYPE, '{"email":"a1@example.com"}'],
  ['/api/keys', JSON_TYPE, '{}'],
  ['/api/webhooks', JSON_TYPE, '{}'],
  ['/api/search', JSON_TYPE, '{"query":"quota"}'],
  ['/api/chat', JSON_TYPE, '{"question":"Is a HOLD free?"}'],
  ['/mcp', JSON_TYPE, call('"coin":"BTC"')],
  ['/oauth/token', FORM_TYPE, 'grant_type=a'],
  ['/oauth/register', JSON_TYPE, '{}'],
  ['/account/sign-in', FORM_TYPE, 'email=a1%40example.com'],
]
test.each(BODIES)('POST %s with two types of its body: 400', async (path, type, body) => {
  for (const types of [`${type}\r\nContent-Type: text/plain`, `${type}, ${type}`]) {
    const { host } = new URL(service.url)
    const head = `POST ${path} HTTP/1.1\r\nHost: ${host}\r\nSec-Fetch-Site: same-origin\r\nContent-Type: ${types}`
    const length = Buffer.byteLength(body)
    const answer = await send(`${head}\r\nContent-Length: ${length}\r\nConnection: close\r\n\r\n${body}`)
    expect([answer.status, answer.body], types).toEqual([400, expect.stringContaining('Content-Type')])
  }
})
