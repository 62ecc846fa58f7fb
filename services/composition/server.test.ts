import { type AddressInfo, connect } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { verdictRowSchema } from '../../contracts/answers/verdict-row.ts'
import { aVerdict } from '../../contracts/domain/verdict.fixture.ts'
import type { Verdict } from '../../contracts/domain/verdict.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { appendFacts, outcomeOf, verdictRecorded } from '../../projections/given-events.fixture.ts'
import { openMemoryStore } from '../../testing/memory-store/memory-store.ts'
import { followVerdicts } from '../analyst/index.ts'
import { createHealthServer } from '../http/operator.ts'
import { type Readiness, readinessOf } from '../http/routes/health.ts'
import { NO_READ_MODELS } from '../http/testing/no-read-models.ts'
import { replaysOf } from '../http/testing/replays.fixture.ts'
import { serverOptions } from '../http/testing/server-options.fixture.ts'
import type { EventStore } from '../log/event-store.ts'
import { sleep } from '../runtime/async/sleep.ts'
import { uuidV8 } from '../runtime/ids/uuid.ts'
import { createServer, type ServerOptions } from './server.ts'

const HOUR_MS = 3_600_000
const T0 = Date.UTC(2025, 0, 1)
const OPERATOR_TOKEN = 'operator-token-for-tests'

let store: EventStore
let readiness: Readiness
let app: Awaited<ReturnType<typeof createServer>>
let base: string
let requests: number

async function start(change: Partial<ServerOptions> = {}): Promise<void> {
  app = await createServer(
    serverOptions({
      operatorToken: OPERATOR_TOKEN,
      newId: () => `request-${++requests}`,
      readiness: async () => readiness,
      replay: replaysOf(store),
      follow: (options) => followVerdicts(store, { ...options, sleep }),
      ...NO_READ_MODELS,
      answerTool: async () => ({}),
      ...change,
    }),
  )
  await app.listen({ host: '127.0.0.1', port: 0 })
  const address = app.server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  base = `http://127.0.0.1:${address.port}`
}

beforeEach(async () => {
  requests = 0
  store = openMemoryStore({ now: () => T0 })
  readiness = readinessOf([])
  await start()
})
afterEach(() => app.close())

let made = 0
async function record(change: Partial<Verdict>): Promise<Verdict> {
  const verdictId = uuidV8(Buffer.from((++made).toString(16).padStart(32, '0'), 'hex'))
  const verdict = aVerdict({ ...change, verdictId })
  await appendFacts(store, verdictRecorded(verdict))
  return verdict
}

async function label(...verdicts: readonly Verdict[]): Promise<void> {
  for (const verdict of verdicts) await appendFacts(store, outcomeOf(verdict))
}

/** Hourly verdicts whose windows are eight hours long. */
async function recordHours(count: number, change: Partial<Verdict> = {}): Promise<Verdict[]> {
  const verdicts: Verdict[] = []
  for (let n = 0; n < count; n++) {
    const barClose = T0 + n * HOUR_MS
    verdicts.push(await record({ barClose, validUntil: barClose + 8 * HOUR_MS, ...change }))
  }
  return verdicts
}

async function rows(query = '', headers: Record<string, string> = {}): Promise<Record<string, unknown>[]> {
  const response = await fetch(`${base}/api/verdicts${query}`, { headers })
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toBe('application/x-ndjson; charset=utf-8')
  const text = await response.text()
  return text === ''
    ? []
    : text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as Record<string, unknown>)
}

const asOperator = { authorization: `Bearer ${OPERATOR_TOKEN}` }
const idsOf = (verdicts: readonly Verdict[]): string[] => verdicts.map((verdict) => verdict.verdictId)
const rowIds = (all: readonly Record<string, unknown>[]): unknown[] => all.map((row) => row.verdict_id)

