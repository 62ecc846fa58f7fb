import { setImmediate as turn } from 'node:timers/promises'
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

test('what follows an answer at once takes its connection, and what still waits at the end is sent', async () => {
  const server = await bench.answering(OK)
  const sender = bench.senderOf({}, { connectionsPerOrigin: 4 })
  const caller = async (): Promise<void> => {
    for (let sent = 0; sent < 5; sent++) await sender.send(requestTo(server.port))
  }
  await Promise.all([caller(), caller()])
  expect(server.connections()).toBe(2)
  const waiting = Array.from({ length: 9 }, () => sender.send(requestTo(server.port)))
  await sender.close()
  for (const outcome of await Promise.all(waiting)) expect(outcome.status).toBe(200)
  expect(server.connections()).toBe(4)
})

test('what nobody waits for any more is not sent', async () => {
  const server = await bench.serve(({ request, socket }) => request().then(() => void socket.resume()))
  const other = bench.senderOf({}, { connectionsPerOrigin: 1 })
  const [hanging, over] = [new AbortController(), new AbortController()]
  const first = other.send(requestTo(server.port), hanging.signal)
  const second = other.send(requestTo(server.port), over.signal)
  over.abort()
  expect(await second).toMatchObject({ kind: 'aborted' })
  while (server.heads.length === 0) await turn()
  hanging.abort()
  expect(await first).toMatchObject({ kind: 'aborted' })
  await other.close()
  expect(server.heads).toHaveLength(1)
})
