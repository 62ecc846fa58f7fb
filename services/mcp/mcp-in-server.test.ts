import { afterEach, beforeEach, expect, test } from 'vitest'
import { createServer } from '../composition/server.ts'
import { serverOptions } from '../http/testing/server-options.fixture.ts'
import { mcpServer } from './mcp-server.ts'
import { mcpOptions } from './testing/mcp-edge.fixture.ts'
import { legacy, modern, raw } from './testing/mcp-messages.fixture.ts'

let app: Awaited<ReturnType<typeof createServer>>

beforeEach(async () => {
  app = await createServer(serverOptions({ newId: () => 'request-7' }))
  await app.register(mcpServer, mcpOptions())
})
afterEach(() => app.close())

test.each([modern, legacy])('stands beside the routes of the service: %o', async (request) => {
  const { headers, payload } = request('tools/call', { name: 'get_trade_call', arguments: { coin: 'BTC' } })
  const response = await app.inject({ method: 'POST', url: '/mcp', headers, payload })
  expect(response.json().result.isError).toBe(false)
  expect(response.headers).toMatchObject({ 'x-request-id': 'request-7', 'x-content-type-options': 'nosniff' })
})

test('answers every method, and refuses in JSON-RPC what the service refuses elsewhere in its own words', async () => {
  const ping = await app.inject({ method: 'POST', url: '/mcp', ...legacy('ping') })
  expect(ping.json()).toEqual({ jsonrpc: '2.0', id: 1, result: {} })
  expect(ping.headers['x-request-id']).toBe('request-7')
  const broken = await app.inject({ method: 'POST', url: '/mcp', ...raw('{') })
  expect(broken.json().error.code).toBe(-32700)
  const elsewhere = await app.inject({ method: 'GET', url: '/mcp/else', headers: { host: 'localhost' } })
  expect(elsewhere.json()).toMatchObject({ code: 'not_found' })
})
