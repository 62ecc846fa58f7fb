import { once } from 'node:events'
import { Readable } from 'node:stream'
import { createGunzip, createZstdDecompress, gunzipSync, zstdDecompressSync } from 'node:zlib'
import { parquetReadObjects } from 'hyparquet'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { VerdictRow } from '../../../contracts/answers/verdict-row.ts'
import { aVerdict } from '../../../contracts/domain/verdict.fixture.ts'
import type { Verdict } from '../../../contracts/domain/verdict.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { appendFacts, outcomeOf, verdictRecorded } from '../../../projections/given-events.fixture.ts'
import { openMemoryStore } from '../../../testing/memory-store/memory-store.ts'
import { followVerdicts } from '../../analyst/index.ts'
import { createServer } from '../../composition/server.ts'
import type { EventStore } from '../../log/event-store.ts'
import { uuidV8 } from '../../runtime/ids/uuid.ts'
import { encoded } from '../accept.ts'
import { replaysOf } from '../testing/replays.fixture.ts'
import { serverOptions } from '../testing/server-options.fixture.ts'

const OPERATOR_TOKEN = 'operator-token-for-tests'
const asOperator = { authorization: `Bearer ${OPERATOR_TOKEN}` }

let store: EventStore
let app: Awaited<ReturnType<typeof createServer>>
let base: string
let leaving: AbortController

/** Lets everything that is ready run: waits of the live tail take no time. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

beforeEach(async () => {
  store = openMemoryStore({ now: () => 0 })
  leaving = new AbortController()
  app = await createServer(
    serverOptions({
      operatorToken: OPERATOR_TOKEN,
      trustProxy: { hops: 1 },
      replay: replaysOf(store),
      follow: (options) => followVerdicts(store, { ...options, sleep: turn }),
    }),
  )
  base = await app.listen({ host: '127.0.0.1', port: 0 })
})
afterEach(async () => {
  leaving.abort()
  await app.close()
})

let made = 0
/** A verdict whose window is open. */
async function record(coin = 'BTC'): Promise<Verdict> {
  const verdictId = uuidV8(Buffer.from((++made).toString(16).padStart(32, '0'), 'hex'))
  const verdict = aVerdict({ verdictId, barClose: made * 3_600_000, coin })
  await appendFacts(store, verdictRecorded(verdict))
  return verdict
}
/** One with its outcome. */
async function decide(coin?: string): Promise<string> {
  const verdict = await record(coin)
  await appendFacts(store, outcomeOf(verdict))
  return verdict.verdictId
}

describe('a name that no market has', () => {
  const listed = [
    { exchange: 'SIM', coin: 'BTC', timeframes: ['1h'] },
    { exchange: 'SIM', coin: 'AVAX', timeframes: ['1h'] },
  ] as const
  let server: Awaited<ReturnType<typeof createServer>>
  const { signal } = new AbortController()
  const serve = async (isRecorded: (exchange: string, coin?: string) => boolean | undefined) => {
    const markets = { ...serverOptions().markets, markets: async () => listed, isRecorded }
    server = await createServer(
      serverOptions({ markets, replay: replaysOf(store), follow: async function* () {} }),
    )
  }
  afterEach(() => server.close())

  test.each([
    ['/api/verdicts?coin=NOPE', 422, { code: 'unknown_coin', details: { given: 'NOPE', total: 2 } }],
    ['/api/verdicts?coin=BTC,AVXA1', 422, { code: 'unknown_coin' }],
    ['/api/verdicts?coin=AVAXX', 422, { code: 'unknown_coin', details: { did_you_mean: 'AVAX' } }],
    ['/api/verdicts?exchange=HL', 422, { code: 'unknown_exchange', details: { available: ['SIM'] } }],
    ['/api/verdicts?exchange=OKX&coin=BTC', 422, { code: 'unknown_coin' }],
    ['/api/verdicts/stream?coin=NOPE', 422, { code: 'unknown_coin' }],
  ])('%s is refused with what there is', async (url, status, body) => {
    await serve((exchange, coin) => (exchange === 'OKX' ? coin === undefined || coin === 'OLD' : false))
    const answer = await server.inject({ url, signal })
    expect([answer.statusCode, JSON.parse(answer.body)]).toMatchObject([status, body])
  })

  test.each([
    ['that is listed, though nothing was recorded of it', '?coin=AVAX', () => false],
    ['that was recorded, though it is not listed any more', '?coin=OLD&exchange=OKX', () => true],
    ['of one of the exchanges only', '?coin=BTC&exchange=SIM', () => false],
    ['while nobody knows what was recorded', '?coin=NOPE', () => undefined],
  ])('a name %s is taken', async (_what, query, isRecorded) => {
    await serve(isRecorded)
    expect((await server.inject(`/api/verdicts${query}`)).statusCode).toBe(200)
  })
})

