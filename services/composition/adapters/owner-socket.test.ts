import { spawnSync } from 'node:child_process'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { serverOptions } from '../../http/testing/server-options.fixture.ts'
import { createServer } from '../server.ts'
import { findOwnerSocket, type OwnerSocket, openOwnerSocket } from './owner-socket.ts'

const OPERATOR_TOKEN = 'operator-token-for-tests'

let directory: string
let app: Awaited<ReturnType<typeof createServer>>
let open: OwnerSocket[]
let shownOpen: boolean[]
let warnings: string[]
const log = {
  warn: ({ err }: { err?: Error }, message: string) => void warnings.push(err?.message ?? message),
} as never

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'owner-'))
  open = []
  shownOpen = []
  warnings = []
  app = await createServer(
    serverOptions({
      operatorToken: OPERATOR_TOKEN,
      replay({ options }) {
        shownOpen.push(options.withOpen)
        return { chunks: (async function* () {})(), notes: () => ({}) }
      },
    }),
  )
})
afterEach(async () => {
  await Promise.all(open.map((socket) => socket.close()))
  await app.close()
  rmSync(directory, { recursive: true, force: true })
})

async function openIn(folder = directory): Promise<OwnerSocket> {
  const socket = await openOwnerSocket(app, folder, log)
  if (socket === undefined) return expect.fail(`no socket: ${warnings.join('; ')}`)
  open.push(socket)
  return socket
}

const statusOf = (socketPath: string, headers: Record<string, string> = {}): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    request({ socketPath, path: '/api/verdicts', headers, agent: false }, (answer) => {
      answer.resume().on('end', () => resolve(answer.statusCode))
    })
      .on('error', reject)
      .end()
  })

/** The remains of a killed process: a socket that nobody listens on. */
function leaveStaleSocket(path: string): void {
  const script = `require('node:net').createServer().listen(process.argv[1], () => process.kill(process.pid, 'SIGKILL'))`
  spawnSync(process.execPath, ['-e', script, path])
  expect(lstatSync(path).isSocket()).toBe(true)
}

describe.skipIf(process.platform === 'win32')('the owner’s socket', () => {
  test('can be opened by its owner only, and shows everything', async () => {
    const { path } = await openIn()
    expect(path).toBe(join(directory, 'owner.sock'))
    expect(lstatSync(path).mode & 0o777).toBe(0o600)
    expect(await statusOf(path)).toBe(200)
    expect(shownOpen).toEqual([true])
    expect(await findOwnerSocket(directory)).toBe(path)
  })

  test('makes nobody else an operator, whatever they send', async () => {
    const { path } = await openIn()
    const url = `${await app.listen({ host: '127.0.0.1', port: 0 })}/api/verdicts`
    await fetch(url, { headers: { 'x-forwarded-for': path, host: 'localhost', forwarded: `for="${path}"` } })
    expect(shownOpen).toEqual([false])
    // A credential that is wrong is refused there, and not looked at where the door itself says who comes.
    expect((await fetch(url, { headers: { authorization: 'Bearer wrong' } })).status).toBe(401)
    expect(await statusOf(path, { authorization: 'Bearer wrong' })).toBe(200)
  })

  test('is gone when it is closed, and finishes what is in flight', async () => {
    const socket = await openIn()
    const answered = statusOf(socket.path)
    expect(await answered).toBe(200)
    await socket.close()
    expect(existsSync(socket.path)).toBe(false)
    expect(await findOwnerSocket(directory)).toBeUndefined()
  })

  test('takes the place of one that a killed process left', async () => {
    leaveStaleSocket(join(directory, 'owner.sock'))
    expect(await findOwnerSocket(directory)).toBeUndefined()
    const { path } = await openIn()
    expect(await statusOf(path)).toBe(200)
  })

  test('leaves one alone that answers, and a file that is no socket', async () => {
    const { path } = await openIn()
    expect(await openOwnerSocket(app, directory, log)).toBeUndefined()
    expect(await statusOf(path)).toBe(200)
    const other = join(directory, 'other')
    mkdirSync(other)
    writeFileSync(join(other, 'owner.sock'), 'mine')
    expect(await openOwnerSocket(app, other, log)).toBeUndefined()
    expect(readFileSync(join(other, 'owner.sock'), 'utf8')).toBe('mine')
    expect(warnings).toHaveLength(2)
  })

  test('that is there and cannot be opened is told of, not taken for none', async () => {
    const path = join(directory, 'owner.sock')
    symlinkSync(path, path)
    await expect(findOwnerSocket(directory)).rejects.toMatchObject({
      code: 'server_unreachable',
      message: expect.stringMatching(/owner\.sock cannot be opened: .*ELOOP.*--server/) as string,
    })
  })

  test('is not made where its path would be too long: its bytes, the most and what mends it are said', async () => {
    const deep = join(directory, 'a-folder-with-a-long-name'.repeat(5))
    mkdirSync(deep)
    expect(await openOwnerSocket(app, deep, log)).toBeUndefined()
    expect(warnings).toEqual([
      expect.stringMatching(/owner\.sock has \d+ bytes, .* at most 103; a shorter DATA_DIR/),
    ])
    expect(await findOwnerSocket(deep)).toBeUndefined()
  })
})
