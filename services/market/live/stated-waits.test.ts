import { describe, expect, test } from 'vitest'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../contracts/domain/timeframes.ts'
import type { Fault } from './testing/fake-venue.ts'
import { NOON, START, startLiveBench } from './testing/live-bench.ts'
import { never, withVenue } from './testing/with-venue.ts'
import type { LiveExchange } from './venues.ts'

const UNTIL = NOON + HOUR_MS

/** Requests for bars within two hours after such answers, one asked for every ten seconds. */
const askedInto = (exchange: LiveExchange, fault: Fault, lastMs = 55 * MINUTE_MS) =>
  withVenue(exchange, async (venue, bench) => {
    await venue.markets(0, never)
    bench.venue(exchange).fail('candles', fault)
    const series = { exchange, coin: 'BTC', timeframe: '1h' } as const
    let refusal = ''
    while (bench.clock.now() < START + lastMs) {
      refusal = await venue.bars(series, START - 10 * HOUR_MS, 5, never).then(String, String)
      await bench.clock.sleep(10_000, never)
    }
    return { requests: bench.venue(exchange).requests.get('candles') ?? 0, refusal }
  })

describe('a venue that says how long to wait is not asked before', () => {
  test.each<[string, LiveExchange, Omit<Extract<Fault, { kind: 'status' }>, 'kind'>]>([
    ['Retry-After in seconds', 'BINANCE', { status: 418, retryAfter: '3600' }],
    ['Retry-After as a date', 'OKX', { status: 429, retryAfter: new Date(UNTIL).toUTCString() }],
    ['Retry-After with a status that bars', 'MEXC', { status: 403, retryAfter: '3600' }],
    [
      'an instant in the text',
      'BINANCE',
      {
        status: 418,
        text: `{"code":-1003,"msg":"Way too much request weight used; IP banned until ${UNTIL}. Please use WebSocket Streams."}`,
      },
    ],
    ['the same of a copy of it', 'ASTER', { status: 429, text: `{"msg":"IP banned until ${UNTIL}."}` }],
    [
      'a reset instant of BYBIT',
      'BYBIT',
      { status: 403, headers: { 'x-bapi-limit-reset-timestamp': String(UNTIL) } },
    ],
    [
      'a reset instant of GATE, in seconds',
      'GATE',
      { status: 429, headers: { 'x-gate-ratelimit-reset-timestamp': String(UNTIL / 1_000) } },
    ],
    [
      'the milliseconds of KUCOIN',
      'KUCOIN',
      { status: 429, headers: { 'gw-ratelimit-reset': String(HOUR_MS) } },
    ],
    ['the milliseconds of HTX', 'HTX', { status: 429, headers: { 'ratelimit-reset': String(HOUR_MS) } }],
    [
      'the seconds of PHEMEX',
      'PHEMEX',
      { status: 429, headers: { 'x-ratelimit-retry-after-market': '3600' } },
    ],
  ])('%s', async (_, exchange, fault) => {
    const { requests, refusal } = await askedInto(exchange, { kind: 'status', ...fault })
    expect(requests).toBe(1)
    expect(refusal).toMatch(
      new RegExp(`${exchange} is not asked before 2026-03-03T1[23]:..:..\\.\\d{3}Z: .*${fault.status}`),
    )
  })

  test('an instant in an answer that is none of an error', async () => {
    const text = `{"code":100410,"msg":"The endpoint is in the disabled period and will be unblocked after ${UNTIL}"}`
    expect((await askedInto('BINGX', { kind: 'instead', text })).requests).toBe(1)
  })

  test('is believed for a day at most', async () => {
    const fault = { kind: 'status', status: 418, retryAfter: String((10 * DAY_MS) / 1_000) } as const
    const { requests } = await askedInto('BINANCE', fault, DAY_MS + HOUR_MS)
    expect(requests).toBe(2)
  })

  test('is asked again after it, and goes on', async () => {
    await withVenue('BINANCE', async (venue, bench) => {
      await venue.markets(0, never)
      bench.venue('BINANCE').fail('candles', { kind: 'status', status: 418, retryAfter: '1200' }, 1)
      const series = { exchange: 'BINANCE', coin: 'BTC', timeframe: '1h' } as const
      const ask = () => venue.bars(series, START - 10 * HOUR_MS, 5, never)
      await expect(ask()).rejects.toThrow(/not asked before 2026-03-03T12:20:20/)
      await bench.clock.sleep(20 * MINUTE_MS, never)
      expect((await ask()).length).toBeGreaterThan(3)
    })
  })

  test('is one line for the operator, with the instant, while many coins are followed', async () => {
    const coins = ['BTC', 'ETH', 'XRP']
    await using bench = await startLiveBench({ exchanges: ['BINANCE', 'OKX'], coins, historyBars: 5 })
    const series = coins.flatMap((coin) =>
      (['BINANCE', 'OKX'] as const).map((exchange) => ({ exchange, coin, timeframe: '1m' }) as const),
    )
    await bench.collect({ series, liveFrom: NOON }, ({ at }) => {
      if (at === NOON + 2 * MINUTE_MS)
        bench.venue('BINANCE').fail('candles', { kind: 'status', status: 418, retryAfter: '1800' }, 1)
      return at >= NOON + 25 * MINUTE_MS
    })
    const lines = bench.notices.filter(({ message }) => message.includes('not asked before'))
    expect(lines.length).toBeGreaterThan(0)
    expect(lines.length).toBeLessThan(4)
    expect(new Set(lines.map(({ message }) => message)).size).toBe(1)
    expect(lines[0]?.message).toContain('status 418')
  })
})
