import { hostileBody, hostileMessage } from './hostile-bodies.ts'
import type { SeededRandom } from './seeded-random.ts'

/** A request that means no good, as bytes on a connection of its own. */
export interface HostileRequest {
  /** Its fault, for reports. */
  readonly kind: string
  readonly bytes: Buffer
  /** The caller hangs up once it is sent, without waiting for an answer. */
  readonly isAbandoned: boolean
  /** It may go without an answer: what was sent is no request, or is cut off while it is being read. */
  readonly mayBeSilent: boolean
}

/** A route as it can be asked for: `GET`, `/verify/{verdict_id}`. */
export interface Route {
  readonly method: string
  readonly path: string
}

const answered = (kind: string, bytes: Buffer): HostileRequest => ({
  kind,
  bytes,
  isAbandoned: false,
  mayBeSilent: false,
})

const KEYS = [
  'Bearer sk_live_00000000000000000000000000000000',
  'Bearer sk_live_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
  'Bearer ${env:KEY}',
  'Bearer ${SIGNAL_API_KEY}',
  'sk_live_00000000000000000000000000000000',
  'Bearer',
  'Bearer  ',
  'bearer sk_live_',
  'Basic YWRtaW46YWRtaW4=',
  'Token token="x"',
  'Bearer null',
  'Bearer undefined',
  'Bearer <API_KEY>',
  `Bearer ${'x'.repeat(4_000)}`,
  'Bearer sk_live_\u00e9\u00e9\u00e9',
  'Bearer a, Bearer b',
] as const

const KEY_HEADERS = ['authorization', 'x-api-key', 'api-key', 'proxy-authorization', 'cookie'] as const

const CONTENT_TYPES = [
  'application/json',
  'application/json; charset=utf-16',
  'text/plain',
  'application/json, application/json',
  'multipart/form-data; boundary=x',
  'application/x-www-form-urlencoded',
  'application/octet-stream',
  '',
  'application/json;',
  '*/*',
] as const

const ACCEPTS = [
  '*/*',
  'application/json',
  'text/html',
  'text/event-stream',
  'application/json, text/event-stream',
  'image/png',
  ';q=x',
  'text/html;q=9,,,;',
  '',
  'a/b,'.repeat(500),
] as const

const PATH_PARTS = [
  '%00',
  '..%2f..%2fetc%2fpasswd',
  '%c0%af',
  '%',
  '%zz',
  "'",
  '-1',
  '0190a000-0000-8000-8000-00000000ffff',
  '__proto__',
  '\u00e9',
  'a'.repeat(300),
  'x'.repeat(5_000),
  '${env:ID}',
] as const

const QUERIES = [
  '',
  '?',
  '?coin=btc',
  '?coin[]=BTC&coin[x]=1',
  '?coin=BTC&coin=ETH',
  '?limit=NaN',
  '?limit=-1',
  '?limit=1e400',
  '?limit=0x10',
  '?after=%00',
  '?after=__proto__',
  '?__proto__[x]=1&constructor=1',
  '?from=2025-13-45&to=x',
  '?from=+275760-09-14',
  `?coin=${'A,'.repeat(300)}`,
  `?x=${'y'.repeat(3_900)}`,
  `?x=${'y'.repeat(9_000)}`,
  '?%',
  '?=&=&=',
  '?as_of=999999999999999999999',
  '?format=exe',
  '?exchange=SIM%0d%0ax-injected:%201',
] as const

const HOSTS = ['127.0.0.1', 'localhost', 'evil.example', '127.0.0.1:8402', '[::1]', 'a b', ''] as const

