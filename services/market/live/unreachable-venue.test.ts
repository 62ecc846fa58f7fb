import { describe, expect, test } from 'vitest'
import { HOUR_MS, MINUTE_MS } from '../../../contracts/domain/timeframes.ts'
import { unreachableText } from '../../../contracts/errors/unreachable-venue.ts'
import type { Fault } from './testing/fake-venue.ts'
import { NOON, START, startLiveBench } from './testing/live-bench.ts'
import { createVenueTransport } from './venue-transport.ts'

describe('a venue that cannot be reached', () => {
  test.each<[string, Fault, string]>([
    ['breaks connections', { kind: 'reset' }, 'connection failed'],
    ['has trouble', { kind: 'status', status: 503 }, 'status 503'],
    ['does not let us in', { kind: 'status', status: 451 }, 'status 451'],
    ['answers something else', { kind: 'instead', text: 'a page' }, 'no usable answer'],
    [
      'bans requests',
      { kind: 'status', status: 418, retryAfter: '3600' },
      'status 418, not asked before 2026-03-03T13:00:20.000Z',
    ],
  ])('says since when and why, and no more, where it %s', async (_, fault, reason) => {
    await using bench = await startLiveBench({ exchanges: ['BINANCE', 'OKX'] })
    bench.venue('BINANCE').fail('markets', fault)
    await bench.clock.runUntil(bench.feed.listings())
    const [binance, okx] = bench.feed.venues()
    const since = new Date(START).toISOString()
    expect([binance?.unreachable, okx?.unreachable]).toEqual([
      { exchange: 'BINANCE', since, reason },
      undefined,
    ])
    const notice = bench.notices.find(({ exchange }) => exchange === 'BINANCE')
    expect(notice?.message).toBe(
      `BINANCE cannot be reached since 2026-03-03 12:00 UTC (${reason}). It is tried again.`,
    )
    expect(notice?.detail?.length).toBeGreaterThan(10)
  })

  test('is reachable again as soon as it has answered, if only to refuse', async () => {
    await using bench = await startLiveBench({ exchanges: ['BINANCE'] })
    const lists = () => bench.clock.runUntil(bench.feed.listings())
    bench.venue('BINANCE').fail('markets', { kind: 'reset' })
    await lists()
    expect(bench.feed.venues()[0]?.unreachable).toBeDefined()
    bench.venue('BINANCE').heal()
    bench.venue('BINANCE').fail('markets', { kind: 'status', status: 400, text: '{"code":-1121,"msg":"no"}' })
    await bench.clock.runUntil(bench.clock.sleep(HOUR_MS, new AbortController().signal))
    await lists()
    expect(bench.feed.venues()[0]).toMatchObject({ state: 'failed' })
    expect(bench.feed.venues()[0]?.unreachable).toBeUndefined()
  })

  test('keeps the instant at which it began, and one failure that passes is none', async () => {
    await using bench = await startLiveBench({ exchanges: ['BINANCE'], historyBars: 5 })
    const seen: (string | undefined)[] = []
    const series = [{ exchange: 'BINANCE', coin: 'BTC', timeframe: '1m' }] as const
    const reading = bench.collect({ series, liveFrom: NOON }, ({ at }) => {
      if (at === NOON + 2 * MINUTE_MS) bench.venue('BINANCE').fail('candles', { kind: 'reset' }, 1)
      if (at === NOON + 4 * MINUTE_MS) bench.venue('BINANCE').fail('candles', { kind: 'reset' }, 30)
      seen.push(bench.feed.venues()[0]?.unreachable?.since)
      return at >= NOON + 20 * MINUTE_MS
    })
    await reading
    expect(seen.every((one) => one === undefined)).toBe(true)
    const lines = bench.notices.map(({ message }) => message)
    expect(lines.length).toBeGreaterThan(1)
    expect(new Set(lines)).toEqual(
      new Set([
        'BINANCE cannot be reached since 2026-03-03 12:05 UTC (connection failed). It is tried again.',
      ]),
    )
  })
})

test.each([
  ['ENOTFOUND', 'no such host'],
  ['EAI_AGAIN', 'no such host'],
  ['ECONNREFUSED', 'connection refused'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'certificate not accepted'],
  ['ECONNRESET', 'connection failed'],
])('%s is said as: %s', async (code, reason) => {
  const cause = Object.assign(new Error(`${code} secret.example`), { code })
  const transport = createVenueTransport({
    now: () => NOON,
    fetch: () => Promise.reject(new TypeError('fetch failed', { cause })),
  })
  await expect(transport('https://api.example/x', {})).rejects.toMatchObject({ kind: 'passing', reason })
})

test('the sentence names no host, no path and no error of the machine', () => {
  const text = unreachableText({ exchange: 'OKX', since: '2026-03-03T12:00:20.000Z', reason: 'no such host' })
  expect(text).toBe('OKX cannot be reached since 2026-03-03 12:00 UTC (no such host). It is tried again.')
})