describe('GET /api/verdicts', () => {
  test('shows a verdict once its outcome is recorded; the operator sees everything', async () => {
    const verdicts = await recordHours(3)
    expect(await rows()).toEqual([])
    await label(...verdicts.slice(0, 1))
    expect(rowIds(await rows())).toEqual(idsOf(verdicts.slice(0, 1)))
    expect(rowIds(await rows('', asOperator))).toEqual(idsOf(verdicts))
  })

  test('gives rows of the published shape, with every field of the verdict', async () => {
    const verdict = await record({ coin: '1000PEPE', call: 'SELL', barClose: T0, validUntil: T0 })
    await label(verdict)
    const [row] = await rows()
    expect(verdictRowSchema.strict().parse(row)).toMatchObject({
      verdict_id: verdict.verdictId,
      coin: '1000PEPE',
      call: 'SELL',
      bar_close: '2025-01-01T00:00:00.000Z',
      recorded_at: '2025-01-01T00:00:00.000Z',
      inputs_hash: verdict.inputsHash,
      factors: verdict.factors,
    })
  })

  test('filters by exchange, coin, timeframe, call and time of the bar', async () => {
    const btc = await recordHours(3, { coin: 'BTC', call: 'BUY' })
    const eth: Verdict[] = []
    for (const bars of [0, 1, 2]) {
      const barClose = T0 + bars * 4 * HOUR_MS
      const series = { coin: 'ETH', exchange: 'BINANCE', timeframe: '4h' } as const
      eth.push(await record({ ...series, barClose, validUntil: barClose + 8 * HOUR_MS }))
    }
    await label(...btc, ...eth)
    expect(rowIds(await rows('?coin=BTC'))).toEqual(idsOf(btc))
    expect(rowIds(await rows('?coin=BTC,ETH'))).toEqual(idsOf([...btc, ...eth]))
    expect(rowIds(await rows('?coin=btc,Eth&exchange=sim,binance'))).toEqual(idsOf([...btc, ...eth]))
    expect(rowIds(await rows('?timeframe=4H'))).toEqual(idsOf(eth))
    expect(rowIds(await rows('?exchange=BINANCE'))).toEqual(idsOf(eth))
    expect(rowIds(await rows('?exchange=BINANCE,SIM&coin=ETH'))).toEqual(idsOf(eth))
    expect(rowIds(await rows('?timeframe=4h'))).toEqual(idsOf(eth))
    expect(rowIds(await rows('?call=BUY,SELL'))).toEqual(idsOf(btc))
    const from = new Date(T0 + HOUR_MS).toISOString()
    const to = new Date(T0 + 5 * HOUR_MS).toISOString()
    expect(rowIds(await rows(`?from=${from}&to=${to}`))).toEqual(
      idsOf([btc[1] as Verdict, btc[2] as Verdict, eth[1] as Verdict]),
    )
    expect(rowIds(await rows('?to=2025-01-01'))).toEqual([])
  })

  test('resumes behind any row, and behind it brings what became visible since', async () => {
    const slow = await record({ barClose: T0, timeframe: '8h' })
    const quick = await recordHours(3)
    await label(...quick)
    const shown = await rows()
    expect(rowIds(shown)).toEqual(idsOf(quick))
    for (const [index, row] of shown.entries()) {
      expect(rowIds(await rows(`?after=${String(row.cursor)}`))).toEqual(idsOf(quick.slice(index + 1)))
    }
    await label(slow)
    const last = String(shown.at(-1)?.cursor)
    expect(rowIds(await rows(`?after=${last}`))).toEqual([slow.verdictId])
  })

  test('pages by limit; as_of shows the log as it was', async () => {
    const verdicts = await recordHours(5)
    const first = await rows('?limit=2', asOperator)
    const second = await rows(`?limit=9&after=${String(first[1]?.cursor)}`, asOperator)
    expect(rowIds([...first, ...second])).toEqual(idsOf(verdicts))
    expect(rowIds(await rows('?as_of=3', asOperator))).toEqual(idsOf(verdicts.slice(0, 3)))
    expect(await rows('?as_of=2024-12-31T23:59:59Z', asOperator)).toEqual([])
  })

  test.each([
    ['?coin=B-C', 'coin'],
    ['?timeframe=1M', 'timeframe'],
    ['?coin=BTC,$$', 'coin'],
    ['?timeframe=7m', 'timeframe'],
    ['?exchange=NASDAQ', 'exchange'],
    ['?call=MAYBE', 'call'],
    ['?limit=0', 'limit'],
    ['?limit=1e99', 'limit'],
    ['?limit=x', 'limit'],
    ['?after=yesterday', 'after'],
    ['?as_of=soon', 'as_of'],
    ['?as_of=hello-1', 'as_of'],
    ['?as_of=-1', 'as_of'],
    ['?from=1st of May', 'from'],
    ['?from=2025-01-02&to=2025-01-01', 'from'],
    ['?coins=BTC', 'coins'],
    [`?coin=${Array.from({ length: 101 }, () => 'A').join(',')}`, 'coin'],
  ])('refuses %s and names the field', async (query, field) => {
    const response = await fetch(`${base}/api/verdicts${query}`)
    const body = (await response.json()) as { code: string; message: string }
    expect(response.status).toBe(400)
    expect(body.code).toBe('invalid_request')
    expect(body.message.split(':')[0]).toBe(field)
    expect(body.message).not.toMatch(/querystring|pattern|\/\^/)
  })

  test.each(['from', 'to', 'as_of'])(
    'refuses an instant in %s that has no zone, and says so',
    async (field) => {
      const response = await fetch(`${base}/api/verdicts?${field}=2025-01-02T00:00`)
      expect([response.status, await response.json()]).toMatchObject([
        400,
        { message: `${field}: has no zone: add Z, as in 2025-01-02T00:00Z, or an offset as +02:00` },
      ])
    },
  )

  test.each(['Bearer wrong-token-wrong-token', 'Bearer', 'Basic YTpi', `Bearer ${'x'.repeat(600)}`])(
    'refuses the credential %j',
    async (authorization) => {
      const response = await fetch(`${base}/api/verdicts`, { headers: { authorization } })
      expect(response.status).toBe(401)
      expect(await response.json()).toMatchObject({ code: 'unauthorized' })
    },
  )

  test('a key is not meant for it: it is neither refused nor shows more', async () => {
    const verdicts = await recordHours(3)
    await label(...verdicts.slice(0, 1))
    const authorization = `Bearer sk_live_${'0'.repeat(32)}`
    expect(rowIds(await rows('', { authorization }))).toEqual(idsOf(verdicts.slice(0, 1)))
    const stream = await fetch(`${base}/api/verdicts/stream`, { headers: { authorization } })
    expect(stream.status).toBe(200)
    await stream.body?.cancel()
  })

  test('a store that is away is a 503 with a next step, not a cut answer', async () => {
    await store.close()
    const response = await fetch(`${base}/api/verdicts`)
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1'])
    expect(await response.json()).toMatchObject({ code: 'store_unavailable', next_step: expect.any(String) })
  })
})