describe('formats', () => {
  const get = (query: string, headers: Record<string, string> = {}) =>
    fetch(`${base}/api/verdicts${query}`, { headers })

  test.each([
    ['?format=csv', undefined, 'text/csv; charset=utf-8; header=present'],
    ['', 'text/csv', 'text/csv; charset=utf-8; header=present'],
    ['?format=parquet', 'text/csv', 'application/vnd.apache.parquet'],
    ['?format=ndjson', 'text/csv', 'application/x-ndjson; charset=utf-8'],
    ['', '*/*', 'application/x-ndjson; charset=utf-8'],
  ])('%s with Accept %s is %s', async (query, accept, type) => {
    const response = await get(query, accept === undefined ? {} : { accept })
    expect([response.status, response.headers.get('content-type')]).toEqual([200, type])
    await response.arrayBuffer()
  })

  test('have the same rows, and a name to be saved under', async () => {
    await decide()
    await decide('ETH')
    const rows = (await (await get('')).text())
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as VerdictRow)
    const csv = await get('?format=csv')
    expect(csv.headers.get('content-disposition')).toBe('attachment; filename="verdicts.csv"')
    const lines = (await csv.text()).trimEnd().split('\r\n')
    expect(lines.slice(1).map((line) => line.split(',').slice(0, 4))).toEqual(
      rows.map(({ cursor, verdict_id, exchange, coin }) => [cursor, verdict_id, exchange, coin]),
    )
    const file = await (await get('?format=parquet')).arrayBuffer()
    expect((await parquetReadObjects({ file })).map((row) => row.verdict_id)).toEqual(
      rows.map((row) => row.verdict_id),
    )
  })

  test.each([
    ['zstd, gzip', 'zstd', zstdDecompressSync],
    ['gzip, deflate, br', 'gzip', gunzipSync],
    ['zstd;q=0.4, gzip;q=0.5', 'gzip', gunzipSync],
    ['zstd;q=0, GZIP', 'gzip', gunzipSync],
    ['gzip;q=0.5, identity', undefined, undefined],
    ['*', undefined, undefined],
    ['gzip;q=none', undefined, undefined],
    ['', undefined, undefined],
  ])('to whom takes %j a text is sent in %s, and is the same', async (accepted, coding, decode) => {
    for (let n = 0; n < 3; n++) await decide()
    const plain = await app.inject('/api/verdicts?format=csv')
    const headers = { 'accept-encoding': accepted }
    const answer = await app.inject({ url: '/api/verdicts?format=csv', headers })
    const { vary, 'content-encoding': said } = answer.headers
    expect([said, vary]).toEqual([coding, 'accept, accept-encoding'])
    expect((decode?.(answer.rawPayload) ?? answer.rawPayload).toString()).toBe(plain.body)
    const head = await app.inject({ method: 'HEAD', url: '/api/verdicts?format=csv', headers })
    expect(head.headers['content-encoding']).toBe(coding)
    const file = await app.inject({ url: '/api/verdicts?format=parquet', headers })
    expect([file.headers['content-encoding'], file.rawPayload.subarray(0, 4).toString()]).toEqual([
      undefined,
      'PAR1',
    ])
  })

  test('a refusal is sent as it is', async () => {
    await store.close()
    const answer = await app.inject({ url: '/api/verdicts', headers: { 'accept-encoding': 'zstd' } })
    expect([answer.headers['content-encoding'], answer.json().code]).toEqual([undefined, 'store_unavailable'])
  })

  test('refuse one that is not known', async () => {
    const response = await get('?format=xml')
    expect(response.status).toBe(400)
    const { code, message } = (await response.json()) as { code: string; message: string }
    expect([code, message]).toEqual(['invalid_request', expect.stringContaining('format')])
  })

  test('HEAD says the type and reads nothing', async () => {
    await store.close()
    const response = await fetch(`${base}/api/verdicts?format=csv`, { method: 'HEAD' })
    expect([response.status, response.headers.get('content-type')]).toEqual([
      200,
      'text/csv; charset=utf-8; header=present',
    ])
  })
})

