import { setImmediate as turn } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../../contracts/limits.ts'
import type { SendOutcome } from './sender.ts'
import type { ServerSide } from './testing/hostile-server.fixture.ts'
import { bench, OK, requestTo, sendInTurn, useSenderBench } from './testing/sender-bench.fixture.ts'

useSenderBench()

describe('an endpoint that takes its time', () => {
  /** Sends, waits until the server has seen the request, and lets the time of an attempt go by. */
  async function sendUntilDeadline(behave: (side: ServerSide) => Promise<void> | void): Promise<SendOutcome> {
    const reached = Promise.withResolvers<void>()
    const closed = Promise.withResolvers<void>()
    const server = await bench.serve(async (side) => {
      side.socket.on('close', () => closed.resolve())
      await side.request()
      await behave(side)
      reached.resolve()
    })
    const sending = bench.senderOf().send(requestTo(server.port))
    await reached.promise
    await bench.clock.advance(LIMITS.webhookAttemptMs - 1)
    expect(await Promise.race([sending, turn('under way')])).toBe('under way')
    await bench.clock.advance(1)
    const outcome = await sending
    await closed.promise
    return outcome
  }

  test('by never answering is cut off', async () => {
    expect(await sendUntilDeadline(() => undefined)).toEqual({
      kind: 'timed_out',
      status: undefined,
      retryAfterMs: undefined,
      durationMs: LIMITS.webhookAttemptMs,
      detail: 'no whole answer within 15 s',
    })
  })

  test('by dripping headers is cut off', async () => {
    const outcome = await sendUntilDeadline(async ({ socket }) => {
      for (const piece of ['HTTP/1.1 ', '200 OK\r\n', 'x-a: ', 'b\r\n', 'x-c']) {
        socket.write(piece)
        await turn()
      }
    })
    expect(outcome).toMatchObject({ kind: 'timed_out', status: undefined })
  })

  test('by dripping its body is cut off, and not taken for a success', async () => {
    const outcome = await sendUntilDeadline(async ({ socket }) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n')
      for (let n = 0; n < 5; n++) {
        socket.write('.')
        await turn()
      }
    })
    expect(outcome).toMatchObject({
      kind: 'timed_out',
      status: undefined,
      detail: 'answered 200, then: no whole answer within 15 s',
    })
  })

  test('by not reading what it is sent is cut off', async () => {
    const accepted = Promise.withResolvers<void>()
    const server = await bench.serve(({ socket }) => {
      socket.pause()
      accepted.resolve()
    })
    const sending = bench.senderOf().send({ ...requestTo(server.port), body: Buffer.alloc(32_000_000) })
    await accepted.promise
    await bench.clock.advance(LIMITS.webhookAttemptMs)
    expect((await sending).kind).toBe('timed_out')
  })

  test('by never finishing a handshake is left', async () => {
    const server = await bench.serve(() => undefined)
    const sender = bench.senderOf({}, { connectMs: 100 })
    expect(await sender.send(requestTo(server.port, '127.0.0.1', 'https'))).toMatchObject({
      kind: 'connect_failed',
      status: undefined,
    })
  })

  test('by a name that is never resolved is left', async () => {
    const sender = bench.senderOf({ resolve: () => new Promise(() => undefined) }, { connectMs: 100 })
    expect(await sender.send(requestTo(1, 'silent.example.com'))).toMatchObject({
      kind: 'connect_failed',
      detail: 'no connection in time',
    })
  })

  test('costs nothing to whom nothing is sent any more: what waited behind it is not sent late', async () => {
    const first = Promise.withResolvers<ServerSide>()
    const server = await bench.serve(async (side) => {
      await side.request()
      first.resolve(side)
      await side.request()
    })
    const sender = bench.senderOf({}, { connectionsPerOrigin: 1 })
    const held = sender.send(requestTo(server.port))
    const { socket } = await first.promise
    const ending = new AbortController()
    const waiting = sender.send(requestTo(server.port), ending.signal)
    ending.abort()
    expect(await waiting).toMatchObject({ kind: 'aborted' })
    socket.write(OK)
    expect((await held).status).toBe(200)
    await sender.close()
    expect(server.heads).toHaveLength(1)
  })
})

