import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { OAUTH_CODES } from '../../contracts/domain/oauth.ts'
import { ERRORS } from '../../contracts/errors/errors.ts'
import { openEmbeddedStore } from '../log/embedded/embedded-store.ts'
import type { OpenApiDocument } from './openapi.ts'
import { type HostileRequest, hostileRequest, type Route } from './testing/hostile-requests.ts'
import { createSeededRandom } from './testing/seeded-random.ts'
import { type RawAnswer, sendBytes } from './testing/send-bytes.ts'
import { type ServiceProcess, startServiceProcess } from './testing/start-service-process.ts'

const REQUESTS = Number(process.env.HOSTILE_REQUESTS ?? 20_000)
const SEED = Number(process.env.HOSTILE_SEED ?? 8_402)
const AT_ONCE = 32
const HANGING_MS = 15_000
/** More than a run needs, and less than a leak of a few kilobytes per request would take. */
const GROWTH_BYTES = 200_000_000
const OPERATOR_TOKEN = 'operator-token-for-tests'

const AS_OPERATOR = { authorization: `Bearer ${OPERATOR_TOKEN}` }

let service: ServiceProcess
let routes: Route[]

beforeAll(async () => {
  service = await startServiceProcess({
    OPERATOR_TOKEN,
    COINS: 'BTC',
    TIMEFRAMES: '1m,1h',
    RATE_PER_ADDRESS: 'off',
    RATE_PER_KEY: 'off',
  })
  const response = await fetch(`${service.url}/openapi.json`)
  const { paths } = (await response.json()) as OpenApiDocument
  const described = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => ({ method: method.toUpperCase(), path })),
  )
  // A stream has no end that could be waited for. Beside what is described: the operator's route, and what is none.
  routes = [
    ...described.filter(({ path }) => path !== '/api/verdicts/stream'),
    { method: 'POST', path: '/operator/tools/{tool}' },
    { method: 'POST', path: '/api/trade-call' },
    { method: 'GET', path: '/{anything}' },
  ]
})
afterAll(async () => {
  await service?.stop()
  service?.remove()
})

async function metric(name: string): Promise<number> {
  const text = await (await fetch(`${service.url}/metrics`, { headers: AS_OPERATOR })).text()
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1])
}

/** The fault of an answer; undefined where there is none. */
function faultOf(request: HostileRequest, answer: RawAnswer): string | undefined {
  const { status, headers, body, isHanging } = answer
  if (isHanging) return 'no end of the answer'
  if (request.isAbandoned) return undefined
  if (status === undefined) return request.mayBeSilent ? undefined : 'no answer'
  if (status >= 500 && status !== 503) return `status ${status}: ${body}`
  if (request.kind.endsWith(' /mcp')) {
    const fault = mcpFault(status, answer)
    if (fault !== undefined) return `${fault}: ${status} ${body}`
  }
  if (status < 400) return undefined
  if (/FST_|node_modules|\.ts:\d|\n\s+at /.test(body)) return `it tells of the inside: ${body}`
  // Bytes that cannot be read are refused with a body, whatever method they begin with.
  if (request.bytes.subarray(0, 5).toString() === 'HEAD ' && body === '') return undefined
  if (/^text\/html\b/.test(headers.get('content-type') ?? '')) {
    const [, shown, code] = /<small>(\d+) <code>(\w+)<\/code>/.exec(body) ?? []
    const errors: Readonly<Record<string, { readonly status: number }>> = ERRORS
    return Number(shown) === status && errors[code ?? '']?.status === status
      ? undefined
      : `a page without its code: ${body}`
  }
  if (!/^application\/json\b/.test(headers.get('content-type') ?? ''))
    return `status ${status} is not JSON: ${body}`
  try {
    return refusalFault(status, JSON.parse(body) as Record<string, unknown>)
  } catch {
    return `status ${status} is not JSON: ${body}`
  }
}

/** Inside the Model Context Protocol: JSON-RPC or nothing, no challenge and no session. */
function mcpFault(status: number, { headers, body }: RawAnswer): string | undefined {
  if (headers.has('www-authenticate') || headers.has('mcp-session-id')) return 'a challenge, or a session'
  if (status >= 300) return undefined
  if (status !== 200) return body === '' ? undefined : 'a body'
  const { jsonrpc, error, result } = JSON.parse(body) as Readonly<Record<string, unknown>>
  return jsonrpc === '2.0' && (error === undefined) !== (result === undefined)
    ? undefined
    : 'no answer of JSON-RPC'
}

