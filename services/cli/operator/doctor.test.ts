import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ERRORS } from '../../../contracts/errors/errors.ts'
import { startWireDouble, type WireDouble } from '../../../testing/eventstoredb-double/wire-double.ts'
import { identityOf } from '../../composition/adapters/open-platform.ts'
import { RETRY_FOR_CALLER } from '../../log/append-with-retry.ts'
import { openEventStoreDbStore } from '../../log/eventstoredb/eventstoredb-store.ts'
import { claimStore } from '../../log/store-identity.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import { readSettings } from '../../runtime/config/read-settings.ts'
import { factSecretOf } from '../../runtime/secrets/market-keys.ts'
import { beginSignal } from '../kit/run-signal.fixture.ts'

let directory: string
let server: Server
let state:
  | undefined
  | { readonly status: string; readonly components: readonly object[]; readonly process?: object }
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'doctor-'))
  server = createServer(({ url = '' }, response) => {
    if (state === undefined) return
    response.writeHead(state.status === 'unready' ? 503 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(url.startsWith('/operator/webhooks') ? { webhooks: [], next: null } : state))
  })
})
afterEach(() => {
  server.closeAllConnections()
  server.close()
  rmSync(directory, { recursive: true, force: true })
})

async function startService(): Promise<void> {
  mkdirSync(join(directory, 'data', 'simulated'), { recursive: true })
  await once(server.listen(join(directory, 'data', 'simulated', 'owner.sock')), 'listening')
}

async function examine(...flags: readonly string[]) {
  const where = ['--data-dir', join(directory, 'data')]
  const { written, done } = beginSignal(['doctor', ...where, ...flags], { now: () => 0 })
  return { code: await done, out: written.out }
}

const market = { name: 'market', state: 'degraded', detail: 'simulated: warming up, no bar yet' }

test('a service that is degraded is not said to be ok, and is no fault either', async () => {
  await startService()
  state = { status: 'degraded', components: [{ name: 'store', state: 'ok', detail: '' }, market] }
  const { code, out } = await examine()
  expect(out).toMatch(
    /^weak {3}store +a service runs on it: degraded; market degraded: simulated: warming up, no bar yet$/m,
  )
  expect(code).toBe(0)
  const findings = JSON.parse((await examine('--json')).out) as unknown
  expect(findings).toContainEqual(expect.objectContaining({ part: 'store', ok: true, degraded: true }))
})

test('one that is ready is ok, one that is not is a fault', async () => {
  await startService()
  state = { status: 'ready', components: [] }
  expect((await examine()).out).toMatch(/^ok {5}store +a service runs on it: ready$/m)
  state = { status: 'unready', components: [{ name: 'store', state: 'failed', detail: 'disk is full' }] }
  const { code, out } = await examine()
  expect(out).toMatch(/^fault {2}store +a service runs on it: unready; store failed: disk is full$/m)
  expect(code).not.toBe(0)
})

test('one that never answers is a fault within seconds', async () => {
  await startService()
  state = undefined
  const { code, out } = await examine()
  expect(out).toMatch(/^fault {2}store .* does not answer/m)
  expect(code).toBe(14)
})

describe('over EventStoreDB', () => {
  const KEY = Buffer.alloc(32, 7).toString('base64')
  const asKey = (key: string, url: string) => ['--eventstore-url', url, '--sealing-key', key]
  let double: WireDouble
  beforeEach(async () => {
    double = await startWireDouble()
  })
  afterEach(() => double.stop())
  const look = (key = KEY) => examine(...asKey(key, double.connectionString))

  async function claim(): Promise<void> {
    const store = openEventStoreDbStore({ connectionString: double.connectionString })
    const settings = readSettings(asKey(KEY, double.connectionString), {})
    const identity = identityOf(settings, factSecretOf(settings, directory))
    const signal = new AbortController().signal
    await claimStore({ store, policy: RETRY_FOR_CALLER, now: Date.now, sleep, signal }, identity, randomUUID)
    await store.close()
  }

  test('says whose the log is, and leaves nothing behind', async () => {
    expect((await look()).out).toMatch(/^ok {5}store +empty, may be appended to$/m)
    await claim()
    const before = [...double.log.events]
    const { code, out } = await look()
    expect(out).toMatch(/^ok {5}store +of this market and key, newest position \S+$/m)
    expect(code).toBe(0)
    expect(double.log.events).toEqual(before)
  })

  test('tells a log of another key, and a user who may not append', async () => {
    await claim()
    const other = await look(Buffer.alloc(32, 8).toString('base64'))
    expect(other.out).toMatch(/^fault {2}store +this event store cannot be used: .*another sealing key/m)
    expect(other.code).toBe(ERRORS.store_mismatch.exitCode)
    double.faults.failNextAppend('denied')
    const denied = await look()
    expect(denied.out).toMatch(/^fault {2}store .*has no right to this\n.*npm run store:rights/m)
    expect(denied.code).toBe(ERRORS.store_denied.exitCode)
  })
})
