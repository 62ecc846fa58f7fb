import { ENVELOPE } from '../../mcp/testing/mcp-messages.fixture.ts'
import type { SeededRandom } from './seeded-random.ts'

const TOOL_NAMES = ['get_trade_call', 'get_market_regime', 'scan_trade_calls', 'scan_funding_arb'] as const

const MCP_METHODS = [
  'initialize',
  'ping',
  'server/discover',
  'tools/list',
  'resources/read',
  'resources/list',
  'subscriptions/listen',
  'completion/complete',
  'logging/setLevel',
  'notifications/cancelled',
  'constructor',
] as const

/** Values that no field of a request takes. */
const WRONG_VALUES: readonly unknown[] = [
  null,
  true,
  -1,
  1e308,
  [],
  {},
  [[[]]],
  '',
  ' ',
  '\0',
  '\uD800',
  '../../etc/passwd',
  '${env:KEY}',
  "'; DROP TABLE events; --",
  '<img src=x onerror=alert(1)>',
  'BTC\r\nx-injected: 1',
  'Ω'.repeat(5_000),
  { toString: 'x', valueOf: 1 },
  { $gt: '' },
]

/** Arguments that every tool refuses, so that no answer is ever owed or charged. */
function wrongArguments(random: SeededRandom): unknown {
  const wrong = random.pick(WRONG_VALUES)
  return random.pick<unknown>([
    // A scan takes no arguments.
    JSON.stringify(wrong) === '{}' ? [wrong] : wrong,
    { coin: wrong, __wrong: 1 },
    { coin: 'BTC', timeframe: wrong, unknown_field: wrong },
    { coin: 'BTC', timeframe: '7m', top_n: wrong, __proto__x: 1 },
    { top_n: -5, limit: wrong, min_net_bps: 'many' },
    ['BTC', '1h'],
  ])
}

const deep = (levels: number, open: string, close: string): string =>
  `${open.repeat(levels)}1${close.repeat(levels)}`

/** A body that looks like one of a tool call, and that none is. */
export function hostileMessage(random: SeededRandom): Buffer {
  const id = random.pick<unknown>([
    1,
    'a',
    null,
    -1,
    1.5,
    2 ** 60,
    {},
    [],
    true,
    undefined,
    'x'.repeat(1_000),
  ])
  const name = random.pick<unknown>([...TOOL_NAMES, '__proto__', 'constructor', 'toString', '', 7, null, {}])
  const call = {
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name, arguments: wrongArguments(random) },
  }
  const message = random.pick<unknown>([
    call,
    call,
    { ...call, jsonrpc: random.pick<unknown>(['1.0', 2, null, undefined]) },
    { ...call, params: random.pick(WRONG_VALUES) },
    {
      ...call,
      method: random.pick<unknown>([...MCP_METHODS, 'tools/cal', '__proto__', '', 5, {}]),
    },
    { ...call, extra: random.pick(WRONG_VALUES) },
    { ...call, params: { ...call.params, uri: random.pick(WRONG_VALUES), _meta: ENVELOPE } },
    { ...call, params: { name, arguments: wrongArguments(random), _meta: random.pick(WRONG_VALUES) } },
    [call, call],
    Array.from({ length: 50 }, () => call),
  ])
  const text = JSON.stringify(message)
  // A scan takes no arguments: without the wrong ones, as their name may be spoilt, it is a call.
  return text.includes('scan_') ? Buffer.from(text) : spoilt(random, Buffer.from(text))
}

/** Now and then with some bytes changed, cut off, or said twice. */
function spoilt(random: SeededRandom, message: Buffer): Buffer {
  if (!random.once(4)) return message
  const bytes = Buffer.from(message)
  for (let left = random.below(4); left > 0; left--) bytes[random.below(bytes.length)] = random.below(256)
  const cut = bytes.subarray(0, random.once(2) ? bytes.length : random.below(bytes.length))
  return random.once(3) ? Buffer.concat([cut, cut]) : cut
}

/** A body of any kind. */
export function hostileBody(random: SeededRandom): Buffer {
  const text = (content: string): Buffer => Buffer.from(content)
  return random.pick<() => Buffer>([
    () => hostileMessage(random),
    () => text(JSON.stringify(random.pick(WRONG_VALUES))),
    () => text('{"__proto__":{"isAdmin":true},"email":"a@b.c"}'),
    () => text('{"constructor":{"prototype":{"isAdmin":true}}}'),
    () => text(`{"email":${JSON.stringify(random.pick(WRONG_VALUES))},"code":"000000"}`),
    () => text(deep(1 + random.below(20_000), '[', ']')),
    () => text(deep(1 + random.below(5_000), '{"a":', '}')),
    () => text(deep(random.below(30_000), '[', '')),
    () => text('[]'),
    () => text('{"a":1e999,"b":-0,"c":123456789012345678901234567890}'),
    () => text('{"coin":"BTC","coin":"ETH","coin":null}'),
    () => text('{'),
    () => text('nul'),
    () => text(''),
    () => text('\uFEFF{}'),
    () => text(`"${'\\u0000'.repeat(1_000)}"`),
    () => Buffer.concat([text('{"email":"'), Buffer.from([0xc3, 0x28, 0xff, 0xed, 0xa0, 0x80]), text('"}')]),
    () => random.bytes(random.below(2_000)),
    () => text(JSON.stringify({ label: 'x'.repeat(random.below(70_000)) })),
  ])()
}
