import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isServiceError } from '../../../contracts/errors.ts'
import { type OwnService, startOwnService } from '../../composition/own-service.fixture.ts'
import { listingChecks } from './check-listing.ts'

/** The result of each check; for a fault, its message. */
async function findings(url: string, parts?: readonly string[]): Promise<Record<string, string>> {
  const found: Record<string, string> = {}
  for (const { part, describe: look } of listingChecks(url)) {
    if (parts?.includes(part) === false) continue
    const outcome = await look().catch((error: unknown) => {
      if (isServiceError(error)) return `${error.code}: ${error.message}`
      throw error
    })
    found[part] = typeof outcome === 'string' ? outcome : outcome.detail
  }
  return found
}

describe('a service that runs', () => {
  let service: OwnService
  let url: string
  beforeAll(async () => {
    service = await startOwnService({
      COINS: 'BTC',
      TIMEFRAMES: '1h',
      RATE_PER_ADDRESS: 'off',
      X402_PAY_TO: `0x${'22'.repeat(20)}`,
    })
    ;({ url } = service)
  })
  afterAll(() => service?.stop())

  test('answers as everything that announces it says', async () => {
    const found = await findings(url)
    expect(Object.values(found).filter((text) => text.startsWith('listing_wrong'))).toEqual([])
    expect(found.offers).toMatch(/^6 offers/)
    expect(found['MCP tools']).toMatch(/ 4 of them to be paid for$/)
    expect(found['server card']).toMatch(/^6 revisions/)
  })

  test('says the same to who has it already', async () => {
    for (const path of ['/.well-known/x402.json', '/mcp/server-card', '/llms.txt', '/llms-full.txt']) {
      const first = await fetch(`${url}${path}`)
      expect([first.status, first.headers.get('access-control-allow-origin')]).toEqual([200, '*'])
      const etag = first.headers.get('etag') ?? ''
      expect((await fetch(`${url}${path}`, { headers: { 'if-none-match': etag } })).status).toBe(304)
    }
    expect((await (await fetch(`${url}/llms-full.txt`)).text()).length).toBeGreaterThan(100_000)
  })

  /** In front of the service, with its own address in every document, and one change. */
  async function behindProxy<T>(
    path: string,
    change: (text: string) => string,
    use: (url: string) => Promise<T>,
    isBusy: () => boolean = () => false,
  ) {
    const forward = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      if (request.url === path && isBusy()) return void response.writeHead(429, { 'retry-after': '0' }).end()
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      const { host: _, connection: __, 'content-length': ___, ...headers } = request.headers
      const answer = await fetch(`${url}${request.url}`, {
        method: request.method ?? 'GET',
        headers: headers as Record<string, string>,
        ...(chunks.length > 0 && { body: Buffer.concat(chunks) }),
      })
      const own = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
      const move = (text: string): string => text.replaceAll(url, own)
      const text = move(await answer.text())
      const offer = answer.headers.get('payment-required')
      const moved = offer === null ? undefined : Buffer.from(move(Buffer.from(offer, 'base64').toString()))
      response.writeHead(answer.status, moved && { 'payment-required': moved.toString('base64') })
      response.end(request.url === path ? change(text) : text)
    }
    const proxy = createServer((request, response) => void forward(request, response)).listen(0, '127.0.0.1')
    await once(proxy, 'listening')
    try {
      return await use(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}`)
    } finally {
      proxy.closeAllConnections()
      proxy.close()
    }
  }

  test('is asked again where a limit refuses it', async () => {
    let refused = 0
    const found = await behindProxy(
      '/llms.txt',
      (text) => text,
      (address) => findings(address, ['llms.txt']),
      () => refused++ === 0,
    )
    expect([found['llms.txt']?.startsWith('listing_wrong'), refused > 1]).toEqual([false, true])
  })

  test.each([
    ['/.well-known/x402.json', '"amount":"10000"', '"amount":"1000"', 'offers', 'offers something else'],
    [
      '/.well-known/x402.json',
      '"toolName":"get_trade_call"',
      '"toolName":"scan_trade_calls"',
      'MCP tools',
      'takes something else',
    ],
    ['/server.json', '"version":"', '"version":"9.', 'server.json', 'is announced'],
    [
      '/mcp/server-card',
      '"2025-11-25"',
      '"2031-01-01"',
      'server card',
      'Unsupported protocol version: 2031-01-01',
    ],
    [
      '/mcp/server-card',
      /"url":"[^"]+"/,
      '"url":"https://elsewhere.example/mcp"',
      'server card',
      'not at http',
    ],
    ['/llms.txt', '/docs/quotas.md', '/docs/quotes.md', 'llms.txt', 'answers 404'],
  ] as const)('a lie in %s is seen: %s', async (path, from, to, part, message) => {
    const found = await behindProxy(
      path,
      (text) => text.replace(from, to),
      (address) => findings(address, [part]),
    )
    expect(found[part]).toMatch(/^listing_wrong: /)
    expect(found[part]).toContain(message)
  })
})
