import { execFileSync, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasContainerEngine } from '../servers/container-server.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const missing = (await hasContainerEngine()) ? undefined : '(skipped: no container engine answers here)'
const IMAGE = `signal-service-test:${randomUUID().slice(0, 8)}`
const BUILD_MS = 600_000

const docker = (...args: readonly string[]): string =>
  execFileSync('docker', args, {
    cwd: ROOT,
    encoding: 'utf8',
    timeout: BUILD_MS,
    stdio: ['ignore', 'pipe', 'inherit'],
  }).trim()

describe.skipIf(missing !== undefined)(`the image ${missing ?? ''}`, () => {
  let container: string
  let url: string
  beforeAll(async () => {
    docker('build', '--quiet', '--file', 'deploy/Dockerfile', '--tag', IMAGE, '.')
    // As the manifests run it: nothing of it can be written but its data, and nothing can be gained.
    const confined = [
      '--read-only',
      '--tmpfs',
      '/tmp',
      '--cap-drop',
      'ALL',
      '--security-opt',
      'no-new-privileges',
    ]
    container = docker('run', '--detach', ...confined, '--publish', '127.0.0.1::8402', IMAGE)
    url = `http://${docker('port', container, '8402/tcp').split('\n')[0] ?? ''}`
    while (
      !(await fetch(`${url}/readyz`).then(
        (answer) => answer.ok,
        () => false,
      ))
    )
      await delay(250)
  }, BUILD_MS)
  afterAll(() => {
    if (container !== undefined) spawnSync('docker', ['rm', '--force', '--volumes', container])
    spawnSync('docker', ['rmi', '--force', IMAGE])
  }, 60_000)

  test('answers a call, as a user that is not root', async () => {
    const params = { name: 'get_trade_call', arguments: { coin: 'BTC', timeframe: '1h' } }
    const answer = await fetch(`${url}/mcp`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
    })
    expect(await answer.json()).toMatchObject({ result: { structuredContent: { coin: 'BTC' } } })
    expect(docker('exec', container, 'id', '--user')).toBe('1000')
  })

  test('holds neither tests nor what was built with, and its command line works', () => {
    const files = docker(
      'exec',
      container,
      'find',
      '/app',
      '-name',
      '*.test.ts',
      '-not',
      '-path',
      '*/node_modules/*',
    )
    expect(files).toBe('')
    expect(() => docker('exec', container, 'test', '!', '-e', '/app/node_modules/vitest')).not.toThrow()
    expect(
      docker('exec', container, 'node', 'services/signal.js', 'keys', 'create', '--data-dir', '/data'),
    ).toContain('sk_live_')
  })

  test('ends in order when it is told to', () => {
    docker('stop', '--time', '15', container)
    expect(docker('inspect', '--format', '{{.State.ExitCode}} {{.State.OOMKilled}}', container)).toBe(
      '0 false',
    )
  })
})
