import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type RunningService, startService } from '../../composition/start-service.ts'
import { readSettings } from '../../runtime/config/read-settings.ts'
import { verifyWebhook } from '../../webhooks/receiving/verify-webhook.fixture.ts'
import { runSignal } from '../kit/run-signal.fixture.ts'

interface Received {
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

let folder: string
let service: RunningService
let receiver: Server
let key: string
const received: Received[] = []
let onReceived = (): void => undefined

/** A lively market, on which regimes change every few seconds. */
const start = (): Promise<RunningService> =>
  startService(
    readSettings(
      ['--port', '0', '--data-dir', folder, '--console', 'off', '--speed', '300', '--webhooks-allow-private'],
      { FRESH: 'true', LOG_LEVEL: 'error', TIMEFRAMES: '1m,1h' },
    ),
    process.stdout,
  )

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'webhooks-'))
  receiver = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      received.push({ headers: request.headers, body: Buffer.concat(chunks) })
      response.end()
      onReceived()
    })
  })
  receiver.listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  service = await start()
  const { said } = await runSignal('keys', 'create', '--tier', 'starter', '--data-dir', folder)
  key = /sk_live_\w+/.exec(said)?.[0] ?? ''
})
afterAll(async () => {
  await service.stop()
  receiver.close()
  rmSync(folder, { recursive: true, force: true })
})

async function call(method: string, path: string, body?: object) {
  const answer = await fetch(`${service.url}/api/webhooks${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  return { status: answer.status, body: JSON.parse(text === '' ? '{}' : text) as Record<string, unknown> }
}

const numbers = (): number[] => received.map(({ headers }) => Number(headers['x-service-sequence']))
const numbersThere = (): number => new Set(numbers()).size

/** Resolves when so many different deliveries have come. */
async function until(count: number): Promise<void> {
  while (numbersThere() < count) {
    await new Promise<void>((resolve) => {
      onReceived = resolve
    })
  }
}

test('a subscription is served over a restart, without a hole and under the same secret, until it is deleted', async () => {
  const { port } = receiver.address() as AddressInfo
  const url = `http://127.0.0.1:${port}/hook`
  const created = await call('POST', '', { url, events: ['trade_call', 'regime_shift'] })
  expect(created).toMatchObject({ status: 201, body: { state: 'active' } })
  const { id, secret } = created.body as { id: string; secret: string }
  await until(3)

  await service.stop()
  const before = numbersThere()
  service = await start()
  await until(before + 3)

  expect(await call('DELETE', `/${id}`)).toMatchObject({ status: 204 })
  const after = received.length
  const sorted = [...new Set(numbers())].toSorted((a, b) => a - b)
  expect(sorted).toEqual(sorted.map((_, place) => place + 1))
  const library = new Webhook(secret)
  for (const { headers, body } of received) {
    const names = ['webhook-id', 'webhook-timestamp', 'webhook-signature']
    const own = Object.fromEntries(names.map((name) => [name, String(headers[name])]))
    expect(library.verify(body.toString('utf8'), own)).toMatchObject({ event: headers['x-service-event'] })
    expect(verifyWebhook({ secret, headers, body, now: Date.now() })).toMatchObject({ ok: true })
  }
  expect(await call('GET', `/${id}`)).toMatchObject({ status: 404, body: { code: 'not_found' } })
  expect(await call('GET', '')).toMatchObject({ body: { webhooks: [] } })
  expect(received.length).toBe(after)
})

/** Runs a command of the operator against the service. */
async function operate(...args: readonly string[]): Promise<void> {
  const { code } = await runSignal('webhooks', ...args, '--data-dir', folder)
  expect(code).toBe(0)
}

test('what the operator stops is sent nothing, over a restart and whatever its owner asks, until it is allowed', async () => {
  received.length = 0
  const { port } = receiver.address() as AddressInfo
  const url = `http://127.0.0.1:${port}/stopped`
  const created = await call('POST', '', { url, events: ['trade_call', 'regime_shift'] })
  const id = String(created.body.id)
  await until(2)
  await operate('stop', id, '--reason', 'complaints')
  for (const what of ['resume', 'pause', 'test']) {
    expect(await call('POST', `/${id}/${what}`)).toMatchObject({
      status: 409,
      body: { code: 'state_conflict' },
    })
  }
  await service.stop()
  // A delivery may begin until the stop is read from the log.
  const sent = received.length
  service = await start()
  // Another one beside it is served, so that there is something to wait for.
  const other = await call('POST', '', { url: `http://127.0.0.1:${port}/other`, events: ['regime_shift'] })
  const before = received.length
  expect(before).toBe(sent)
  while (received.length < before + 3) await new Promise<void>((resolve) => void (onReceived = resolve))
  expect((await call('GET', `/${id}`)).body).toMatchObject({
    state: 'stopped',
    reason: 'stopped by the operator: complaints',
  })
  const attempts = async () => ((await call('GET', `/${id}/deliveries`)).body.attempts as object[]).length
  const tried = await attempts()
  await operate('allow', id)
  expect((await call('POST', `/${id}/resume`)).body).toMatchObject({ state: 'active' })
  await expect.poll(attempts, { timeout: 20_000 }).toBeGreaterThan(tried)
  for (const one of [id, other.body.id as string]) expect((await call('DELETE', `/${one}`)).status).toBe(204)
})

test('another account sees nothing of it, and who has no key nothing at all', async () => {
  const { status } = await fetch(`${service.url}/api/webhooks`)
  expect(status).toBe(401)
})

/** Whether any file of the service's folder holds a text. */
const isOnDisk = (text: string): boolean =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).some(
    (entry) => entry.isFile() && readFileSync(join(entry.parentPath, entry.name)).includes(text),
  )

test('host, path and answers of an endpoint stand nowhere in clear, and an erasure takes them from everybody', async () => {
  const answer = 'customer jane.doe@private.example refused'
  const failing = createServer((request, response) => {
    request.resume()
    response.writeHead(500).end(answer)
  })
  failing.listen(0, '127.0.0.1')
  await once(failing, 'listening')
  const host = `127.0.0.1:${(failing.address() as AddressInfo).port}`
  const { body } = await call('POST', '', {
    url: `http://${host}/jane-doe/hook`,
    events: ['trade_call', 'regime_shift'],
  })
  const attempts = async () =>
    (await call('GET', `/${body.id as string}/deliveries`)).body.attempts as {
      detail: string
      event_id: string | null
    }[]
  await expect.poll(async () => (await attempts()).length, { timeout: 20_000 }).toBeGreaterThan(0)
  // Its owner is shown what it answered, but not by which id what it refused can be looked up.
  expect((await attempts())[0]).toMatchObject({ detail: answer, event_id: null })
  const personal = [host, 'jane-doe', 'jane.doe@private.example']
  for (const text of personal) expect([text, isOnDisk(text)]).toEqual([text, false])
  // What is looked for would be found.
  expect(isOnDisk(String(body.id))).toBe(true)

  const headers = { authorization: `Bearer ${key}` }
  expect((await fetch(`${service.url}/api/account`, { method: 'DELETE', headers })).status).toBe(204)
  await service.stop()
  failing.close()
  for (const text of personal) expect([text, isOnDisk(text)]).toEqual([text, false])
})
