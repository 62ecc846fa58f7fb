import { afterAll, beforeAll, expect, test } from 'vitest'
import { createServer } from '../composition/server.ts'
import { serverOptions } from '../http/testing/server-options.fixture.ts'

let app: Awaited<ReturnType<typeof createServer>>
beforeAll(async () => {
  app = await createServer(serverOptions())
})
afterAll(() => app.close())

const open = async (url: string) => (await app.inject({ url, headers: { accept: 'text/html' } })).statusCode

test.each(['/', '/track-record', '/series/SIM/BTC/1h', '/docs', '/docs/quotas', '/verify/x'])(
  'the page %s opens as it does without the parameters that networks and newsletters add to a link',
  async (path) => {
    expect(await open(`${path}?fbclid=abc&utm_source=mail&gclid=1`)).toBe(await open(path))
  },
)
