import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { createEgressGuard } from './egress-guard.ts'
import { createGuardedFetch, type GuardedDocument } from './guarded-fetch.ts'

let server: Server | undefined
afterEach(() => {
  server?.closeAllConnections()
  server?.close()
})

/** Fetches from a server of this machine, which trials are let to. */
async function fetched(answer: RequestListener, timeMs = 5_000): Promise<GuardedDocument> {
  server = createServer(answer)
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const guard = createEgressGuard({ allowPrivate: true, ownHosts: [] })
  return createGuardedFetch({ guard, userAgent: 'test' })(`http://127.0.0.1:${port}/client.json`, {
    bytes: 1_000,
    timeMs,
  })
}

test('a document comes with its type and how long it may be kept', async () => {
  const document = await fetched((_request, response) => {
    response.setHeader('content-type', 'application/json')
    response.setHeader('cache-control', 'public, max-age=600')
    response.end('{"a":1}')
  })
  expect(document).toEqual({ status: 200, contentType: 'application/json', maxAgeS: 600, body: '{"a":1}' })
})

test('a redirect is not followed', async () => {
  let requests = 0
  const document = await fetched((_request, response) => {
    requests += 1
    response.writeHead(302, { location: '/elsewhere' })
    response.end()
  })
  expect(document).toMatchObject({ status: 302, body: '' })
  expect(requests).toBe(1)
})

test('one that is too large, or has no end, is given up', async () => {
  await expect(fetched((_request, response) => void response.end('x'.repeat(1_001)))).rejects.toThrow(
    'more than 1000 bytes',
  )
  await expect(
    fetched((_request, response) => {
      const timer = setInterval(() => response.write('x'.repeat(100)), 1)
      response.once('close', () => clearInterval(timer))
    }),
  ).rejects.toThrow('more than 1000 bytes')
})

test('one that drips is given up in time', async () => {
  await expect(fetched((_request, response) => void response.write('{'), 200)).rejects.toThrow('within 0.2 s')
})

const guarded = createGuardedFetch({
  guard: createEgressGuard({
    allowPrivate: false,
    ownHosts: ['signals.example.com'],
    resolve: async (name) => [{ address: name === 'public.example.com' ? '8.8.8.8' : '10.0.0.1', family: 4 }],
  }),
  userAgent: 'test',
})

test.each([
  'https://127.0.0.1/client.json',
  'https://[::1]/client.json',
  'https://169.254.169.254/latest/meta-data',
  'https://10.0.0.1/client.json',
  'https://2130706433/client.json',
  'https://localhost/client.json',
  'https://rebound.example.com/client.json',
  'https://signals.example.com/client.json',
  'http://public.example.com/client.json',
])('nothing is fetched from %s', async (url) => {
  await expect(guarded(url, { bytes: 1_000, timeMs: 1_000 })).rejects.toMatchObject({ code: 'url_refused' })
})
