import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Writable } from 'node:stream'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { findService, openService } from './service.ts'

let server: Server
let url: string
let asked: string[]
let headers: IncomingMessage['headers'][]
/** The answers of the server, request by request; the last one repeats. */
let answers: ((response: ServerResponse, query: URLSearchParams) => void)[]
let remarks: string

beforeEach(async () => {
  asked = []
  headers = []
  remarks = ''
  server = createServer((request, response) => {
    const target = new URL(request.url ?? '', 'http://x')
    asked.push(`${target.pathname}${target.search}`)
    headers.push(request.headers)
    const answer = answers.length > 1 ? answers.shift() : answers[0]
    answer?.(response, target.searchParams)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterEach(() => {
  server.closeAllConnections()
  server.close()
})

const stderr = new Writable({
  write(chunk, _encoding, done) {
    remarks += String(chunk)
    done()
  },
})
const source = (change: { token?: string; signal?: AbortSignal } = {}) => {
  const { token, signal = new AbortController().signal } = change
  const flags = { server: url, 'operator-token': token, 'data-dir': 'data', market: 'simulated' } as const
  return {
    async *replay({ limit, parameters }: ReturnType<typeof request>) {
      const service = await findService({ flags, signal, stderr })
      yield* service.verdicts(parameters, limit)
    },
  }
}

const request = (limit: number, parameters: Record<string, string> = {}) => ({ limit, parameters })
const line = (cursor: number): string => `${JSON.stringify({ cursor: String(cursor) })}\n`

async function cursors(rows: AsyncIterable<{ readonly cursor: string }>): Promise<string[]> {
  const all: string[] = []
  for await (const { cursor } of rows) all.push(cursor)
  return all
}

describe('a replay', () => {
  test('is asked with the words of the flags and the token, page by page up to the limit', async () => {
    answers = [
      (response, query) => {
        const first = Number(query.get('after') ?? 0) + 1
        const count = Math.min(Number(query.get('limit')), 3, 8 - first)
        if (count === 3) response.setHeader('x-next-cursor', String(first + 2))
        response.end(Array.from({ length: count }, (_, index) => line(first + index)).join(''))
      },
    ]
    const all = source({ token: 'secret' }).replay(request(1_000, { coin: 'BTC,ETH' }))
    expect(await cursors(all)).toEqual(['1', '2', '3', '4', '5', '6', '7'])
    expect(asked).toEqual([
      '/api/verdicts?coin=BTC%2CETH&limit=1000',
      '/api/verdicts?coin=BTC%2CETH&after=3&limit=997',
      '/api/verdicts?coin=BTC%2CETH&after=6&limit=994',
    ])
    expect(headers.map(({ authorization }) => authorization)).toEqual(Array(3).fill('Bearer secret'))
    expect(await cursors(source().replay(request(4)))).toEqual(['1', '2', '3', '4'])
  })

  test('that is cut goes on behind the last row, and names it if it cannot', async () => {
    answers = [
      (response) => {
        response.write(`${line(1)}${line(2)}{"cursor":`)
        setImmediate(() => response.destroy())
      },
      (response) => void response.destroy(),
    ]
    await expect(cursors(source().replay(request(10)))).rejects.toMatchObject({
      code: 'server_unreachable',
      message: expect.stringContaining('The last whole row has the cursor 2') as string,
    })
  })

  test('that is refused is told in the words of the service', async () => {
    answers = [
      (response) => {
        response.writeHead(401).end(JSON.stringify({ code: 'unauthorized', message: 'Not that token.' }))
      },
    ]
    await expect(cursors(source().replay(request(1)))).rejects.toMatchObject({
      code: 'unauthorized',
      message: 'Not that token.',
    })
  })

  test.each([
    [502, '<html>Bad gateway</html>'],
    [200, '<html>Welcome</html>'],
    [404, '{"error":"no such page"}'],
  ])('of something else that answers %i %s is seen through', async (status, text) => {
    answers = [(response) => void response.writeHead(status).end(text)]
    await expect(cursors(source().replay(request(1)))).rejects.toMatchObject({ code: 'server_unreachable' })
    const { signal } = new AbortController()
    await expect(openService({ url }, signal).state()).rejects.toMatchObject({
      code: 'server_unreachable',
    })
  })
})

describe('a service that is busy', () => {
  const busy = (status: number, retryAfter?: string) => (response: ServerResponse) =>
    void response
      .writeHead(status, retryAfter === undefined ? {} : { 'retry-after': retryAfter })
      .end('{"code":"rate_limited","message":"Slower."}')

  test('is asked again when it says, and that is told', async () => {
    answers = [busy(429, '0'), busy(503, '0'), (response) => void response.end(line(1))]
    expect(await cursors(source().replay(request(1)))).toEqual(['1'])
    expect(asked).toHaveLength(3)
    expect(remarks.split('\n').slice(1, 3)).toEqual([
      `${url}: rate_limited: Slower. (asking again in 0 s)`,
      `${url}: rate_limited: Slower. (asking again in 0 s)`,
    ])
  })

  test('and asks to be left alone for long is told in its own words', async () => {
    answers = [busy(429, '86400')]
    await expect(cursors(source().replay(request(1)))).rejects.toMatchObject({ code: 'rate_limited' })
    expect(asked).toHaveLength(1)
  })
})

describe('a service that has no end', () => {
  test('in a search that goes nowhere', async () => {
    answers = [(response) => void response.writeHead(200, { 'x-next-cursor': '7' }).end()]
    expect(await cursors(source().replay(request(9)))).toEqual([])
    expect(asked).toHaveLength(2)
  })

  test('in a line', async () => {
    answers = [
      (response) => {
        const more = (): void => {
          while (!response.destroyed && response.write('x'.repeat(65_536)));
          response.once('drain', more)
        }
        more()
      },
    ]
    await expect(cursors(source().replay(request(9)))).rejects.toThrow(/more than \d+ characters/)
  })
})
