import { execFile, spawnSync } from 'node:child_process'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createSignalClient, verifyWebhook, type Webhook } from '../../clients/typescript/src/index.ts'
import { type OwnService, startOwnService } from '../../services/composition/own-service.fixture.ts'

const CLIENT = resolve(import.meta.dirname, '../../clients/python')
const hasPython = spawnSync('python3', ['--version']).status === 0
const reason = hasPython ? '' : ' (skipped: python3 not on PATH)'
const OPERATOR_TOKEN = 'operator-token-for-tests'

let service: OwnService
let key: string
let endpoint: Server
let hook: string
let secret: string | string[] = ''
let taken: Webhook[] = []
beforeAll(async () => {
  endpoint = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      verifyWebhook({ secret, headers: request.headers, body: Buffer.concat(parts) }).then(
        (webhook) => {
          taken.push(webhook)
          return response.writeHead(204).end()
        },
        () => response.writeHead(401).end(),
      )
    })
  }).listen(0, '127.0.0.1')
  await new Promise((done) => endpoint.once('listening', done))
  hook = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/hook`
  service = await startOwnService({
    OPERATOR_TOKEN,
    COINS: 'BTC',
    TIMEFRAMES: '1m',
    MARKET_SPEED: '60',
    WEBHOOKS_ALLOW_PRIVATE: 'true',
  })
  const operator = createSignalClient({ url: service.url, apiKey: OPERATOR_TOKEN })
  ;({ key } = (await operator.post('/operator/keys', { tier: 'starter' })) as { key: string })
})
afterAll(async () => {
  await service?.stop()
  endpoint.closeAllConnections()
  endpoint.close()
})

test('a webhook whose answer was lost is found; one is made, changed, tested, rotated and deleted', async () => {
  let isLost = true
  const signals = createSignalClient({
    url: service.url,
    apiKey: key,
    async fetch(input, init) {
      const answer = await fetch(input, init)
      if (!isLost) return answer
      isLost = false
      await answer.arrayBuffer()
      throw new TypeError('fetch failed')
    },
  })
  const wanted = { events: ['trade_call' as const], url: hook, min_strength: 100 }
  await expect(signals.createWebhook(wanted)).rejects.toMatchObject({ code: 'given_up' })
  const lost = (await signals.listWebhooks()).webhooks
  expect(lost).toHaveLength(1)
  for (const one of lost) await signals.deleteWebhook({ id: one.id })
  const made = await signals.createWebhook(wanted)
  const { id } = made
  ;({ secret } = made)
  const { webhooks, next } = await signals.listWebhooks()
  expect([webhooks.map((one) => one.id), next]).toEqual([[id], null])
  expect(await signals.changeWebhook({ id, timeframes: ['1m'] })).toMatchObject({ timeframes: ['1m'] })
  expect((await signals.pauseWebhook({ id })).state).toBe('paused')
  expect((await signals.resumeWebhook({ id, from: 'now' })).state).toBe('active')
  expect(await signals.testWebhook({ id })).toMatchObject({ accepted: true, status: 204 })
  const rotated = await signals.rotateWebhookSecret({ id, overlap_hours: 1 })
  secret = [secret, rotated.secret]
  expect((await signals.getWebhook({ id })).secrets_signing).toBe(2)
  expect(await signals.testWebhook({ id })).toMatchObject({ accepted: true })
  expect(taken.map(({ test: isTest }) => isTest)).toEqual([true, true])
  expect(await signals.listWebhookDeliveries({ id, limit: 1 })).toEqual({ attempts: [], next: null })
  expect(await signals.webhookRetries({ id })).toEqual({ retries: [] })
  expect(await signals.webhookEvents({ id })).toMatchObject({ events: [] })
  expect(await signals.deleteWebhook({ id })).toEqual({ id, deleted: true })
  await expect(signals.getWebhook({ id })).rejects.toMatchObject({ code: 'not_found' })
  expect(await signals.usage()).toHaveProperty('quota')
  expect((await signals.searchKnowledge({ query: 'what costs a call' })).results.length).toBeGreaterThan(0)
})

test.skipIf(!hasPython)(`and so by the client for Python${reason}`, async () => {
  taken = []
  secret = ''
  const program = `
import json, sys
from signal_client import *
given = json.loads(sys.argv[1])
signals = SignalClient(given["url"], given["key"], sleep=lambda _: None)
ask, lost = signals._opener.open, [True]
def losing(request, **more):
    answer = ask(request, **more)
    if lost.pop() if lost else False:
        answer.read()
        raise ConnectionResetError("lost")
    return answer
signals._opener.open = losing
try:
    signals.create_webhook(["trade_call"], url=given["hook"], min_strength=100)
except Refusal as refusal:
    said = [refusal.code]
for one in signals.list_webhooks()["webhooks"]:
    signals.delete_webhook(one["id"])
made = signals.create_webhook(["trade_call"], url=given["hook"], min_strength=100)
id = made["id"]
said.append([one["id"] for one in signals.list_webhooks()["webhooks"]] == [id])
said.append(signals.change_webhook(id, timeframes=["1m"])["timeframes"])
said.append(signals.pause_webhook(id)["state"])
said.append(signals.resume_webhook(id, start="now")["state"])
said.append(signals.test_webhook(id)["status"])
said.append(signals.rotate_webhook_secret(id, overlap_hours=1)["secret"][:6])
said.append(signals.webhook_events(id)["events"])
said.append(signals.delete_webhook(id)["deleted"])
key = signals.issue_key(label="second")
said.append(signals.revoke_key(key["key_id"]))
print(json.dumps(said))`
  const env = { PATH: process.env.PATH, PYTHONPATH: CLIENT, PYTHONDONTWRITEBYTECODE: '1' }
  const given = JSON.stringify({ url: service.url, key, hook })
  const { stdout } = await promisify(execFile)('python3', ['-c', program, given], { env })
  const expected = ['given_up', true, ['1m'], 'paused', 'active', 401, 'whsec_', [], true, null]
  expect(JSON.parse(stdout)).toEqual(expected)
})
