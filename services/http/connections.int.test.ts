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
const QUICK = { lookEveryMs: 20, requestMs: 200, headersMs: 100, readerMs: 150, readerBytes: 16_384 }

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

const GET = 'GET /livez HTTP/1.1\r\nhost: x\r\n\r\n'
/** Says that a body follows, and sends the first byte of it. */
const SLOW_BODY =
  'POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 60000\r\n\r\n{'

/** A connection whose request is known to be under way, and goes no further. */
async function openBusy(from = '127.0.0.1') {
  const one = open(SLOW_BODY.replace('\r\n\r\n{', '\r\nexpect: 100-continue\r\n\r\n'), from)
  const [told] = (await once(one.socket, 'data')) as [Buffer]
  expect(told.toString()).toContain('100 Continue')
  return one
}

/** The status that an own connection from an address gets; undefined where it is hung up on. */
async function statusFrom(from: string): Promise<string | undefined> {
  const { told, socket } = open(GET.replace('\r\n\r\n', '\r\nconnection: close\r\n\r\n'), from)
  const answer = await told()
  socket.destroy()
  return /^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]
}

test.each([
  ['whose body never comes', SLOW_BODY],
  ['whose headers never end', 'GET /livez HTTP/1.1\r\nhost: x\r\nx-slow: '],
  ['that never begins', ''],
])('a request %s is refused and hung up on', async (_, bytes) => {
  await start({ connectionLimits: QUICK })
  const answer = await open(bytes).told()
  expect(answer).toContain('HTTP/1.1 408 Request Timeout')
  expect(answer).toContain('"request_timeout"')
})

test('a body that never comes does not hold up a shutdown, one that comes in time is answered', async () => {
  await start({ connectionLimits: { arrivalGraceMs: 100, requestMs: 60_000 } })
  const never = await openBusy()
  const slow = await openBusy()
  const answer = slow.told()
  const closing = app.close()
  slow.socket.write(`{${' '.repeat(60_000 - 2)}}`)
  expect(await answer).toMatch(/^HTTP\/1\.1 \d{3} /)
  await closing
  await never.hungUp
})

test('one address has so many connections, and others have theirs', async () => {
  await start({ connectionLimits: { connectionsPerAddress: 3 } })
  const held = [await openBusy('127.0.0.2'), await openBusy('127.0.0.2'), await openBusy('127.0.0.2')]
  expect(await statusFrom('127.0.0.2')).toBeUndefined()
  expect(await statusFrom('127.0.0.3')).toBe('200')
  held[0]?.socket.destroy()
  await held[0]?.hungUp
  await expect.poll(() => statusFrom('127.0.0.2')).toBe('200')
})

test('a trusted proxy has as many as it needs', async () => {
  await start({
    connectionLimits: { connectionsPerAddress: 1 },
    trustProxy: { networks: ['127.0.0.2/32'] },
  })
  await openBusy('127.0.0.2')
  await openBusy('127.0.0.3')
  expect([await statusFrom('127.0.0.2'), await statusFrom('127.0.0.3')]).toEqual(['200', undefined])
})

test('where there are as many as there may be, the one that was idle longest gives way', async () => {
  await start({ connectionLimits: { connections: 3 } })
  const busy = await openBusy()
  const idle: ReturnType<typeof open>[] = []
  for (let n = 0; n < 2; n++) {
    const one = open(GET)
    await once(one.socket, 'data')
    idle.push(one)
  }
  expect(await statusFrom('127.0.0.1')).toBe('200')
  await idle[0]?.hungUp
  expect([busy.socket.destroyed, idle[1]?.socket.destroyed]).toEqual([false, false])
})

test('without one that is idle a new connection is not taken', async () => {
  await start({ connectionLimits: { connections: 2 } })
  await openBusy()
  await openBusy()
  expect(await statusFrom('127.0.0.1')).toBeUndefined()
})

test('where there are as many as there may be, a request that does not arrive gives way', async () => {
  await start({ connectionLimits: { connections: 3, givesWayMs: 50 } })
  const slow = [await openBusy('127.0.9.1'), await openBusy('127.0.9.1'), await openBusy('127.0.9.1')]
  await expect.poll(() => statusFrom('127.0.9.2')).toBe('200')
  await slow[0]?.hungUp
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
  await start({ ...endless, connectionLimits: QUICK })
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
  await start({ ...endless, connectionLimits: { givesWayMs: 100 } })
  const all: (string | undefined)[] = []
  for (let n = 0; n < LIMITS.verdictReplays; n++) all.push(await replayFrom(`127.0.9.${1 + n}`))
  expect(all).toEqual(Array<string>(LIMITS.verdictReplays).fill('200'))
  const readers = [...sockets]
  await expect.poll(() => replayFrom('127.0.9.99'), { timeout: 10_000 }).toBe('200')
  expect(
    readers.filter(({ readableEnded, destroyed }) => readableEnded || destroyed).length,
  ).toBeLessThanOrEqual(1)
})

test('who reads on, however long the answer, is not', async () => {
  // Longer than a busy machine keeps this process waiting.
  await start({ ...endless, connectionLimits: { ...QUICK, readerMs: 1_000 } })
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