describe('health', () => {
  test('livez is alive; readyz tells ready, degraded and unready apart', async () => {
    expect((await fetch(`${base}/livez`)).status).toBe(200)
    const part = { name: 'bus', detail: 'gone', isRequired: false } as const
    readiness = readinessOf([{ ...part, state: 'ok' }])
    expect(await (await fetch(`${base}/readyz`)).json()).toEqual({ status: 'ready' })
    await restart(readinessOf([{ ...part, state: 'failed' }]))
    const degraded = await fetch(`${base}/readyz`)
    expect([degraded.status, ((await degraded.json()) as Readiness).status]).toEqual([200, 'degraded'])
    await restart(readinessOf([{ ...part, state: 'failed', isRequired: true }]))
    expect((await fetch(`${base}/readyz`)).status).toBe(503)
  })

  /** A result is cached for a moment. */
  async function restart(state: Readiness): Promise<void> {
    await app.close()
    readiness = state
    await start()
  }

  test('readyz says what is wrong to the operator alone, and asks its parts once for many', async () => {
    let asked = 0
    await app.close()
    const part = { name: 'cache', detail: 'redis://inside:6379', isRequired: false, state: 'failed' } as const
    await start({
      readiness: async () => {
        asked += 1
        return readinessOf([part])
      },
    })
    const answers = await Promise.all(
      Array.from({ length: 20 }, async () => (await fetch(`${base}/readyz`)).text()),
    )
    expect(new Set(answers)).toEqual(new Set(['{"status":"degraded"}']))
    const key = { authorization: `Bearer sk_live_${'0'.repeat(32)}` }
    expect(await (await fetch(`${base}/readyz`, { headers: key })).text()).toBe('{"status":"degraded"}')
    const told = await (await fetch(`${base}/readyz`, { headers: asOperator })).json()
    expect(told).toEqual({ status: 'degraded', components: [part] })
    expect(asked).toBe(1)
  })

  test('readyz says to anybody which venue cannot be reached, since when and why', async () => {
    await app.close()
    const venue = { exchange: 'OKX', since: '2026-03-03T12:00:00.000Z', reason: 'no such host' }
    const part = {
      name: 'venue OKX',
      detail: 'proxy.inside: secret',
      isRequired: false,
      state: 'failed',
    } as const
    await start({ readiness: async () => readinessOf([part]), unreachable: () => [venue] })
    expect(await (await fetch(`${base}/readyz`)).json()).toEqual({ status: 'degraded', unreachable: [venue] })
    expect(await (await fetch(`${base}/readyz`, { headers: asOperator })).json()).toEqual({
      status: 'degraded',
      unreachable: [venue],
      components: [part],
    })
  })

  test('what could not be found out is asked for anew', async () => {
    await app.close()
    let asked = 0
    await start({
      readiness: async () => {
        asked += 1
        if (asked === 1) throw new Error('once')
        return readinessOf([])
      },
    })
    expect((await fetch(`${base}/readyz`)).status).toBe(500)
    expect((await fetch(`${base}/readyz`)).status).toBe(200)
  })

  test('metrics are the operator’s', async () => {
    for (const headers of [{}, { authorization: 'Bearer sk_live_x' }, { authorization: 'Bearer nobody' }]) {
      const response = await fetch(`${base}/metrics`, { headers })
      expect(response.status).toBe(401)
      expect(await response.text()).not.toContain('http_request')
    }
  })

  test('the door of the operator’s machines serves health in full, metrics, and nothing else', async () => {
    const door = createHealthServer(app)
    await new Promise<void>((resolve) => door.listen(0, '127.0.0.1', resolve))
    const { port } = door.address() as AddressInfo
    const ask = async (path: string, init?: RequestInit) => {
      const response = await fetch(`http://127.0.0.1:${port}${path}`, init)
      return [response.status, await response.text()] as const
    }
    expect(await ask('/readyz')).toEqual([200, '{"status":"ready","components":[]}'])
    expect((await ask('/metrics'))[1]).toContain('http_server_request_duration_seconds')
    expect((await ask('/livez'))[0]).toBe(200)
    for (const path of [
      '/',
      '/api/verdicts',
      '/operator/accounts',
      '/readyz/../operator/accounts',
      '/nope',
    ]) {
      expect(await ask(path)).toEqual([404, expect.stringContaining('not_found')])
    }
    expect((await ask('/readyz', { method: 'POST' }))[0]).toBe(404)
    door.closeAllConnections()
    door.close()
  })

  test('metrics count requests by route, not by path', async () => {
    await fetch(`${base}/livez`)
    await fetch(`${base}/nowhere/1`)
    const text = await (await fetch(`${base}/metrics`, { headers: asOperator })).text()
    expect(text).toMatch(
      /http_server_request_duration_seconds_count\{http_request_method="GET",http_route="\/livez",http_response_status_code="200"\} 1/,
    )
    expect(text).toMatch(/http_route="\(none\)",http_response_status_code="404"\} 1/)
    expect(text).not.toContain('nowhere')
  })
})

