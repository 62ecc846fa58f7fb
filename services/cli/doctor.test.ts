import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runCommand } from './run-command.ts'

let directory: string
let server: Server
let state: { readonly status: string; readonly components: readonly object[] }
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'doctor-'))
  server = createServer((_request, response) => {
    response.writeHead(state.status === 'unready' ? 503 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(state))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
})
afterEach(() => {
  server.close()
  rmSync(directory, { recursive: true, force: true })
})

async function examine(...flags: readonly string[]) {
  const [stdout, stderr] = [new PassThrough({ encoding: 'utf8' }), new PassThrough()]
  const { port } = server.address() as AddressInfo
  const args = [
    'doctor',
    '--data-dir',
    join(directory, 'data'),
    '--server',
    `http://127.0.0.1:${port}`,
    ...flags,
  ]
  const signal = new AbortController().signal
  const code = await runCommand(args, { stdout, stderr, environment: {}, signal, now: () => 0 })
  return { code, out: String(stdout.read() ?? '') }
}

const market = { name: 'market', state: 'degraded', detail: 'simulated: warming up, no bar yet' }

test('a service that is degraded is not said to be ok, and is no fault either', async () => {
  state = { status: 'degraded', components: [{ name: 'store', state: 'ok', detail: '' }, market] }
  const { code, out } = await examine()
  expect(out).toMatch(/^weak {3}server +degraded; market: simulated: warming up, no bar yet$/m)
  expect(code).toBe(0)
  const findings = JSON.parse((await examine('--json')).out) as unknown
  expect(findings).toContainEqual(expect.objectContaining({ part: 'server', ok: true, degraded: true }))
})

test('one that is ready is ok, one that is not is a fault', async () => {
  state = { status: 'ready', components: [] }
  expect((await examine()).out).toMatch(/^ok {5}server +ready$/m)
  state = { status: 'unready', components: [{ name: 'store', state: 'failed', detail: 'disk is full' }] }
  const { code, out } = await examine()
  expect(out).toMatch(/^fault {2}server +store failed: disk is full$/m)
  expect(code).not.toBe(0)
})