describe('a coding', () => {
  const decoders = { zstd: createZstdDecompress, gzip: createGunzip } as const

  test.each(['zstd', 'gzip'] as const)('%s gives what was written before more is', async (coding) => {
    async function* halted() {
      yield 'first\n'
      await new Promise(() => undefined)
    }
    // The reader has the first chunk while the source makes no second one.
    const read = encoded(Readable.from(halted(), { objectMode: false }), coding)
    const [text] = await once(read.pipe(decoders[coding]()), 'data')
    expect(String(text)).toBe('first\n')
  })

  test.each(['zstd', 'gzip'] as const)(
    '%s breaks with its source, and its source ends with it',
    async (coding) => {
      const broken = encoded(
        Readable.from(
          (async function* () {
            yield 'first\n'
            throw new Error('the store is away')
          })(),
          { objectMode: false },
        ),
        coding,
      )
      await expect(broken.toArray()).rejects.toThrow('the store is away')
      const source = Readable.from(['first\n', 'second\n'], { objectMode: false })
      const left = encoded(source, coding)
      const closed = new Promise((resolve) => source.once('close', resolve))
      left.destroy()
      await closed
    },
  )
})

interface Tail {
  readonly response: Response
  /** The next event with data. */
  next(): Promise<{ id: string; event: string; row: VerdictRow }>
  rest(): Promise<string>
}

async function tail(query = '', headers: Record<string, string> = {}): Promise<Tail> {
  const response = await fetch(`${base}/api/verdicts/stream${query}`, { headers, signal: leaving.signal })
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader() ?? expect.fail('no body')
  let text = ''
  return {
    response,
    async next() {
      for (;;) {
        const end = text.indexOf('\n\n')
        if (end >= 0) {
          const fields = new Map(
            text
              .slice(0, end)
              .split('\n')
              .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(': ') + 2)] as const),
          )
          text = text.slice(end + 2)
          const data = fields.get('data')
          if (data === undefined) continue
          return {
            id: fields.get('id') ?? '',
            event: fields.get('event') ?? '',
            row: JSON.parse(data) as VerdictRow,
          }
        }
        const { value, done } = await reader.read()
        if (done) expect.fail('the stream has ended')
        text += value
      }
    },
    async rest() {
      for (;;) {
        const { value, done } = await reader.read()
        if (done) return text
        text += value
      }
    },
  }
}

