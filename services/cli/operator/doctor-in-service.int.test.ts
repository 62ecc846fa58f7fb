import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { freePort } from '../../../testing/servers/server-port.ts'
import { type OwnService, startOwnService } from '../../composition/own-service.fixture.ts'
import { runSignal } from '../kit/run-signal.fixture.ts'

let health: string
let service: OwnService
beforeAll(async () => {
  const port = await freePort()
  health = `http://127.0.0.1:${port}`
  service = await startOwnService({ HEALTH_PORT: String(port), COINS: 'BTC', TIMEFRAMES: '1h' })
  await vi.waitUntil(
    async () => (await (await fetch(`${health}/readyz`)).text()).includes('"status":"ready"'),
    { timeout: 30_000 },
  )
}, 60_000)
afterAll(() => service?.stop())

async function doctor(...args: readonly string[]): Promise<{ readonly code: number; readonly out: string }> {
  const { code, said } = await runSignal('doctor', ...args)
  return { code, out: said }
}

test('a service says which process it is to its operator alone, and the doctor asks it by its socket', async () => {
  const ofOperator = (await (await fetch(`${health}/readyz`)).json()) as { process: { roles: string[] } }
  expect(ofOperator.process.roles).toContain('engine')
  const toAll = (await (await fetch(`${service.url}/readyz`)).json()) as object
  expect(Object.keys(toAll)).toEqual(['status'])
  const { out } = await doctor('--data-dir', service.folder)
  expect(out).toMatch(/^ok {5}store +a service runs on it: ready/m)
  expect(out).toMatch(/^weak {3}backup +none of this log is noted here$/m)
  expect(out).toMatch(/^(?:ok {5}|weak {3})checkpoint /m)
  expect(out).toMatch(/^ok {5}keys /m)
  expect(out).toMatch(/^ok {5}clock /m)
  expect(out).toMatch(/^ok {5}webhooks +none is failing$/m)
})
