import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { bench, requestTo, useSenderBench } from './testing/sender-bench.fixture.ts'

useSenderBench()

describe('an endpoint that breaks', () => {
  test.each([
    [
      'in the middle of its body',
      'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf',
      /^answered 200, then: /,
    ],
    [
      'in the middle of a chunk',
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nff\r\nhalf',
      /^answered 200/,
    ],
    ['in the middle of its headers', 'HTTP/1.1 200 OK\r\nx-a', /./],
    ['before a byte of an answer', '', /./],
  ])('%s has not answered', async (_where, bytes, words) => {
    const server = await bench.serve(async ({ socket, request }) => {
      await request()
      socket.end(bytes)
    })
    const outcome = await bench.senderOf().send(requestTo(server.port))
    expect(outcome).toMatchObject({ kind: 'broken_off', status: undefined })
    expect(outcome.detail).toMatch(words)
    // A new connection that is closed is not tried once more: that is for kept ones.
    expect(server.connections()).toBe(1)
  })

  test('by a reset has not answered', async () => {
    const server = await bench.serve(async ({ socket, request }) => {
      await request()
      socket.resetAndDestroy()
    })
    expect((await bench.senderOf().send(requestTo(server.port))).kind).toBe('broken_off')
  })

  test.each([
    ['no HTTP', 'SSH-2.0-OpenSSH_9.6\r\n'],
    ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nok'],
    [
      'a length and chunks',
      'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['a length below nothing', 'HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n'],
  ])('by saying %s has not answered', async (_what, bytes) => {
    const server = await bench.serve(async ({ socket, request }) => {
      await request()
      socket.end(bytes)
    })
    expect((await bench.senderOf().send(requestTo(server.port))).kind).toBe('broken_off')
  })

  test('by not being there is not connected to', async () => {
    const server = await bench.serve(() => undefined)
    const { port } = server
    await server.close()
    const outcome = await bench.senderOf().send(requestTo(port))
    expect(outcome).toMatchObject({ kind: 'connect_failed', status: undefined })
    expect(outcome.detail).toContain('ECONNREFUSED')
  })
})

test('whatever bytes are answered, there is one outcome, and it is a success only where an answer ended', async () => {
  const pieces = fc.constantFrom(
    'HTTP/1.1 200 OK\r\n',
    'HTTP/1.1 103 Hint\r\n',
    'HTTP/1.0 500 no\r\n',
    'content-length: 3\r\n',
    'transfer-encoding: chunked\r\n',
    'connection: close\r\n',
    '\r\n',
    '3\r\nabc\r\n',
    '0\r\n\r\n',
    'abc',
  )
  const answer = fc.array(fc.oneof({ weight: 4, arbitrary: pieces }, fc.string({ maxLength: 5 })), {
    maxLength: 8,
  })
  await fc.assert(
    fc.asyncProperty(answer, fc.boolean(), async (parts, isReset) => {
      const server = await bench.serve(async ({ socket, request }) => {
        await request()
        for (const part of parts) {
          socket.write(part, 'latin1')
          await turn()
        }
        if (isReset) socket.resetAndDestroy()
        else socket.end()
      })
      const sender = bench.senderOf()
      const { kind, status } = await sender.send(requestTo(server.port))
      expect(['answered', 'broken_off']).toContain(kind)
      expect(status !== undefined).toBe(kind === 'answered')
      if (kind === 'answered') expect(parts.join('')).toMatch(/^HTTP\/1\.[01] \d{3}/m)
      await sender.close()
    }),
    { numRuns: 80 },
  )
})
