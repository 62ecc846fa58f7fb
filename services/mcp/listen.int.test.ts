import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { FastifyInstance } from 'fastify'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { followVerdicts } from '../analyst/index.ts'
import { rankAt } from '../webhooks/index.ts'
import { CURSOR_META_KEY, ROW_META_KEY, SEQUENCE_META_KEY } from './listen.ts'
import { createMcpEdge, listen } from './testing/mcp-edge.fixture.ts'
import { givenVerdicts, type VerdictLog } from './testing/verdict-log.fixture.ts'

let log: VerdictLog
let app: FastifyInstance
let url: string
let clients: Client[]
let isKeyGood: boolean
/** Verdicts that streams have asked for. */
let pulled: number

beforeEach(async () => {
  log = givenVerdicts()
  clients = []
  isKeyGood = true
  pulled = 0
  const window = { id: '2026-11', from: 0, to: 1 }
  app = await createMcpEdge({
    listen: {
      async *follow(options) {
        for await (const item of followVerdicts(log.store, { ...options, sleep: log.sleep })) {
          if (item.kind === 'verdict') pulled += 1
          yield item
        }
      },
      rankAt: (coin, position) => rankAt(log.store, coin, position),
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
  ask: typeof fetch = fetch,
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
    new StreamableHTTPClientTransport(new URL(url), {
      fetch: ask,
      requestInit: { ...(headers && { headers }) },
    }),
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
const numbers = (told: readonly Told[]): unknown[] => told.map(({ _meta }) => _meta[SEQUENCE_META_KEY])
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

test('who has no account is told once the outcome is recorded', async () => {
  const { client, told, until } = await connect()
  await client.listen({ resourceSubscriptions: ['signal://calls', 'signal://regime-shifts'] })
  await log.record('BTC', 'BUY', { shiftedFrom: 'RANGING' })
  expect(told).toEqual([])
  await log.label()
  await until(2)
  expect(told.map(({ uri }) => uri).toSorted()).toEqual(['signal://calls', 'signal://regime-shifts'])
})

test('what is told is numbered from 1 without a gap, for each watch list and in each stream', async () => {
  const first = await connect('Bearer one')
  const lists = ['signal://calls', 'signal://regime-shifts']
  const subscription = await first.client.listen({ resourceSubscriptions: lists })
  await log.record('BTC', 'BUY')
  await log.record('BTC', 'HOLD', { shiftedFrom: 'RANGING' })
  await log.record('ETH', 'SELL', { shiftedFrom: 'RANGING' })
  await first.until(4)
  for (const uri of lists) expect(numbers(first.told.filter((one) => one.uri === uri))).toEqual([1, 2])
  await subscription.close()
  const second = await connect('Bearer one')
  await second.client.listen({ resourceSubscriptions: ['signal://calls'] })
  await log.record('SOL', 'BUY')
  await second.until(1)
  expect(numbers(second.told)).toEqual([1])
})

test('the thresholds of a webhook and its top:N hold here too', async () => {
  await log.rank(['BTC', 'ETH', 'SOL'])
  const { client, told, until } = await connect('Bearer one')
  const [top, sure, strong] = [
    'signal://calls?coin=top:2,DOGE',
    'signal://calls?min_confidence=57&coin=ETH',
    'signal://calls?min_strength=80&coin=ETH',
  ]
  await client.listen({ resourceSubscriptions: [top, sure, strong] })
  await log.record('SOL', 'BUY')
  await log.record('DOGE', 'BUY')
  await log.record('ETH', 'BUY', { confidence: 56, strength: 79 })
  // From here on another coin is the second largest.
  await log.rank(['BTC', 'SOL', 'ETH'])
  await log.record('ETH', 'SELL', { confidence: 57, strength: 80 })
  await log.record('SOL', 'SELL')
  await until(5)
  const of = (uri: string) => told.filter((one) => one.uri === uri)
  expect(coins(of(top))).toEqual(['DOGE', 'ETH', 'SOL'])
  expect(coins(of(sure))).toEqual(['ETH'])
  expect(coins(of(strong))).toEqual(['ETH'])
  for (const uri of ['signal://calls?coin=top:101', 'signal://calls?min_confidence=101'])
    await expect(client.listen({ resourceSubscriptions: [uri] })).rejects.toThrow()
})

test("a reader that does not read holds a page of the log, and is in nobody's way", async () => {
  const unread: Response[] = []
  const stalled = await connect('Bearer one', async (input, init) => {
    const answer = await fetch(input, init)
    if (typeof init?.body !== 'string' || !init.body.includes('subscriptions/listen')) return answer
    unread.push(answer)
    return new Response(new ReadableStream(), { status: answer.status, headers: answer.headers })
  })
  void stalled.client.listen({ resourceSubscriptions: ['signal://calls?coin=BTC'] }).catch(() => undefined)
  await expect.poll(() => unread.length).toBe(1)
  const reading = await connect('Bearer two')
  await reading.client.listen({ resourceSubscriptions: ['signal://calls?coin=ETH'] })
  // More than the buffers of a connection hold.
  for (let rows = 0; rows < 12_000; rows++) await log.record('BTC', 'BUY')
  await log.record('ETH', 'SELL')
  await reading.until(1)
  expect(coins(reading.told)).toEqual(['ETH'])
  expect(pulled).toBeLessThan(8_000)
  await unread[0]?.body?.cancel()
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
