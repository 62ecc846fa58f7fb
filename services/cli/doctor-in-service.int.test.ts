import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type RunningService, startService } from '../composition/start-service.ts'
import { readSettings } from '../platform/config/read-settings.ts'
import { freePort } from '../platform/test-servers/server-port.ts'
import { runSignal } from './run-signal.fixture.ts'

let folder: string
let health: string
let service: RunningService
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'doctor-'))
  const port = await freePort()
  health = `http://127.0.0.1:${port}`
  const flags = ['--port', '0', '--health-port', String(port), '--data-dir', folder, '--console', 'off']
  service = await startService(
    readSettings(flags, { LOG_LEVEL: 'error', COINS: 'BTC', TIMEFRAMES: '1h' }),
    process.stdout,
  )
  await vi.waitUntil(
    async () => (await (await fetch(`${health}/readyz`)).text()).includes('"status":"ready"'),
    { timeout: 30_000 },
  )
}, 60_000)
afterAll(async () => {
  await service?.stop()
  rmSync(folder, { recursive: true, force: true })
})

async function doctor(...args: readonly string[]): Promise<{ readonly code: number; readonly out: string }> {
  const { code, said } = await runSignal('doctor', ...args)
  return { code, out: said }
}

test('a service says which process it is to its operator alone, and the doctor judges by it', async () => {
  const { code, out } = await doctor('--processes', health)
  expect(out).toMatch(
    /^ok {5}\S+ +\d+\.\d+\.\d+, api, engine, projector, dispatcher, settler: ready; log format 2, the newest/m,
  )
  for (const part of ['one log', 'roles', 'versions', 'log format', 'clocks'])
    expect(out).toMatch(new RegExp(`^ok {5}${part} `, 'm'))
  expect(code).toBe(0)
  const own = await doctor('--data-dir', folder)
  expect(own.out).toMatch(/^ok {5}store +a service runs on it: ready; log format 2, the newest/m)
  const toAll = (await (await fetch(`${service.url}/readyz`)).json()) as object
  expect(Object.keys(toAll)).toEqual(['status'])
  const callers = await doctor('--processes', service.url ?? '')
  expect(callers.out).toContain('says to nobody but its operator which process it is')
})
