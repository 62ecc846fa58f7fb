import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join, resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runSignal } from '../../services/cli/kit/run-signal.fixture.ts'
import { type OwnService, startOwnService } from '../../services/composition/own-service.fixture.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8')
const OPERATOR = 'operator-token-of-tests'

let receiver: Server
let service: OwnService
let key: string
const received: IncomingHttpHeaders[] = []

const ask = async (path: string, init: RequestInit = {}): Promise<string> =>
  (await fetch(`${service.url}${path}`, init)).text()

beforeAll(async () => {
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
  })
  const { said } = await runSignal('keys', 'create', '--tier', 'starter', '--data-dir', service.folder)
  key = /sk_live_\w+/.exec(said)?.[0] ?? ''
  const { port } = receiver.address() as AddressInfo
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const body = JSON.stringify({
    url: `http://127.0.0.1:${port}/hook-path`,
    events: ['regime_shift', 'trade_call'],
  })
  await ask('/api/webhooks', { method: 'POST', headers, body })
  while (received.length < 2) await setTimeout(50)
})
afterAll(async () => {
  await service?.stop()
  receiver.close()
  receiver.closeAllConnections()
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
