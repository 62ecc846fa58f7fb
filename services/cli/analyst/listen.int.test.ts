import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { isoTime } from '../../../contracts/iso-time.ts'
import { aVerdict } from '../../../contracts/verdict.fixture.ts'
import { verdictRow } from '../../../contracts/verdict-row.ts'
import { type RunningService, startService } from '../../composition/start-service.ts'
import { readSettings } from '../../runtime/config/read-settings.ts'
import { signalData } from '../../webhooks/deliveries/delivery-body.ts'
import { verifyWebhook } from '../../webhooks/receiving/verify-webhook.fixture.ts'
import { toSignals } from '../../webhooks/signals/signal-facts.ts'
import { beginSignal, runSignal } from '../kit/run-signal.fixture.ts'

interface Received {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

let folder: string
let service: RunningService
let receiver: Server
let address: string
let received: Received[] = []
let status = 200

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'listen-'))
  receiver = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk))
    request.on('end', () => {
      received.push({ path: request.url ?? '', headers: request.headers, body })
      response.writeHead(status).end()
    })
  })
  receiver.listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  address = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`
  const flags = ['--port', '0', '--data-dir', folder, '--console', 'off', '--speed', '300']
  const settings = readSettings([...flags, '--webhooks-allow-private'], {
    FRESH: 'true',
    LOG_LEVEL: 'error',
    TIMEFRAMES: '1m',
  })
  service = await startService(settings, process.stdout)
})
afterAll(async () => {
  await service.stop()
  receiver.close()
  rmSync(folder, { recursive: true, force: true })
})
beforeEach(() => {
  received = []
  status = 200
})

const signed = (secret: string, { headers, body }: Received) =>
  verifyWebhook({ secret, headers, body, now: Date.now() })
const NOON = Date.UTC(2026, 10, 21, 12)
const PLACE = {
  stream: 'verdict-SIM.BTC.1h',
  revision: 0,
  position: '1',
  at: isoTime(NOON),
  meta: { correlationId: 'test', actor: 'test' },
}
const secretIn = (text: string): string => /whsec_\S+/.exec(text)?.[0] ?? ''

test('a sample of a chosen event is signed with the secret that is shown, and fails where it is refused', async () => {
  const sample = await runSignal('listen', `${address}/hook`, '--sample', 'scan_digest')
  expect(sample).toMatchObject({
    code: 0,
    out: expect.stringMatching(/scan_digest {2}sample {2}200 {2}\d+ ms\n$/),
  })
  const [one = expect.fail()] = received
  expect(signed(secretIn(sample.err), one)).toMatchObject({
    ok: true,
    webhook: { event: 'scan_digest', test: true },
  })
  status = 500
  const own = 'whsec_d2hzZWNfb2YtYS10cmlhbC13ZWJob29rLTMyYnl0ZXM='
  const refused = await runSignal('listen', address, '--sample', 'trade_call', '--secret', own)
  expect(refused.code).toBe(1)
  expect(signed(own, received.at(-1) ?? one).ok).toBe(true)
  for (const wrong of ['ftp://127.0.0.1/', 'hook', 'http://169.254.169.254/'])
    expect((await runSignal('listen', wrong, '--sample', 'trade_call')).code).toBeGreaterThan(0)
})

test('the live stream is relayed with the fields of webhooks, numbered, and goes on past a refusal', async () => {
  const verdicts = [
    aVerdict({ call: 'BUY' }),
    aVerdict({ call: 'HOLD' }),
    aVerdict({ call: 'SELL', previous: { barClose: NOON, regime: 'VOLATILE' } }),
  ]
  const rows = verdicts.map((verdict, n) => verdictRow(verdict, String(n), isoTime(NOON)))
  const stream = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const row of rows)
      response.write(`event: verdict\nid: ${row.cursor}\ndata: ${JSON.stringify(row)}\n\n`)
  })
  stream.listen(0, '127.0.0.1')
  await once(stream, 'listening')
  const server = `http://127.0.0.1:${(stream.address() as AddressInfo).port}`
  const ending = new AbortController()
  status = 503
  const { written, done } = beginSignal(['listen', address, '--server', server], { signal: ending.signal })
  await expect.poll(() => received.length).toBe(3)
  ending.abort()
  await done
  stream.closeAllConnections()
  stream.close()
  const webhooks = received.map((one) => {
    const verified = signed(secretIn(written.err), one)
    return verified.ok ? verified.webhook : expect.fail(verified.reason)
  })
  expect(webhooks.map(({ sequence, event }) => [sequence, event])).toEqual([
    [1, 'trade_call'],
    [2, 'trade_call'],
    [3, 'regime_shift'],
  ])
  const signals = verdicts.flatMap((data) =>
    toSignals({ ...PLACE, type: 'VerdictRecorded', schema: 4, data, id: data.verdictId }),
  )
  const data = new Map(signals.map((signal) => [signal.type, signalData(signal, server, null)]))
  expect(webhooks[1]?.data).toEqual(data.get('trade_call'))
  expect(webhooks[2]?.data).toEqual(data.get('regime_shift'))
  expect(written.out).toMatch(/trade_call {2}BTC 1h SIM BUY {2}503 {2}\d+ ms/)
})

test('what a webhook of one’s own is sent comes with the same ids and bytes', async () => {
  const { said } = await runSignal('keys', 'create', '--data-dir', folder)
  const key = /sk_live_\w+/.exec(said)?.[0] ?? ''
  const made = await fetch(`${service.url}/api/webhooks`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ url: `${address}/pushed`, events: ['trade_call', 'regime_shift'] }),
  })
  const { id, secret } = (await made.json()) as { id: string; secret: string }
  const ending = new AbortController()
  const flags = ['--webhook', id, '--secret', secret, '--server', String(service.url)]
  const { done } = beginSignal(['listen', `${address}/relayed`, ...flags], {
    signal: ending.signal,
    environment: { API_KEY: key },
  })
  const at = (path: string) => received.filter((one) => one.path === path)
  await expect.poll(() => at('/relayed').length, { timeout: 30_000 }).toBeGreaterThan(2)
  ending.abort()
  await done
  const pushed = new Set(at('/pushed').map(({ body }) => body))
  for (const one of at('/relayed').slice(0, 3)) {
    expect(pushed.has(one.body)).toBe(true)
    expect(signed(secret, one).ok).toBe(true)
  }
  const without = await runSignal('listen', address, '--webhook', id, '--server', String(service.url))
  expect(without).toMatchObject({ code: 2, err: expect.stringContaining('API_KEY') })
})
