import { connect } from 'node:net'
import fc from 'fast-check'
import type { FastifyInstance } from 'fastify'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ToolCall } from '../../tool-calls/tool-call.ts'
import { createMcpEdge, fakeCalls, KEYS, listen } from './testing/mcp-edge.fixture.ts'
import { legacy, modern } from './testing/mcp-messages.fixture.ts'

const REQUESTS = 2_000
const AT_ONCE = 20
const SEED = 20260728

let app: FastifyInstance
let url: URL
let asked: ToolCall[]

beforeEach(async () => {
  const calls = fakeCalls()
  asked = calls.asked
  app = await createMcpEdge({ calls: calls.path })
  url = new URL(await listen(app))
})
afterEach(() => app.close())

const CALL = { name: 'get_trade_call', arguments: { coin: 'BTC' } }
const METHODS =
  'tools/call tools/list initialize ping server/discover resources/read resources/list' +
  ' subscriptions/listen completion/complete logging/setLevel notifications/cancelled constructor'

/** Sound requests, to be spoilt. */
const sound = fc
  .record({ make: fc.constantFrom(modern, legacy), method: fc.constantFrom(...METHODS.split(' ')) })
  .map(({ make, method }) => make(method, method === 'resources/read' ? { uri: 'signal://service' } : CALL))

const nasty = fc.oneof(
  fc.jsonValue({ maxDepth: 4 }),
  fc.constantFrom<unknown>(
    null,
    '',
    -0,
    1e308,
    [],
    {},
    '__proto__',
    '\u0000',
    '../../etc/passwd',
    '${env:KEY}',
  ),
  fc.string({ minLength: 1_000, maxLength: 3_000 }),
)

/** A message with one of its members, however deep, replaced, removed or added. */
const spoiltMember = fc
  .tuple(
    sound,
    fc.constantFrom(
      'jsonrpc',
      'id',
      'method',
      'params',
      'params.name',
      'params.arguments',
      'params._meta',
      'params.uri',
      'params.__proto__',
      'extra',
    ),
    nasty,
  )
  .map(([request, path, value]) => {
    const message = JSON.parse(request.payload) as Record<string, unknown>
    const [member = '', inner] = path.split('.')
    if (inner === undefined) message[member] = value
    else message[member] = { ...(message[member] as object), [inner]: value }
    return { ...request, body: Buffer.from(JSON.stringify(message)) }
  })

/** A message with some of its bytes changed, or cut off, or said twice. */
const spoiltBytes = fc
  .tuple(sound, fc.array(fc.tuple(fc.nat(400), fc.nat(255)), { maxLength: 4 }), fc.nat(500), fc.boolean())
  .map(([request, changes, end, isDoubled]) => {
    const body = Buffer.from(request.payload)
    for (const [at, byte] of changes) if (at < body.length) body[at] = byte
    const cut = body.subarray(0, end > body.length ? body.length : end)
    return { ...request, body: isDoubled ? Buffer.concat([cut, cut]) : cut }
  })

const anything = fc
  .tuple(
    sound,
    fc.oneof(
      fc.json().map((text) => Buffer.from(text)),
      fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
      fc
        .array(
          sound.map(({ payload }) => payload),
          { maxLength: 3 },
        )
        .map((all) => Buffer.from(`[${all.join(',')}]`)),
      fc.integer({ min: 33, max: 20_000 }).map((depth) => Buffer.from('{"a":'.repeat(depth))),
      fc.constant(Buffer.from('[')),
    ),
  )
  .map(([request, body]) => ({ ...request, body }))

const headerValue = fc.oneof(
  fc.constantFrom(
    '',
    '*/*',
    'text/html',
    'null',
    '${env:KEY}',
    'Bearer ${env:KEY}',
    'Bearer',
    KEYS.unknown,
    KEYS.unverifiable,
  ),
  fc.constantFrom(
    'application/json',
    'text/plain',
    'multipart/form-data',
    '2026-07-28',
    '2025-11-25',
    'tools/call',
  ),
  fc.string({
    unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCodePoint(code)),
    maxLength: 300,
  }),
)
const HEADERS =
  'accept content-type authorization mcp-protocol-version mcp-method mcp-name' +
  ' mcp-session-id origin idempotency-key traceparent last-event-id x-forwarded-for content-encoding'
