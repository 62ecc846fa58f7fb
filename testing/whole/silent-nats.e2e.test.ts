import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { LIMITS } from '../../contracts/limits.ts'
import { natsServers } from '../servers/nats-servers.ts'
import type { TestServer } from '../servers/test-server.ts'

const START = join(import.meta.dirname, '../../services/start.js')
/** Listens with room for one connection, and stands still before it has taken any. */
const SILENT = `
require('node:net').createServer().listen({ port: Number(process.argv[1]), host: '127.0.0.1', backlog: 1 }, () => {
  require('node:fs').writeSync(1, 'listening')
  process.kill(process.pid, 'SIGSTOP')
})`
/** State of a connection that nobody answers, in /proc/net/tcp. */
const SYN_SENT = '02'

const servers = await natsServers({ killable: true })
const isLinux = process.platform === 'linux'
const missing = servers.missing ?? (isLinux ? undefined : ' (skipped: needs /proc/net/tcp)')

let directory: string
let children: ChildProcess[]
let fillers: Socket[]
let nats: TestServer
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'silent-nats-'))
  children = []
  fillers = []
  nats = await servers.start()
})
afterEach(async () => {
  for (const socket of fillers) socket.destroy()
  for (const child of children) child.kill('SIGKILL')
  await nats.stop()
  rmSync(directory, { recursive: true, force: true })
})

/** Takes the place of a server that is gone with one that never answers, not even a connection. */
async function silence(port: number): Promise<void> {
  const child = spawn(process.execPath, ['--eval', SILENT, String(port)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(child)
  await once(child.stdout, 'data')
  const isTaken = (): Promise<boolean> => {
    const socket = connect({ port, host: '127.0.0.1' }).on('error', () => undefined)
    fillers.push(socket)
    return Promise.race([once(socket, 'connect').then(() => true), quiet(500).then(() => false)])
  }
  while (await isTaken()) continue
  fillers.pop()?.destroy()
}

const quiet = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/** Connections to a port that nobody has answered. */
function unanswered(port: number): number {
  const hex = port.toString(16).toUpperCase().padStart(4, '0')
  const rows = readFileSync('/proc/net/tcp', 'utf8').split('\n').slice(1)
  return rows
    .map((row) => row.trim().split(/\s+/))
    .filter(([, , remote, state]) => {
      return state === SYN_SENT && remote?.endsWith(`:${hex}`) === true
    }).length
}

describe.skipIf(missing !== undefined)(`a NATS that has fallen silent${missing ?? ''}`, () => {
  test('keeps no stop waiting: the process ends by itself, with its code and its last words', async () => {
    const args = [
      '--port',
      '0',
      '--coins',
      'BTC',
      '--data-dir',
      join(directory, 'data'),
      '--nats-url',
      nats.url,
    ]
    const child = spawn(process.execPath, [START, ...args], {
      env: { PATH: process.env.PATH, FRESH: 'true', SEALING_KEY: Buffer.alloc(32, 5).toString('base64') },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    children.push(child)
    let err = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      err += text
    })
    const closed = once(child, 'close')
    await once(child.stdout, 'data')

    const port = Number(new URL(nats.url).port)
    await nats.kill()
    await silence(port)
    await vi.waitUntil(() => unanswered(port) > 0, { timeout: 20_000, interval: 50 })
    child.kill('SIGTERM')
    // The time that is promised for a stop, and as much again for a busy machine.
    await vi.waitUntil(() => child.exitCode !== null, { timeout: 2 * LIMITS.shutdownMs, interval: 50 })
    await closed
    expect(child.exitCode).toBe(0)
    expect(err).toMatch(/lost NATS at [^\n]*\n$/)
  }, 60_000)
})
