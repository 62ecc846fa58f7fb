import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { LIMITS } from '../../contracts/limits.ts'
import { startWireDouble, type WireDouble } from '../eventstoredb-double/wire-double.ts'
import { freePort } from '../servers/server-port.ts'

const START = join(import.meta.dirname, '../../services/start.js')
const PLENTY_MS = 60_000

let directory: string
let double: WireDouble
let child: ChildProcess | undefined
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'silent-store-'))
  double = await startWireDouble()
})
afterEach(() => {
  child?.kill('SIGKILL')
  double.stop()
  rmSync(directory, { recursive: true, force: true })
})

function start(port: number, url = double.connectionString) {
  const args = ['--port', String(port), '--coins', 'BTC', '--data-dir', directory, '--eventstore-url', url]
  const started = spawn(process.execPath, [START, ...args, '--store-wait', '3'], {
    env: { PATH: process.env.PATH, FRESH: 'true', SEALING_KEY: Buffer.alloc(32, 5).toString('base64') },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  child = started
  let err = ''
  started.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text
  })
  return { started, ended: once(started, 'close'), err: () => err }
}
const readyz = (port: number): Promise<number> =>
  fetch(`http://127.0.0.1:${port}/readyz`).then(
    ({ status }) => status,
    () => 0,
  )

describe('an event store', () => {
  test('that falls silent keeps no stop waiting for longer than is promised', async () => {
    const port = await freePort()
    const { started, ended } = start(port)
    await vi.waitUntil(async () => (await readyz(port)) === 200, { timeout: PLENTY_MS, interval: 50 })
    double.faults.freeze()
    const began = performance.now()
    started.kill('SIGTERM')
    await ended
    expect(started.exitCode).toBe(0)
    // The promise, which a busy machine may be a little late with.
    expect(performance.now() - began).toBeLessThan(LIMITS.shutdownMs + 1_000)
  }, 120_000)

  test('that is not there yet is waited for, and one that does not come ends the start with its code', async () => {
    const port = await freePort()
    const late = start(port)
    double.stop()
    await vi
      .waitUntil(() => late.err().includes('waiting for the event store'), {
        timeout: PLENTY_MS,
        interval: 50,
      })
      .catch(() => undefined)
    await late.ended
    expect(late.started.exitCode).toBe(5)
    expect(late.err()).toMatch(/error store_unavailable: The event store was not there within 3 s/)
    expect(late.err()).toContain('STORE_WAIT')

    await double.restart()
    double.stop()
    const waiting = start(port)
    await vi.waitUntil(() => waiting.err().includes('waiting for the event store'), {
      timeout: PLENTY_MS,
      interval: 20,
    })
    await double.restart()
    await vi.waitUntil(async () => (await readyz(port)) === 200, { timeout: PLENTY_MS, interval: 50 })
  }, 180_000)
})