const spoiltHeaders = fc.dictionary(fc.constantFrom(...HEADERS.split(' ')), headerValue, { maxKeys: 3 })
const verb = fc.oneof(
  { weight: 20, arbitrary: fc.constant('POST') },
  { weight: 1, arbitrary: fc.constantFrom('GET', 'DELETE', 'PUT', 'OPTIONS') },
)
const hostile = fc
  .tuple(fc.oneof(spoiltMember, spoiltBytes, anything), spoiltHeaders, verb)
  .map(([request, headers, method]) => ({
    method,
    body: request.body,
    headers: { ...request.headers, ...headers },
  }))

test('two thousand hostile requests are each answered, and nothing comes of them', {
  timeout: 60_000,
}, async () => {
  const requests = fc.sample(hostile, { numRuns: REQUESTS, seed: SEED })
  const statuses = new Map<number, number>()
  for (let done = 0; done < requests.length; done += AT_ONCE) {
    const answers = await Promise.all(requests.slice(done, done + AT_ONCE).map(send))
    for (const answer of answers) {
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
      expectProper(answer)
    }
  }
  const known = new Set([200, 202, 204, 400, 403, 404, 405, 406, 413, 415])
  expect([...statuses.keys()].filter((status) => !known.has(status))).toEqual([])
  // All ways of refusing were tried.
  expect(statuses.size).toBeGreaterThan(6)
  for (const call of asked) expect(typeof call.tool).toBe('string')
  const { headers, payload } = modern('tools/call', CALL)
  const healthy = await send({ method: 'POST', headers, body: Buffer.from(payload) })
  expect(JSON.parse(healthy.body)).toMatchObject({ result: { isError: false } })
})

interface Answer {
  readonly status: number
  readonly head: string
  readonly body: string
}

/** JSON-RPC or nothing, no challenge, and no word of the framework or of a stack. */
function expectProper({ status, head, body }: Answer): void {
  expect(head.toLowerCase()).not.toContain('www-authenticate')
  expect(head.toLowerCase()).not.toContain('mcp-session-id')
  expect(body).not.toMatch(/FST_|node_modules|\.ts:\d|\n\s+at /)
  if (status === 202 || status === 204) return expect(body).toBe('')
  const message = JSON.parse(body) as { jsonrpc: unknown; error?: object; result?: object }
  expect(message.jsonrpc).toBe('2.0')
  expect((message.error === undefined) !== (message.result === undefined)).toBe(true)
  if (status !== 200) expect(message.error).toBeDefined()
}

/** Over a socket of its own, so that no client corrects what is sent. */
function send(request: { method: string; headers: Record<string, string>; body: Buffer }): Promise<Answer> {
  const headers = {
    ...request.headers,
    host: url.host,
    'content-length': request.body.length,
    connection: 'close',
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    const socket = connect(Number(url.port), url.hostname)
    socket.setTimeout(10_000, () => socket.destroy(new Error(`no answer to ${request.body.toString()}`)))
    socket.on('data', (chunk) => chunks.push(chunk))
    socket.once('error', reject)
    socket.once('end', () => {
      const [head = '', ...rest] = Buffer.concat(chunks).toString().split('\r\n\r\n')
      resolve({ status: Number(head.split(' ')[1]), head, body: unchunked(head, rest.join('\r\n\r\n')) })
    })
    socket.write(`${request.method} /mcp HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)
    socket.write(request.body)
  })
}

const unchunked = (head: string, body: string): string =>
  /transfer-encoding: chunked/i.test(head) ? body.replaceAll(/(?:^|\r\n)[0-9a-f]+\r\n/g, '') : body