describe('GET /api/verdicts/stream', () => {
  test('tells each verdict as it becomes visible, with the cursor as its id', async () => {
    await decide()
    const live = await tail()
    expect(live.response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    const id = await decide()
    const { event, row, id: cursor } = await live.next()
    expect([event, row.verdict_id, cursor]).toEqual(['verdict', id, row.cursor])
  })

  test('goes on behind Last-Event-ID, which is newer than ?after=, without loss or repeat', async () => {
    const ids = [await decide(), await decide(), await decide()]
    const first = await tail('?after=start')
    const seen = [await first.next(), await first.next()]
    const resumed = await tail('?after=start', { 'last-event-id': seen[1]?.id ?? '' })
    ids.push(await decide())
    seen.push(await resumed.next(), await resumed.next())
    expect(seen.map(({ row }) => row.verdict_id)).toEqual(ids)
  })

  test('keeps to its filter; the operator sees verdicts at once', async () => {
    const live = await tail('?coin=ETH', asOperator)
    await record('BTC')
    const { verdictId } = await record('ETH')
    expect((await live.next()).row.verdict_id).toBe(verdictId)
  })

  test.each([
    ['?limit=5', {}, 'limit'],
    ['?after=yesterday', {}, 'after'],
    ['?after=4711~4711~0', {}, 'after: is a cursor of an earlier release'],
    ['?from=2025-01-02&to=2025-01-01', {}, 'from'],
    ['?from=2025-01-02T00:00', {}, 'from: has no zone: add Z'],
    ['', { 'last-event-id': 'x' }, 'Last-Event-ID'],
  ])('refuses %s %j and names the field', async (query, headers, field) => {
    const refused = await tail(query, headers)
    expect(refused.response.status).toBe(400)
    const { code, message } = JSON.parse(await refused.rest()) as { code: string; message: string }
    expect(code).toBe('invalid_request')
    expect(message).toContain(field)
  })

  test('refuses a wrong token, and a store that is away, with a status', async () => {
    expect((await tail('', { authorization: 'Bearer wrong' })).response.status).toBe(401)
    await store.close()
    expect((await tail()).response.status).toBe(503)
  })

  test('says now and then that it is there', async () => {
    const live = await tail()
    const text = live.rest()
    // As many looks as are made in half a minute, where a wait is a turn of the event loop.
    for (let looks = 0; looks < 1_000; looks++) await turn()
    await app.close()
    expect((await text).match(/^: nothing new$/gm)?.length).toBeGreaterThan(1)
  })

  test('ends when the service stops, and its place is free when its reader has gone', async () => {
    const from = (n: number) => ({ 'x-forwarded-for': `203.0.113.${n % 50}` })
    const open = await Promise.all(Array.from({ length: LIMITS.verdictStreams }, (_, n) => tail('', from(n))))
    const refused = await tail('', from(99))
    expect(refused.response.status).toBe(503)
    expect(JSON.parse(await refused.rest())).toMatchObject({ code: 'overloaded' })
    leaving.abort()
    await Promise.allSettled(open.map((one) => one.rest()))
    leaving = new AbortController()
    let last = await tail()
    while (last.response.status === 503) last = await tail()
    const rest = last.rest()
    const stopped = once(app.server, 'close')
    await Promise.all([app.close(), stopped])
    expect(await rest).toContain('retry: ')
  })

  test('gives one address so many places and no more, however it is spelled', async () => {
    const open = Array.from({ length: LIMITS.verdictStreamsPerAddress }, (_, n) =>
      tail('', { 'x-forwarded-for': `2001:db8:1:2::${n}` }),
    )
    await Promise.all(open)
    const refused = await tail('', { 'x-forwarded-for': '2001:db8:1:3:ffff::' })
    expect(refused.response.status).toBe(429)
    expect(refused.response.headers.get('retry-after')).toBe('1')
    expect(JSON.parse(await refused.rest())).toMatchObject({
      code: 'rate_limited',
      details: { per: 'address' },
    })
    const neighbour = await tail('', { 'x-forwarded-for': '2001:db8:2:3::' })
    expect(neighbour.response.status).toBe(200)
  })

  test('answers HEAD without opening a stream', async () => {
    const response = await fetch(`${base}/api/verdicts/stream`, { method: 'HEAD' })
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
  })
})
