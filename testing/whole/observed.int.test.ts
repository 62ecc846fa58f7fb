import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join, resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runSignal } from '../../services/cli/kit/run-signal.fixture.ts'
import { type OwnService, startOwnService } from '../../services/composition/own-service.fixture.ts'
import {
  attributeOf,
  type Collector,
  type SentSpan,
  startCollector,
} from '../../services/runtime/tracing/collector.fixture.ts'
import { readTraceparent } from '../../services/runtime/tracing/trace-context.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8')
const OPERATOR = 'operator-token-of-tests'
const TRACE_ID = '0af7651916cd43dd8448eb211c80319c'

let collector: Collector
let receiver: Server
let service: OwnService
let key: string
let subscription: string
const received: IncomingHttpHeaders[] = []

const ask = async (path: string, init: RequestInit = {}): Promise<string> =>
  (await fetch(`${service.url}${path}`, init)).text()

beforeAll(async () => {
  collector = await startCollector()
  receiver = createServer((request, response) => {
    received.push(request.headers)
    request.resume().on('end', () => response.end())
  })
  receiver.listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  service = await startOwnService({
    COINS: 'BTC,ETH',
    TIMEFRAMES: '1m,1h',
    MARKET_SPEED: '300',
    WEBHOOKS_ALLOW_PRIVATE: 'true',
    OPERATOR_TOKEN: OPERATOR,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_TRACES_SAMPLER_ARG: '1',
  })
  const { said } = await runSignal('keys', 'create', '--tier', 'starter', '--data-dir', service.folder)
  key = /sk_live_\w+/.exec(said)?.[0] ?? ''
  const { port } = receiver.address() as AddressInfo
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const body = JSON.stringify({
    url: `http://127.0.0.1:${port}/hook-path`,
    events: ['regime_shift', 'trade_call'],
  })
  const created = JSON.parse(await ask('/api/webhooks', { method: 'POST', headers, body })) as {
    id: string
    secret: string
  }
  subscription = created.id
  while (received.length < 2) await setTimeout(50)
})
afterAll(async () => {
  await service?.stop()
  receiver.close()
  receiver.closeAllConnections()
  await collector.close()
})

const METRIC = /\b[a-z][a-z0-9]*(?:_[a-z0-9]+)+(?=\{)/g

describe('what a running service says about itself', () => {
  test.each(['deploy/prometheus/alerts.yml', 'deploy/grafana/dashboards/signal-service.json'])(
    'every metric and label in %s exists',
    async (file) => {
      const text = await ask('/metrics', { headers: { authorization: `Bearer ${OPERATOR}` } })
      const there = new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map((match) => match[1]))
      const named = [...read(file).matchAll(METRIC)].map(([name]) => name)
      expect(named.length).toBeGreaterThan(10)
      const missing = named.filter(
        (name) => !there.has(name) && !there.has(name.replace(/_(?:bucket|sum|count)$/, '')),
      )
      expect([...new Set(missing)]).toEqual([])
    },
  )

  test('every alert has a section of the runbook, and every section an alert', () => {
    const alerts = [...read('deploy/prometheus/alerts.yml').matchAll(/- alert: (\w+)/g)].map(
      (match) => match[1],
    )
    const urls = [...read('deploy/prometheus/alerts.yml').matchAll(/runbook_url: \S+\/docs\/runbook#(\w+)/g)]
    const sections = [...read('docs/runbook.md').matchAll(/^## (\w+)$/gm)].map((match) => match[1])
    expect(new Set(sections)).toEqual(new Set(alerts))
    expect(sections).toHaveLength(alerts.length)
    expect(urls.map((match) => match[1])).toEqual(alerts.map((name) => name?.toLowerCase()))
  })
})

describe('traces', () => {
  /** Spans from the first of a trace to the last, each with its parent. */
  const chain = (last: SentSpan): string[] => {
    const parent = collector.spans.find(
      ({ traceId, spanId }) => traceId === last.traceId && spanId === last.parentSpanId,
    )
    return [...(parent === undefined ? [] : chain(parent)), last.name]
  }
  const spanNamed = async (name: string, traceId?: string): Promise<SentSpan> => {
    for (;;) {
      const found = collector.spans.find(
        (span) => span.name === name && (traceId === undefined || span.traceId === traceId),
      )
      if (found !== undefined) return found
      await setTimeout(100)
    }
  }

  test('go from a request by its tool call to the append that counts it', async () => {
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      traceparent: `00-${TRACE_ID}-b7ad6b7169203331-00`,
    }
    const call = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'get_trade_call', arguments: { coin: 'BTC', timeframe: '1h' } },
    }
    const answer = await ask('/mcp', { method: 'POST', headers, body: JSON.stringify(call) })
    expect(answer).toContain('structuredContent')
    const append = await spanNamed('append quota', TRACE_ID)
    await spanNamed('POST /mcp', TRACE_ID)
    expect(chain(append)).toEqual(['POST /mcp', 'tools/call get_trade_call', 'append quota'])
  })

  test('go from a closed bar over the log to the attempt, and on to the receiver', async () => {
    const { traceparent } = received[0] ?? {}
    const told = readTraceparent(String(traceparent))
    let sent: SentSpan | undefined
    while (sent === undefined) {
      await setTimeout(100)
      sent = collector.spans.find(({ spanId }) => spanId === told?.spanId)
    }
    const [, ...rest] = chain(sent)
    expect(chain(sent)[0]).toBe('append verdict')
    expect(rest.map((name) => name.split(' ')[0])).toEqual(['dispatch', 'send'])
    expect(attributeOf(sent, 'messaging.system')).toBe('webhook')
  })

  test('hold nothing of callers and receivers', () => {
    const all = collector.exports.map(({ body }) => body).join('\n')
    expect(all.length).toBeGreaterThan(1_000)
    for (const secret of [key, OPERATOR, 'hook-path', subscription, '127.0.0.1'])
      expect(all.includes(secret) ? secret : undefined).toBeUndefined()
  })
})