describe('refusals', () => {
  test.each(['/*a', '/docs/*/x', '/:a:b', '/verify/:verdict_id', '/(a', '/a::b*'])(
    'a path that looks like a pattern of paths is unknown: %s',
    async (path) => expect((await fetch(base + path, { method: 'PUT' })).status).toBe(404),
  )

  test('an unknown path is 404, a known one with another method 405 with Allow', async () => {
    const missing = await fetch(`${base}/api/trade-call`)
    expect(missing.status).toBe(404)
    expect(await missing.json()).toMatchObject({
      code: 'not_found',
      request_id: missing.headers.get('x-request-id'),
    })
    const method = await fetch(`${base}/api/verdicts`, { method: 'POST', body: '{}' })
    expect(method.status).toBe(405)
    expect(method.headers.get('allow')).toBe('HEAD, GET')
    expect(await method.json()).toMatchObject({ code: 'method_not_allowed' })
  })

  test.each([
    ['GET /%c0 HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n', 400],
    ['garbage\r\n\r\n', 400],
    [`GET /${'a'.repeat(40_000)} HTTP/1.1\r\nhost: x\r\n\r\n`, 431],
    [`GET / HTTP/1.1\r\nhost: x\r\nx-payment: ${'a'.repeat(16_384)}\r\n\r\n`, 431],
    ['POST /api/verdicts HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n', 400],
    // No Host, which a request of this version has to have.
    ['GET /livez HTTP/1.1\r\nconnection: close\r\n\r\n', 400],
  ])('bytes that are no request, or too many, are refused in our words: %j', async (bytes, status) => {
    const answer = await new Promise<string>((resolve, reject) => {
      const socket = connect(Number(new URL(base).port), '127.0.0.1', () => socket.end(bytes))
      let text = ''
      socket.setEncoding('utf8').on('data', (chunk) => (text += String(chunk)))
      socket.on('close', () => resolve(text)).on('error', reject)
    })
    expect(answer).toContain(`HTTP/1.1 ${status}`)
    expect(answer).toContain(status === 431 ? 'headers_too_large' : 'invalid_request')
    expect(answer).not.toContain('FST_')
  })

  test('an address that is too long is 414, whatever it asks for', async () => {
    const longest = await fetch(
      `${base}/livez?x=${'y'.repeat(LIMITS.requestUrlCharacters - '/livez?x='.length)}`,
    )
    expect(longest.status).toBe(200)
    const response = await fetch(`${base}/livez?x=${'y'.repeat(LIMITS.requestUrlCharacters)}`)
    expect(response.status).toBe(414)
    expect(await response.json()).toMatchObject({ code: 'uri_too_long' })
  })

  test('an unforeseen failure tells the caller nothing but a request id', async () => {
    await app.close()
    await start({
      replay: () => {
        throw new Error('password=hunter2')
      },
    })
    const response = await fetch(`${base}/api/verdicts`)
    const text = await response.text()
    expect(response.status).toBe(500)
    expect(text).not.toContain('hunter2')
    expect(JSON.parse(text)).toMatchObject({ code: 'internal_error', request_id: expect.any(String) })
  })

  test('answers carry security headers', async () => {
    const { headers } = await fetch(`${base}/`)
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('content-security-policy')).toContain("default-src 'none'")
  })
})

