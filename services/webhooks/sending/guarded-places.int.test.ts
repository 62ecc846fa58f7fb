import { networkInterfaces } from 'node:os'
import type { TLSSocket } from 'node:tls'
import { describe, expect, test } from 'vitest'
import { createEgressGuard } from './egress-guard.ts'
import {
  answerAll,
  bench,
  OK,
  requestTo,
  sendInTurn,
  useSenderBench,
} from './testing/sender-bench.fixture.ts'
import { TEST_CERTIFICATE, TEST_CERTIFICATE_KEY } from './testing/test-certificate.fixture.ts'

const hasIpv6 = Object.values(networkInterfaces()).some((all = []) =>
  all.some(({ address }) => address === '::1'),
)
const ipv6Reason = hasIpv6 ? '' : ' (that of IPv6 skipped: this machine has no ::1)'

const IPV6_HERE: [string, string][] = [['::1', 'http://[::1]']]
/** Addresses of this machine, as they are written in URLs. */
const PRIVATE_HERE: [string, string][] = [['127.0.0.2', 'http://127.0.0.2'], ...(hasIpv6 ? IPV6_HERE : [])]

useSenderBench()

describe('places that are not sent to', () => {
  const PUBLIC_HERE = { admits: (address: string) => address === '127.0.0.1' }

  test.each([
    'http://example.com/',
    'https://127.0.0.1/',
    'https://localhost/',
    'https://[::1]/',
    'https://[::ffff:127.0.0.1]/',
    'https://2130706433/',
    'https://example.com:9000/',
    'not an address',
  ])('%s is refused before anything is resolved', async (url) => {
    const resolve = () => expect.fail('resolved')
    const sender = bench.senderOf({ allowPrivate: false, resolve })
    const outcome = await sender.send({ ...requestTo(1), url })
    expect(outcome).toMatchObject({ kind: 'url_refused', status: undefined })
    expect(outcome.detail.length).toBeGreaterThan(10)
  })

  test.each(PRIVATE_HERE)(`literals skip the resolver, not the guard: %s${ipv6Reason}`, async (host, url) => {
    const server = await bench.serve(() => undefined, { host })
    const guard = createEgressGuard({ allowPrivate: true, ownHosts: [], ...PUBLIC_HERE })
    const sender = bench.senderOf({}, { guard })
    const outcome = await sender.send({ ...requestTo(1), url: `${url}:${server.port}/` })
    expect(outcome).toMatchObject({
      kind: 'url_refused',
      detail: `The address ${host} is not a public one.`,
    })
    expect(server.connections()).toBe(0)
  })

  test('a name that meant a public place at create and means another at connect is refused', async () => {
    const server = await bench.serve(() => undefined, { host: '127.0.0.2' })
    let resolved = 0
    const resolve = async () => [
      { address: ++resolved === 1 ? '127.0.0.1' : '127.0.0.2', family: 4 as const },
    ]
    const guard = createEgressGuard({ allowPrivate: true, ownHosts: [], ...PUBLIC_HERE, resolve })
    const request = requestTo(server.port, 'rebind.example.com')
    expect((await guard.checkReachable(request.url)).hostname).toBe('rebind.example.com')
    const outcome = await bench.senderOf({}, { guard }).send(request)
    expect(outcome).toMatchObject({ kind: 'url_refused', status: undefined })
    expect(outcome.detail).not.toContain('127.0.0.2')
    expect(server.connections()).toBe(0)
  })

  test('one bad answer among good ones is enough', async () => {
    const server = await bench.answering(OK)
    const resolve = async () => [
      { address: '127.0.0.1', family: 4 as const },
      { address: '::1', family: 6 as const },
    ]
    const sender = bench.senderOf({ ...PUBLIC_HERE, resolve })
    expect((await sender.send(requestTo(server.port, 'mixed.example.com'))).kind).toBe('url_refused')
    expect(server.connections()).toBe(0)
  })

  test.each(['http', 'https'])(
    'a connection of %s that leads elsewhere is closed before a byte is sent',
    async (scheme) => {
      const seen = Promise.withResolvers<number>()
      const server = await bench.serve(({ socket }) => {
        let bytes = 0
        socket.on('data', (chunk: Buffer) => (bytes += chunk.length))
        socket.on('close', () => seen.resolve(bytes))
      })
      // Admitted when the name was resolved, and not any more when the other end is looked at.
      let looks = 0
      const admits = () => ++looks === 1
      const resolve = async () => [{ address: '127.0.0.1', family: 4 as const }]
      const sender = bench.senderOf({ admits, resolve })
      const outcome = await sender.send(requestTo(server.port, 'x.example.com', scheme))
      expect(outcome).toMatchObject({ kind: 'url_refused' })
      expect(await seen.promise).toBe(0)
    },
  )

  test('a kept connection stays where it was made to; a new one is checked anew', async () => {
    const server = await bench.serve(async ({ socket, request }) => {
      await request()
      socket.write(OK)
      await request()
      socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok')
    })
    let address = '127.0.0.1'
    const resolve = async () => [{ address, family: 4 as const }]
    const sender = bench.senderOf({ ...PUBLIC_HERE, resolve })
    const request = requestTo(server.port, 'later.example.com')
    const first = await sendInTurn(sender, [request])
    address = '10.0.0.1'
    const later = await sendInTurn(sender, [request, request])
    expect([...first, ...later].map(({ kind }) => kind)).toEqual(['answered', 'answered', 'url_refused'])
    expect(server.connections()).toBe(1)
  })

  test.each([301, 302, 303, 307, 308])('where a %d points to', async (status) => {
    const target = await bench.answering(OK)
    const server = await bench.answering(
      `HTTP/1.1 ${status} Moved\r\nlocation: http://127.0.0.1:${target.port}/latest/meta-data\r\ncontent-length: 0\r\n\r\n`,
    )
    expect(await bench.senderOf().send(requestTo(server.port))).toMatchObject({ kind: 'answered', status })
    expect([server.heads.length, target.connections()]).toEqual([1, 0])
  })
})

