import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { FastifyInstance } from 'fastify'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { followVerdicts } from '../../analyst/index.ts'
import { CURSOR_META_KEY, ROW_META_KEY } from './listen.ts'
import { createMcpEdge, listen } from './testing/mcp-edge.fixture.ts'
import { givenVerdicts, type VerdictLog } from './testing/verdict-log.fixture.ts'

let log: VerdictLog
let app: FastifyInstance
let url: string
let clients: Client[]
let isKeyGood: boolean

beforeEach(async () => {
  log = givenVerdicts()
  clients = []
  isKeyGood = true
  const window = { id: '2026-11', from: 0, to: 1 }
  app = await createMcpEdge({
    listen: {
      follow: (options) => followVerdicts(log.store, { ...options, sleep: log.sleep }),
      marketNow: () => log.now,
      async identify(authorization) {
        if (authorization === undefined) return { outcome: 'ABSENT' }
        return isKeyGood
          ? { outcome: 'OK', accountId: authorization, keyId: 'key', tier: 'free', window }
          : { outcome: 'UNKNOWN' }
      },
    },
  })
  url = await listen(app)
})
afterEach(async () => {
  await Promise.all(clients.map((client) => client.close()))
  await app.close()
})

interface Told {
  readonly uri: string
  readonly _meta: Record<string, { readonly coin: string; readonly call: string } & string>
}

async function connect(
  key?: string,
): Promise<{ client: Client; told: Told[]; until: (count: number) => Promise<void> }> {
  const client = new Client(
    { name: 'referee', version: '1' },
    { versionNegotiation: { mode: { pin: '2026-07-28' } } },
  )
  clients.push(client)
  const told: Told[] = []
  let wake = (): void => undefined
  client.setNotificationHandler('notifications/resources/updated', ({ params }) => {
    told.push(params as unknown as Told)
    wake()
  })
  const headers = key === undefined ? undefined : { authorization: key }
  await client.connect(
    new StreamableHTTPClientTransport(new URL(url), { requestInit: { ...(headers && { headers }) } }),
  )
  return {
    client,
    told,
    async until(count) {
      while (told.length < count) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    },
  }
}

const coins = (told: readonly Told[]): unknown[] => told.map(({ _meta }) => _meta[ROW_META_KEY]?.coin)
const cursorOf = ({ _meta: meta }: Told): string => String(meta[CURSOR_META_KEY])

test('an account is told of what it watches as it is recorded, and of nothing else', async () => {
  const { client, told, until } = await connect('Bearer one')
  expect(client.getServerCapabilities()?.resources).toMatchObject({ subscribe: true })
  const uri = 'signal://calls?coin=BTC,ETH&timeframe=1h'
  const subscription = await client.listen({ resourceSubscriptions: [uri, 'signal://elsewhere'] })
  expect(subscription.honoredFilter).toEqual({ resourceSubscriptions: [uri] })
  await log.record('BTC', 'BUY')
  await log.record('SOL', 'BUY')
  await log.record('BTC', 'HOLD')
  await log.record('ETH', 'SELL')
  await until(2)
  expect(told.map((one) => one.uri)).toEqual([uri, uri])
  expect(coins(told)).toEqual(['BTC', 'ETH'])
  await subscription.close()
})

test('who comes back with a cursor is told of what was recorded meanwhile, once', async () => {
  const first = await connect('Bearer one')
  const cut = await first.client.listen({ resourceSubscriptions: ['signal://calls'] })
  await log.record('BTC', 'BUY')
  await first.until(1)
  await cut.close()
  await log.record('ETH', 'SELL')
  const second = await connect('Bearer one')
  const uri = `signal://calls?after=${cursorOf(first.told[0] as Told)}`
  await second.client.listen({ resourceSubscriptions: [uri] })
  await log.record('SOL', 'BUY')
  await second.until(2)
  expect(coins(second.told)).toEqual(['ETH', 'SOL'])
})

test('who has no account is told once the window has closed', async () => {
  const { client, told, until } = await connect()
  await client.listen({ resourceSubscriptions: ['signal://calls', 'signal://regime-shifts'] })
  await log.record('BTC', 'BUY', { shiftedFrom: 'RANGING' })
  log.now += 30 * 86_400_000
  await until(2)
  expect(told.map(({ uri }) => uri).toSorted()).toEqual(['signal://calls', 'signal://regime-shifts'])
})

test('an account holds ten at a time, and has room again when one ends', async () => {
  const { client } = await connect('Bearer one')
  const open = await Promise.all(
    Array.from({ length: 10 }, () => client.listen({ resourceSubscriptions: ['signal://calls'] })),
  )
  await expect(client.listen({ resourceSubscriptions: ['signal://calls'] })).rejects.toThrow()
  await open[0]?.close()
  await expect
    .poll(() =>
      client.listen({ resourceSubscriptions: ['signal://calls'] }).then(
        () => 'open',
        () => 'full',
      ),
    )
    .toBe('open')
})

test('a watch list that does not fit is refused', async () => {
  const { client } = await connect('Bearer one')
  for (const uri of ['signal://calls?coin=', 'signal://calls?colour=red', 'signal://calls?after=nonsense']) {
    await expect(client.listen({ resourceSubscriptions: [uri] })).rejects.toThrow()
  }
})

test('a key that is revoked ends its streams, and so does the end of the process', async () => {
  const { client, told } = await connect('Bearer one')
  const revoked = await client.listen({ resourceSubscriptions: ['signal://calls'] })
  isKeyGood = false
  await log.record('BTC', 'BUY')
  await revoked.closed
  expect(told).toEqual([])
  isKeyGood = true
  const other = await client.listen({ resourceSubscriptions: ['signal://calls'] })
  await app.close()
  await other.closed
})