describe('an endpoint that says too much', () => {
  test('is not read to the end of a body without one, and its status counts', async () => {
    const sent = Promise.withResolvers<void>()
    const server = await bench.serve(async ({ socket, request }) => {
      await request()
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      socket.on('close', () => sent.resolve())
      const fill = (): void => {
        while (!socket.destroyed && socket.write('x'.repeat(65_536)));
      }
      socket.on('drain', fill)
      fill()
    })
    const outcome = await bench.senderOf().send(requestTo(server.port))
    expect(outcome).toMatchObject({
      kind: 'answered',
      status: 200,
      detail: 'x'.repeat(LIMITS.webhookResponseKeptBytes),
    })
    await sent.promise
  })

  test('keeps its connection while its bodies are within what is read', async () => {
    const body = 'y'.repeat(LIMITS.webhookResponseBytes)
    const server = await bench.answering(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
    const sender = bench.senderOf()
    const outcomes = await sendInTurn(sender, Array(2).fill(requestTo(server.port)))
    expect(server.connections()).toBe(1)
    const longer = await bench.answering(
      `HTTP/1.1 200 OK\r\ncontent-length: ${body.length + 1}\r\n\r\n${body}y`,
    )
    outcomes.push(...(await sendInTurn(sender, Array(2).fill(requestTo(longer.port)))))
    expect(outcomes.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect(longer.connections()).toBe(2)
  })

  test('in packed form is not unpacked', async () => {
    const bomb = gzipSync(Buffer.alloc(10_000_000))
    expect(bomb.length).toBeLessThan(LIMITS.webhookResponseBytes)
    const head = `HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: ${bomb.length}\r\n\r\n`
    const server = await bench.answering(Buffer.concat([Buffer.from(head), bomb]))
    expect(await bench.senderOf().send(requestTo(server.port))).toMatchObject({
      kind: 'answered',
      status: 200,
      detail: '(a body encoded as gzip)',
    })
  })

  test.each([
    ['in one header', `x-a: ${'h'.repeat(20_000)}\r\n`],
    ['in many headers', Array.from({ length: 3_000 }, (_, n) => `x-${n}: v\r\n`).join('')],
  ])('%s is left', async (_where, headers) => {
    const server = await bench.answering(`HTTP/1.1 200 OK\r\n${headers}content-length: 0\r\n\r\n`)
    expect(await bench.senderOf().send(requestTo(server.port))).toMatchObject({
      kind: 'broken_off',
      status: undefined,
    })
  })

  test('in interim answers is left; a few are passed over', async () => {
    const hints = 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'
    const [few, flood] = [
      await bench.answering(hints.repeat(3) + OK),
      await bench.answering(hints.repeat(100) + OK),
    ]
    expect((await bench.senderOf().send(requestTo(few.port))).status).toBe(200)
    expect(await bench.senderOf().send(requestTo(flood.port))).toMatchObject({
      kind: 'broken_off',
      detail: 'more than 16 interim answers',
    })
  })

  test.each([
    ['100 Continue that nobody asked for', 'HTTP/1.1 100 Continue\r\n\r\n'],
    [
      '101 Switching Protocols',
      'HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n',
    ],
  ])('%s ends the attempt', async (_what, bytes) => {
    const server = await bench.answering(bytes)
    expect((await bench.senderOf().send(requestTo(server.port))).kind).toBe('broken_off')
  })

  test('a second answer to one request is not taken for that of the next', async () => {
    const server = await bench.serve(async ({ socket, request }, count) => {
      await request()
      if (count === 1) socket.write(`${OK}HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nforge`)
      else socket.write('HTTP/1.1 500 no\r\ncontent-length: 0\r\n\r\n')
    })
    const sender = bench.senderOf()
    const outcomes = [await sender.send(requestTo(server.port)), await sender.send(requestTo(server.port))]
    expect(outcomes.map(({ status }) => status)).toEqual([200, 500])
    expect(server.connections()).toBe(2)
  })
})