describe('TLS', () => {
  const tls = { cert: TEST_CERTIFICATE, key: TEST_CERTIFICATE_KEY }
  const resolve = async () => [{ address: '127.0.0.1', family: 4 as const }]
  const serveTls = () => bench.serve((side) => answerAll(side, OK), { tls })

  test('is spoken to whoever has a certificate for the name, over one connection', async () => {
    const server = await serveTls()
    const sender = bench.senderOf({ resolve }, { authorities: [TEST_CERTIFICATE] })
    const request = requestTo(server.port, 'hooks.example.com', 'https')
    for (const outcome of await sendInTurn(sender, [request, request])) {
      expect(outcome).toMatchObject({ kind: 'answered', status: 200, detail: 'ok' })
    }
    expect(server.connections()).toBe(1)
    expect((await sender.send(requestTo(server.port, '127.0.0.1', 'https'))).status).toBe(200)
  })

  test.each([
    ['signed by nobody known', 'hooks.example.com', {}, 'self-signed'],
    ['for another name', 'other.example.com', { authorities: [TEST_CERTIFICATE] }, 'altnames'],
    ['for names above it', 'a.b.hooks.example.com', { authorities: [TEST_CERTIFICATE] }, 'altnames'],
  ])('with a certificate %s is not, whatever the environment says', async (_what, host, options, words) => {
    const server = await serveTls()
    const before = process.env.NODE_TLS_REJECT_UNAUTHORIZED
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
    try {
      const outcome = await bench.senderOf({ resolve }, options).send(requestTo(server.port, host, 'https'))
      expect(outcome).toMatchObject({ kind: 'connect_failed', status: undefined })
      expect(outcome.detail).toContain(words)
    } finally {
      if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED
      else process.env.NODE_TLS_REJECT_UNAUTHORIZED = before
    }
    expect(server.heads).toEqual([])
  })

  test('to a server without it fails, and so does plain HTTP to one with it', async () => {
    const [plain, secure] = [await bench.serve(({ socket }) => void socket.end(OK)), await serveTls()]
    expect((await bench.senderOf().send(requestTo(plain.port, '127.0.0.1', 'https'))).kind).toBe(
      'connect_failed',
    )
    expect((await bench.senderOf().send(requestTo(secure.port))).kind).toBe('broken_off')
  })

  const CLOSING = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok'
  /** A server that ends each connection with its answer, and what it saw of each: whether it was resumed. */
  async function serveResumed(port = 0) {
    const resumed: boolean[] = []
    const server = await bench.serve(
      async ({ socket, request }) => {
        await request()
        resumed.push((socket as TLSSocket).isSessionReused())
        socket.end(CLOSING)
      },
      { tls: { ...tls, ticketKeys: Buffer.alloc(48, 7) }, port },
    )
    return { server, resumed }
  }
  const authorities = [TEST_CERTIFICATE]
  const toName = ({ port }: { port: number }, name = 'hooks') =>
    requestTo(port, name === 'hooks' ? 'hooks.example.com' : `${name}.hooks.example.com`, 'https')

  test('new connections resume the session of a host', async () => {
    const { server, resumed } = await serveResumed()
    const sender = bench.senderOf({ resolve }, { authorities })
    await sendInTurn(sender, [toName(server), toName(server), toName(server, 'a'), toName(server, 'a')])
    expect(resumed).toEqual([false, true, false, true])
  })

  test('a resumed connection goes to an address that was checked, like any other', async () => {
    const { server, resumed } = await serveResumed()
    let address = '127.0.0.1'
    const guard = {
      admits: (to: string) => to === '127.0.0.1',
      resolve: async () => [{ address, family: 4 as const }],
    }
    const sender = bench.senderOf(guard, { authorities })
    const first = await sendInTurn(sender, [toName(server), toName(server)])
    address = '10.0.0.1'
    const moved = await sender.send(toName(server))
    expect([...first, moved].map(({ kind }) => kind)).toEqual(['answered', 'answered', 'url_refused'])
    expect(resumed).toEqual([false, true])
  })
})
