import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { afterEach, expect, test } from 'vitest'
import { LIMITS } from '../../contracts/limits.ts'
import { createServer, type ServerOptions } from '../composition/server.ts'
import { mcpOptions } from '../mcp/testing/mcp-edge.fixture.ts'
import { serverOptions } from './testing/server-options.fixture.ts'

/** As small as they can be told apart. */
const QUICK = {
  connectionsCheckingInterval: 20,
  requestTimeout: 200,
  headersTimeout: 100,
  connectionTimeout: 500,
}

let app: FastifyInstance
const sockets: Socket[] = []
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await app.close()
})

async function start(change: Partial<ServerOptions>): Promise<void> {
  app = await createServer(serverOptions({ mcp: mcpOptions(), ...change }))
  await app.listen({ host: '127.0.0.1', port: 0 })
}

/** A connection that sends a text, and what it was told until the other side hung up. */
function open(text: string, from = '127.0.0.1') {
  const address = app.server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  const socket = connect({ host: '127.0.0.1', port: address.port, localAddress: from })
  sockets.push(socket)
  socket.on('error', () => undefined)
  if (text !== '') socket.write(text)
  const hungUp = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  const told = async (): Promise<string> => {
    let answer = ''
    socket.setEncoding('utf8').on('data', (chunk) => (answer += String(chunk)))
    await hungUp
    return answer
  }
  return { socket, hungUp, told, connected: once(socket, 'connect') }
}

/** Says that a body follows, and sends the first byte of it. */
const SLOW_BODY =
  'POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 60000\r\n\r\n{'

test.each([
  ['whose body never comes', SLOW_BODY],
  ['whose headers never end', 'GET /livez HTTP/1.1\r\nhost: x\r\nx-slow: '],
  ['that never begins', ''],
])('a request %s is refused and hung up on', async (_, bytes) => {
  await start({ timeouts: QUICK })
  const answer = await open(bytes).told()
  expect(answer).toContain('HTTP/1.1 408 Request Timeout')
  expect(answer).toContain('"request_timeout"')
})

/** Rows without end. */
const endless = {
  replay: () => ({
    notes: () => ({}),
    chunks: (async function* () {
      for (;;) {
        await setImmediate()
        yield 'X'.repeat(65_536)
      }
    })(),
  }),
}

test('who asks for much and does not read is cut off, and what was held is free again', async () => {
  await start({ ...endless, timeouts: QUICK })
  const ask = 'GET /api/verdicts HTTP/1.1\r\nhost: x\r\n\r\n'
  const deaf = Array.from({ length: 4 }, () => open(ask))
  for (const { socket } of deaf) socket.pause()
  await Promise.all(deaf.map(({ connected }) => connected))
  await expect
    .poll(
      async () => {
        const one = open(ask)
        const [chunk] = (await once(one.socket, 'data')) as [Buffer]
        one.socket.destroy()
        return /^HTTP\/1\.1 (\d+)/.exec(chunk.toString())?.[1]
      },
      { timeout: 5_000 },
    )
    .toBe('200')
})

/** The status of a replay; the connection stays, and reads no more than that. */
async function replayFrom(from: string): Promise<string | undefined> {
  const { socket, hungUp } = open('GET /api/verdicts HTTP/1.1\r\nhost: x\r\n\r\n', from)
  const began = once(socket, 'data').then(([chunk]) => String(chunk))
  const said = await Promise.race([began, hungUp.then(() => '')])
  socket.pause()
  return /^HTTP\/1\.1 (\d+)/.exec(said)?.[1]
}

test('where replays hold every place, one that nobody reads gives its own to a newcomer', async () => {
  await start(endless)
  const all: (string | undefined)[] = []
  for (let n = 0; n < LIMITS.verdictReplays; n++) all.push(await replayFrom(`127.0.9.${1 + n}`))
  expect(all).toEqual(Array<string>(LIMITS.verdictReplays).fill('200'))
  const readers = [...sockets]
  await expect.poll(() => replayFrom('127.0.9.99'), { timeout: 20_000 }).toBe('200')
  expect(
    readers.filter(({ readableEnded, destroyed }) => readableEnded || destroyed).length,
  ).toBeLessThanOrEqual(1)
})

test('who reads on, however long the answer, is not', async () => {
  // Longer than a busy machine keeps this process waiting.
  await start({ ...endless, timeouts: { ...QUICK, connectionTimeout: 1_000 } })
  const { socket } = open('GET /api/verdicts HTTP/1.1\r\nhost: x\r\n\r\n')
  // Over many looks and several times that long, and many times what buffers hold.
  for (let n = 0; n < 150; n++) {
    const [chunk] = (await once(socket, 'data')) as [Buffer]
    expect(chunk.length).toBeGreaterThan(0)
    socket.pause()
    await new Promise((resolve) => setTimeout(resolve, 20))
    socket.resume()
  }
  expect(socket.destroyed).toBe(false)
})
