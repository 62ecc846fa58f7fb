import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { missingChain } from '../services/payments/testing/chain/test-chain.ts'

interface Answer {
  readonly call: string
  readonly _service: { readonly payment: { readonly status_url: string } }
}

const ROOT = join(import.meta.dirname, '..')

describe.skipIf(missingChain !== undefined)(`the demo ${missingChain ?? ''}`, () => {
  let folder: string
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'demo-'))
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  test('prints a key and a command that pays for a call with it, and ends as a whole', {
    timeout: 120_000,
  }, async () => {
    const args = [join(ROOT, 'tools/demo.ts'), '--port', '0', '--data-dir', folder, '--coins', 'BTC']
    const demo = spawn(process.execPath, args, {
      env: { PATH: process.env.PATH, FRESH: 'true', TIMEFRAMES: '1h', LOG_LEVEL: 'error' },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const ended = once(demo, 'exit')
    let command: RegExpExecArray | null = null
    for await (const line of createInterface({ input: demo.stdout })) {
      command = /SIGNAL_URL=(\S+) PAYER_KEY=(\S+) npm run -s node -- (\S+) (\S+) '(.*)'$/.exec(line)
      if (command !== null) break
    }
    demo.stdout.resume()
    expect(command).not.toBeNull()
    const [, url = '', key = '', script = '', tool = '', body = ''] = command ?? []
    const paid = await promisify(execFile)(process.execPath, [join(ROOT, script), tool, body], {
      env: { PATH: process.env.PATH, SIGNAL_URL: url, PAYER_KEY: key },
    })
    const { call, _service: service } = JSON.parse(paid.stdout) as Answer
    expect(['BUY', 'SELL', 'HOLD']).toContain(call)
    const stateOf = async () =>
      ((await (await fetch(service.payment.status_url)).json()) as { state: string }).state
    await expect.poll(stateOf, { timeout: 60_000, interval: 500 }).toMatch(/confirmed|final/)
    demo.kill('SIGINT')
    expect((await ended)[0]).toBe(0)
    await expect(fetch(url)).rejects.toThrow()
  })
})
