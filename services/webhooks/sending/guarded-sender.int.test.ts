import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { WebhookRequest } from './sender.ts'
import type { ServerSide } from './testing/hostile-server.fixture.ts'
import { bench, OK, requestTo, sendInTurn, useSenderBench } from './testing/sender-bench.fixture.ts'

useSenderBench()

describe('an endpoint that behaves', () => {
  test('is sent the bytes and headers given, over one connection, and its answer is told', async () => {
    const bodies: string[] = []
    const server = await bench.serve(async ({ socket, request }) => {
      for (;;) {
        bodies.push((await request()).body.toString())
        socket.write('HTTP/1.1 202 Accepted\r\nset-cookie: a=b\r\ncontent-length: 2\r\n\r\nok')
      }
    })
    for (const outcome of await sendInTurn(bench.senderOf(), Array(3).fill(requestTo(server.port)))) {
      expect(outcome).toEqual({
        kind: 'answered',
        status: 202,
        retryAfterMs: undefined,
        durationMs: 0,
        detail: 'ok',
      })
    }
    expect(server.connections()).toBe(1)
    expect(bodies).toEqual(Array(3).fill('{"event":"trade_call"}'))
    for (const head of server.heads) {
      expect(head.split('\r\n')).toEqual([
        'POST /hook?a=1 HTTP/1.1',
        `host: 127.0.0.1:${server.port}`,
        'connection: keep-alive',
        'content-type: application/json',
        'X-Service-Event: trade_call',
        'accept-encoding: identity',
        'content-length: 22',
      ])
    }
  })

  test('is told of with the time it asks to be left alone', async () => {
    const server = await bench.answering('HTTP/1.1 503 no\r\nretry-after: 120\r\ncontent-length: 0\r\n\r\n')
    expect(await bench.senderOf().send(requestTo(server.port))).toMatchObject({
      kind: 'answered',
      status: 503,
      retryAfterMs: 120_000,
      detail: '',
    })
  })

  test('that closed a kept connection just now is sent to again, over a new one', async () => {
    const server = await bench.serve(async ({ socket, request }, count) => {
      await request()
      socket.write(OK)
      await request()
      if (count === 1) socket.destroy()
      else socket.write(OK)
    })
    const sender = bench.senderOf()
    const first = await sender.send(requestTo(server.port))
    const second = await sender.send(requestTo(server.port))
    expect([first.status, second.status]).toEqual([200, 200])
    expect(server.connections()).toBe(2)
  })

  test('is not asked through a proxy that the environment names', async () => {
    const proxy = await bench.answering(OK)
    const server = await bench.answering('HTTP/1.1 204 No Content\r\n\r\n')
    const before = { ...process.env }
    for (const name of ['HTTP_PROXY', 'http_proxy', 'ALL_PROXY']) {
      process.env[name] = `http://127.0.0.1:${proxy.port}`
    }
    try {
      expect((await bench.senderOf().send(requestTo(server.port))).status).toBe(204)
    } finally {
      process.env = before
    }
    expect(proxy.connections()).toBe(0)
  })
})

test('past so many connections in all they end with their requests, and new ones are made', async () => {
  const servers = await Promise.all([OK, OK, OK].map((answer) => bench.answering(answer)))
  const [a, b, c] = servers.map(({ port }) => requestTo(port)) as [
    WebhookRequest,
    WebhookRequest,
    WebhookRequest,
  ]
  const sender = bench.senderOf({}, { connectionsKept: 2 })
  const outcomes = await sendInTurn(sender, [a, b, a, c, a, b])
  expect(outcomes.map(({ status }) => status)).toEqual(Array(6).fill(200))
  expect(servers.map((server) => server.connections())).toEqual([2, 2, 1])
})

describe('ending', () => {
  test('many at once by one signal closes their connections, and the others go on', async () => {
    const arrived: ServerSide[] = []
    const all = Promise.withResolvers<void>()
    const server = await bench.serve(async (side) => {
      await side.request()
      arrived.push(side)
      if (arrived.length === 21) all.resolve()
    })
    const sender = bench.senderOf()
    const ending = new AbortController()
    const ended = Array.from({ length: 20 }, () => sender.send(requestTo(server.port), ending.signal))
    const other = sender.send(requestTo(server.port))
    await all.promise
    ending.abort()
    for (const outcome of await Promise.all(ended)) expect(outcome.kind).toBe('aborted')
    for (const { socket } of arrived) if (!socket.destroyed) socket.write(OK)
    expect((await other).status).toBe(200)
    expect(await sender.send(requestTo(server.port), ending.signal)).toMatchObject({ kind: 'aborted' })
  })

  test('the sender waits for what is under way and takes nothing more', async () => {
    const arrived = Promise.withResolvers<ServerSide>()
    const server = await bench.serve(async (side) => {
      await side.request()
      arrived.resolve(side)
    })
    const sender = bench.senderOf()
    const held = sender.send(requestTo(server.port))
    const { socket } = await arrived.promise
    const closing = sender.close()
    expect(await sender.send(requestTo(server.port))).toMatchObject({ kind: 'aborted' })
    expect(await Promise.race([closing, turn('under way')])).toBe('under way')
    socket.write(OK)
    expect((await held).status).toBe(200)
    await closing
  })
})