describe('shutdown', () => {
  /** A replay that gives one row, and a second once it is told to. */
  async function startGated(): Promise<{ begun: Promise<void>; open: () => void }> {
    const begun = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<void>()
    await app.close()
    await start({
      replay: () => ({
        notes: () => ({}),
        chunks: (async function* () {
          begun.resolve()
          await gate.promise
          yield '{"cursor":"1"}\n'
        })(),
      }),
    })
    return { begun: begun.promise, open: gate.resolve }
  }

  test('finishes the answer in flight with connection: close, and takes no more', async () => {
    const { begun, open } = await startGated()
    const inFlight = fetch(`${base}/api/verdicts`)
    await begun
    const closing = app.close()
    while (app.server.listening) await new Promise((resolve) => setImmediate(resolve))
    open()
    const response = await inFlight
    expect([response.status, response.headers.get('connection')]).toEqual([200, 'close'])
    expect(await response.text()).toBe('{"cursor":"1"}\n')
    await closing
    await expect(fetch(`${base}/livez`)).rejects.toThrow()
  })

  test('is not held up by a connection kept alive behind an answer that had begun', async () => {
    const { begun, open } = await startGated()
    const inFlight = fetch(`${base}/api/verdicts`)
    await begun
    const closing = app.close()
    // In the same turn, before the shutdown could mark the answer.
    open()
    expect(await (await inFlight).text()).toBe('{"cursor":"1"}\n')
    await closing
  })

  test('is not held up by connections that never asked anything, or not wholly', async () => {
    const port = Number(new URL(base).port)
    const sockets = ['', 'GET /livez HTTP/1.1\r\nhost:'].map((text) => {
      const socket = connect(port, '127.0.0.1', () => socket.write(text))
      return { hungUp: new Promise((resolve) => socket.once('close', resolve)), socket }
    })
    await Promise.all(sockets.map(({ socket }) => new Promise((resolve) => socket.once('connect', resolve))))
    await fetch(`${base}/livez`)
    await app.close()
    expect(await Promise.all(sockets.map(({ hungUp }) => hungUp))).toHaveLength(2)
  })
})
