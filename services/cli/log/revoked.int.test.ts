import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type RunningService, startService } from '../../composition/start-service.ts'
import { readSettings } from '../../runtime/config/read-settings.ts'
import { verifyWebhook } from '../../webhooks/receiving/verify-webhook.fixture.ts'
import { runSignal } from '../kit/run-signal.fixture.ts'

interface Received {
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

let folder: string
let service: RunningService | undefined
let receiver: Server
const received: Received[] = []

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'revoked-'))
  received.length = 0
  receiver = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      received.push({ headers: request.headers, body: Buffer.concat(parts) })
      response.end()
    })
  })
  receiver.listen(0, '127.0.0.1')
  await once(receiver, 'listening')
})
afterEach(async () => {
  await stop()
  receiver.close()
  receiver.closeAllConnections()
  rmSync(folder, { recursive: true, force: true })
})

async function start(name: string): Promise<void> {
  const flags = [
    '--port',
    '0',
    '--data-dir',
    join(folder, name),
    '--console',
    'off',
    '--webhooks-allow-private',
  ]
  const environment = {
    FRESH: 'true',
    LOG_LEVEL: 'error',
    COINS: 'BTC',
    TIMEFRAMES: '1m,1h',
    MARKET_SPEED: '300',
    RATE_PER_ADDRESS: 'off',
  }
  service = await startService(readSettings(flags, environment), process.stdout)
}

async function stop(): Promise<void> {
  await service?.stop()
  service = undefined
}

async function signal(...args: readonly string[]): Promise<string> {
  const { code, said } = await runSignal(...args)
  expect([code, code === 0 ? '' : said]).toEqual([0, ''])
  return said
}

async function ask(method: string, path: string, key: string, body?: object) {
  const response = await fetch(`${service?.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  return {
    status: response.status,
    body: (text === '' ? {} : JSON.parse(text)) as Readonly<Record<string, string>>,
  }
}

test('restore × revocations: a key and a webhook secret that ended since the backup do not come back', async () => {
  await start('data')
  const dataDir = ['--data-dir', join(folder, 'data')]
  const key = /sk_live_\w+/.exec(await signal('keys', 'create', '--tier', 'starter', ...dataDir))?.[0] ?? ''
  const leaked = (await ask('POST', '/api/keys', key, { label: 'leaked' })).body
  expect((await ask('GET', '/api/account', leaked['key'] ?? '')).status).toBe(200)
  const { port } = receiver.address() as AddressInfo
  const hook = { url: `http://127.0.0.1:${port}/hook`, events: ['trade_call', 'regime_shift'] }
  const created = (await ask('POST', '/api/webhooks', key, hook)).body
  const removed = (await ask('POST', '/api/webhooks', key, { ...hook, url: `${hook.url}/removed` })).body
  await signal('backup', join(folder, 'backup'), ...dataDir)

  expect((await ask('DELETE', `/api/keys/${leaked['key_id']}`, key)).status).toBe(204)
  expect((await ask('DELETE', `/api/webhooks/${removed['id']}`, key)).status).toBe(204)
  const rotating = await ask('POST', `/api/webhooks/${created['id']}/rotate-secret`, key, {
    overlap_hours: 0,
  })
  const [before = '', after = ''] = [created['secret'], rotating.body['secret']]
  expect([rotating.status, rotating.body['code'], before, after]).toEqual([
    200,
    undefined,
    expect.stringMatching(/^whsec_/),
    expect.stringMatching(/^whsec_/),
  ])
  await stop()
  received.length = 0

  mkdirSync(join(folder, 'restored', 'simulated'), { recursive: true })
  cpSync(join(folder, 'data/simulated/sealing.key'), join(folder, 'restored/simulated/sealing.key'))
  const list = join(folder, 'data', 'simulated', 'revocations')
  // No secret is in the list: neither the key, nor one of a webhook.
  const said = readFileSync(list, 'utf8')
  for (const secret of [leaked['key'], before, after]) expect(said).not.toContain(String(secret).slice(8))
  const restoring = ['restore', join(folder, 'backup'), '--data-dir', join(folder, 'restored')]
  await signal(...restoring, '--revoked', list)

  await start('restored')
  expect((await ask('GET', '/api/account', leaked['key'] ?? '')).status).toBe(401)
  expect((await ask('GET', '/api/account', key)).status).toBe(200)
  expect((await ask('GET', `/api/webhooks/${removed['id']}`, key)).status).toBe(404)
  while (received.length < 3) await delay(50)
  for (const { headers, body } of received) {
    const signedBy = (secret: string): boolean => verifyWebhook({ secret, headers, body, now: Date.now() }).ok
    expect([signedBy(before), signedBy(after)]).toEqual([false, true])
  }
}, 120_000)
