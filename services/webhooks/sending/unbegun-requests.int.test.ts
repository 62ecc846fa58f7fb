import { once } from 'node:events'
import { expect, test } from 'vitest'
import { bench, OK, requestTo, useSenderBench } from './testing/sender-bench.fixture.ts'

useSenderBench()

test('a request that waited for a connection is not sent once it may not begin any more', async () => {
  const answer = Promise.withResolvers<void>()
  const server = await bench.serve(async ({ socket, request }) => {
    for (;;) {
      await request()
      await answer.promise
      socket.write(OK)
    }
  })
  const sender = bench.senderOf({}, { connectionsPerOrigin: 1 })
  const [busy, allowed] = [requestTo(server.port), requestTo(server.port)]
  let mayBegin = true
  const first = sender.send(busy)
  const second = sender.send({ ...busy, mayBegin: () => mayBegin })
  const third = sender.send({ ...allowed, mayBegin: () => true })
  mayBegin = false
  answer.resolve()
  expect(await first).toMatchObject({ kind: 'answered', status: 200 })
  expect(await second).toMatchObject({ kind: 'aborted', status: undefined })
  // The connection is as good as before for who may.
  expect(await third).toMatchObject({ kind: 'answered', status: 200 })
  expect(server.heads).toHaveLength(2)
})

test('what an endpoint repeats of its address is not kept: its path and query may be secrets', async () => {
  const server = await bench.serve(async ({ socket, request }) => {
    const { head } = await request()
    const text = `Cannot POST ${head.split(' ')[1]} (token%2Fen, token/en, T0KEN-12345678) at all`
    socket.end(`HTTP/1.1 404 Not Found\r\ncontent-length: ${text.length}\r\n\r\n${text}`)
    await once(socket, 'close')
  })
  const request = requestTo(server.port)
  const url = `http://127.0.0.1:${server.port}/hooks/T0KEN-12345678?key=S3CRET-abcdef&sig=token%2Fen`
  const { detail } = await bench.senderOf().send({ ...request, url })
  expect(detail).toContain('Cannot POST ')
  expect(detail).toContain(' at all')
  for (const part of ['T0KEN-12345678', 'S3CRET-abcdef', 'token%2Fen', 'token/en'])
    expect(detail).not.toContain(part)
})