function refusalFault(status: number, body: Record<string, unknown>): string | undefined {
  // Inside the Model Context Protocol a refusal is one of JSON-RPC.
  if (body.jsonrpc === '2.0' && typeof (body.error as { code?: unknown } | undefined)?.code === 'number')
    return undefined
  // OAuth has a form and codes of its own.
  const { error, error_description: description } = body
  if (typeof error === 'string' && 'error_description' in body) {
    const isKnown = (OAUTH_CODES as readonly string[]).includes(error)
    return isKnown &&
      typeof description === 'string' &&
      description !== '' &&
      (status === 400 || status === 401)
      ? undefined
      : `not as OAuth refuses: ${status} ${JSON.stringify(body)}`
  }
  const { code, message } = body
  if (typeof code !== 'string' || !Object.hasOwn(ERRORS, code))
    return `an unknown code: ${JSON.stringify(body)}`
  if (typeof message !== 'string' || message === '') return `no message: ${JSON.stringify(body)}`
  const expected = ERRORS[code as keyof typeof ERRORS].status
  return expected === status ? undefined : `${code} with ${status} instead of ${expected}`
}

/** Sends the next requests of the run, and tells what went wrong. */
async function attack(random: ReturnType<typeof createSeededRandom>, count: number): Promise<string[]> {
  const port = Number(new URL(service.url).port)
  const faults: string[] = []
  let left = count
  const sendSome = async (): Promise<void> => {
    while (left > 0 && faults.length < 10) {
      left -= 1
      const request = hostileRequest(random, routes)
      const { isAbandoned } = request
      const answer = await sendBytes(request.bytes, { port, isAbandoned, timeoutMs: HANGING_MS })
      const fault = faultOf(request, answer)
      if (fault === undefined) continue
      const shown = request.bytes.subarray(0, 400).toString('latin1')
      faults.push(`${request.kind}: ${fault.slice(0, 400)}\n${JSON.stringify(shown)}`)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, sendSome))
  return faults
}

const askTool = async (): Promise<Record<string, unknown>> => {
  const response = await fetch(`${service.url}/operator/tools/get_trade_call`, {
    method: 'POST',
    headers: { authorization: `Bearer ${OPERATOR_TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({ coin: 'BTC', timeframe: '1m' }),
  })
  expect(response.status).toBe(200)
  return (await response.json()) as Record<string, unknown>
}

/** A tool call as any caller makes it; it is the only one of this run that is charged. */
async function askToolAsCaller(): Promise<Record<string, unknown>> {
  const response = await fetch(`${service.url}/mcp`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2025-11-25',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'get_trade_call', arguments: { coin: 'BTC', timeframe: '1m' } },
    }),
  })
  const { result } = (await response.json()) as { result: { structuredContent: Record<string, unknown> } }
  return result.structuredContent
}

describe(`${REQUESTS} hostile requests`, () => {
  const random = createSeededRandom(SEED)
  let before: number

  test('find a service that answers', async () => {
    expect(await askTool()).toMatchObject({ coin: 'BTC', call: expect.stringMatching(/^(BUY|SELL|HOLD)$/) })
    expect(await attack(random, Math.min(REQUESTS, 1_000))).toEqual([])
    // What a first thousand loads and compiles is no leak.
    before = await metric('process_resident_memory_bytes')
    expect(before).toBeGreaterThan(0)
  })

  test('are each refused or answered in the words of the registry, and none hangs', {
    timeout: 180_000,
  }, async () => {
    expect(await attack(random, Math.max(0, REQUESTS - 1_000))).toEqual([])
  })

  test('leave the process as it was: alive, ready, of the same size, without a line in its log', async () => {
    expect(service.exitCode()).toBeUndefined()
    expect((await fetch(`${service.url}/livez`)).status).toBe(200)
    expect(await (await fetch(`${service.url}/readyz`)).json()).toMatchObject({ status: 'ready' })
    expect(await askTool()).toMatchObject({ coin: 'BTC' })
    expect(service.log()).toBe('')
    // Garbage is collected when there is need; a bound that a leak would pass is enough.
    expect((await metric('process_resident_memory_bytes')) - before).toBeLessThan(GROWTH_BYTES)
  })

  test('leave no connection behind', async () => {
    const connections = async (): Promise<number> => {
      const text = await (await fetch(`${service.url}/metrics`, { headers: AS_OPERATOR })).text()
      return Number(/^nodejs_active_handles\{type="Socket"\} (\d+)$/m.exec(text)?.[1] ?? 0)
    }
    for (let tries = 0; tries < 50 && (await connections()) > 20; tries++) await delay(100)
    expect(await connections()).toBeLessThanOrEqual(20)
  })

  test('leave the next caller the whole allowance of its address', async () => {
    expect(await askToolAsCaller()).toMatchObject({
      coin: 'BTC',
      _service: { quota: { used: 1 }, auth: { outcome: 'ABSENT', tier: 'free' } },
    })
  })

  test('leave nothing in the log but what that caller was charged', async () => {
    expect(await service.stop()).toBe(0)
    const store = await openEmbeddedStore({
      directory: join(service.dataDirectory, 'simulated'),
      now: Date.now,
    })
    const counts = new Map<string, number>()
    for await (const { type } of store.readAll()) counts.set(type, (counts.get(type) ?? 0) + 1)
    await store.close()
    expect(counts.get('VerdictRecorded')).toBeGreaterThan(0)
    const consequences = [...counts].filter(([type]) => /^(Quota|Payment|KeyIssued|Account)/.test(type))
    expect(consequences).toEqual([['QuotaDebited', 1]])
  })
})
