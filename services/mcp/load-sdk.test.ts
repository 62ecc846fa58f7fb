import { afterEach, expect, test, vi } from 'vitest'
import { createServer } from '../composition/server.ts'
import { serverOptions } from '../http/testing/server-options.fixture.ts'
import { mcpServer } from './mcp-server.ts'
import { mcpOptions } from './testing/mcp-edge.fixture.ts'
import { legacy } from './testing/mcp-messages.fixture.ts'

const PONG = { jsonrpc: '2.0', id: 1, result: {} }
let failures = 1
vi.mock(import('./sdk-exchange.ts'), () => ({
  createSdkExchange() {
    if (failures-- > 0) throw new Error('EMFILE: too many open files')
    return { answer: async () => Response.json(PONG), close: async () => undefined }
  },
}))

const app = await createServer(serverOptions())
await app.register(mcpServer, mcpOptions())
afterEach(() => app.close())

test('the SDK that could not be loaded for one message is loaded for the next', async () => {
  const ping = () => app.inject({ method: 'POST', url: '/mcp', ...legacy('ping') })
  expect((await ping()).json()).toMatchObject({ error: { code: -32603 } })
  expect((await ping()).json()).toEqual(PONG)
})
