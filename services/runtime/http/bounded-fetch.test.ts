import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { AnswerTooLong, boundedFetch } from './bounded-fetch.ts'

let server: Server
let url: string
let answer: (response: ServerResponse) => void
beforeEach(async () => {
  server = createServer((_request, response) => answer(response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterEach(() => {
  server.closeAllConnections()
  server.close()
})

const ask = (init = {}, change = {}) =>
  boundedFetch(url, init, { timeMs: 5_000, mostBytes: 1_000, ...change })

describe('a request', () => {
  test('an answer within its bounds is read whole', async () => {
    answer = (response) => void response.writeHead(418, { 'retry-after': '1' }).end('x'.repeat(1_000))
    const { status, headers, body } = await ask()
    expect([status, headers.get('retry-after'), body.length]).toEqual([418, '1', 1_000])
  })

  test.each([
    ['long', (response: ServerResponse) => void response.end('x'.repeat(1_001))],
    [
      'packed',
      (response: ServerResponse) =>
        void response.setHeader('content-encoding', 'gzip').end(gzipSync(Buffer.alloc(1_000_000))),
    ],
  ])('one that is too %s is not', async (_name, send) => {
    answer = send
    await expect(ask()).rejects.toBeInstanceOf(AnswerTooLong)
  })

  test('one that drips in ends with the time', async () => {
    answer = (response) => {
      const dripping = setInterval(() => response.write('x'), 5)
      response.on('close', () => clearInterval(dripping))
    }
    await expect(ask({}, { timeMs: 60 })).rejects.toThrow(/timeout|aborted/)
  })

  test('one that is cut off fails', async () => {
    answer = (response) => {
      response.writeHead(200, { 'content-length': '10' }).write('x')
      setTimeout(() => response.destroy(), 20)
    }
    await expect(ask()).rejects.toThrow()
  })

  test('one that nobody gives fails, and a signal ends it', async () => {
    const signal = AbortSignal.abort(new Error('enough'))
    await expect(ask({}, { signal })).rejects.toThrow()
    server.closeAllConnections()
    await new Promise<void>((resolve) => server.close(() => resolve()))
    await expect(ask()).rejects.toThrow(/./)
  })
})

test('a redirect leads nowhere, and a signal ends it', async () => {
  answer = (response) => void response.writeHead(302, { location: '/elsewhere' }).end()
  await expect(ask()).rejects.toThrow()
  expect((await ask({ redirect: 'manual' })).status).toBe(302)
  const signal = AbortSignal.abort(new Error('enough'))
  await expect(ask({}, { signal })).rejects.toThrow('enough')
})