/** A request that is one, against one of the routes, with something wrong in every part. */
function wellFormed(random: SeededRandom, routes: readonly Route[]): HostileRequest {
  // One route of many has many methods behind it.
  const route = random.once(10) ? { method: 'POST', path: '/mcp' } : random.pick(routes)
  const path = route.path.replaceAll(/\{[^}]+\}/g, () => random.pick(PATH_PARTS))
  const method = random.once(8)
    ? random.pick(['PUT', 'PATCH', 'OPTIONS', 'DELETE', 'POST', 'HEAD'])
    : route.method
  const hasBody = method !== 'GET' && method !== 'HEAD'
  const body = !hasBody
    ? Buffer.alloc(0)
    : route.path === '/mcp'
      ? hostileMessage(random)
      : hostileBody(random)
  const lines = [
    `${method} ${path}${random.pick(QUERIES)} HTTP/1.1`,
    `host: ${random.once(6) ? random.pick(HOSTS) : '127.0.0.1'}`,
    'connection: close',
    `accept: ${random.pick(ACCEPTS)}`,
    ...(random.once(2) ? [`${random.pick(KEY_HEADERS)}: ${random.pick(KEYS)}`] : []),
    ...(random.once(6)
      ? [`idempotency-key: ${random.pick(['', 'a', 'x'.repeat(300), '\u00e9', '../'])}`]
      : []),
    ...(random.once(6)
      ? [`x-forwarded-for: ${random.pick(['127.0.0.1', '::1, x', ','.repeat(900), '<>'])}`]
      : []),
    ...(random.once(6) ? [`origin: ${random.pick(['null', 'https://evil.example', ''])}`] : []),
    ...(random.once(6) ? [`mcp-protocol-version: ${random.pick(['2026-07-28', '1999-01-01', ''])}`] : []),
    ...(random.once(6) ? [`mcp-method: ${random.pick(['tools/call', 'tools/list', '', '${env:KEY}'])}`] : []),
    ...(random.once(6) ? [`mcp-name: ${random.pick(['get_trade_call', '=?base64?eA==?=', ''])}`] : []),
    ...(random.once(8) ? [`mcp-session-id: ${random.pick(['x', '../'])}`] : []),
    ...(random.once(8) ? [`last-event-id: ${random.pick(['-1', '__proto__', 'x'.repeat(400)])}`] : []),
    ...(random.once(8) ? ['content-encoding: gzip'] : []),
    ...(hasBody ? [`content-type: ${random.once(3) ? random.pick(CONTENT_TYPES) : 'application/json'}`] : []),
    ...(hasBody && random.once(12) ? ['content-type: application/json'] : []),
    ...(hasBody ? [`content-length: ${body.length}`] : []),
  ]
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
  return answered(`${route.method} ${route.path}`, Buffer.concat([head, body]))
}

/** Bytes that are not, or not clearly, one request. */
function malformed(random: SeededRandom, routes: readonly Route[]): HostileRequest {
  const { path } = random.pick(routes)
  const post = `POST ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\n`
  const [kind, text] = random.pick<readonly [string, string | Buffer]>([
    ['random bytes', random.bytes(2 + random.below(500))],
    ['another protocol', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
    ['another protocol', 'SSH-2.0-OpenSSH_9.6\r\n'],
    ['another protocol', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['a method there is not', `FOO${'O'.repeat(random.below(50))} / HTTP/1.1\r\nhost: x\r\n\r\n`],
    ['a version there is not', 'GET / HTTP/9.9\r\nhost: x\r\n\r\n'],
    ['no host', 'GET /livez HTTP/1.1\r\n\r\n'],
    ['a zero byte in a header', 'GET / HTTP/1.1\r\nhost: x\r\nx: a\0b\r\n\r\n'],
    ['a folded header', 'GET / HTTP/1.1\r\nhost: x\r\nx: a\r\n b\r\nconnection: close\r\n\r\n'],
    ['too many headers', `GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${'x: y\r\n'.repeat(3_000)}\r\n`],
    ['a large header', `GET / HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(40_000)}\r\n\r\n`],
    ['two lengths', `${post}content-length: 2\r\ncontent-length: 5\r\n\r\n{}xxx`],
    ['a length and chunks', `${post}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['a chunk of no length', `${post}transfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n`],
    ['a coding there is not', `${post}transfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n`],
    ['a negative length', `${post}content-length: -1\r\n\r\n{}`],
    ['a length that is no number', `${post}content-length: 1e3\r\n\r\n{}`],
    ['a target that is no path', 'GET http://[ HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'],
    ['a target without a path', 'CONNECT 127.0.0.1:22 HTTP/1.1\r\nhost: x\r\n\r\n'],
    ['an upgrade', 'GET /mcp HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n'],
  ])
  const bytes = typeof text === 'string' ? Buffer.from(text, 'latin1') : text
  return { kind, bytes, isAbandoned: false, mayBeSilent: true }
}

/** A request that its caller leaves half said, or whose answer it does not wait for. */
function abandoned(random: SeededRandom, routes: readonly Route[]): HostileRequest {
  const { bytes, kind } = wellFormed(random, routes)
  const length = random.once(2) ? bytes.length : random.below(bytes.length)
  return {
    kind: `abandoned: ${kind}`,
    bytes: bytes.subarray(0, length),
    isAbandoned: true,
    mayBeSilent: true,
  }
}

/** Ten megabytes, announced and sent. */
function large(random: SeededRandom, routes: readonly Route[]): HostileRequest {
  const { path } = random.pick(routes.filter(({ method }) => method === 'POST'))
  const body = Buffer.alloc(10_000_000, 'x')
  const head = `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`
  return {
    kind: `10 MB to ${path}`,
    bytes: Buffer.concat([Buffer.from(head), body]),
    isAbandoned: false,
    // The answer comes before all is sent, and the reset that follows may overtake it.
    mayBeSilent: true,
  }
}

/**
 * A hostile request against a server with these routes. None of them is a tool call that could be answered, so that
 * none may be charged.
 */
export function hostileRequest(random: SeededRandom, routes: readonly Route[]): HostileRequest {
  if (random.once(1_000)) return large(random, routes)
  if (random.once(8)) return malformed(random, routes)
  if (random.once(10)) return abandoned(random, routes)
  return wellFormed(random, routes)
}
