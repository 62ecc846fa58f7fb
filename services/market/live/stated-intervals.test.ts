import { expect, test } from 'vitest'
import { HOUR_MS, MINUTE_MS } from '../../../contracts/domain/timeframes.ts'
import { startLiveBench } from './testing/live-bench.ts'
import { Venue } from './venue.ts'

const NOON = Date.UTC(2026, 2, 3, 12)
const never = new AbortController().signal

test.each(['BINANCE', 'ASTER', 'OKX', 'BINGX', 'HTX', 'WHITEBIT'] as const)(
  '%s is asked how often its contracts settle, once for all coins, and is believed while it does not say',
  async (exchange) => {
    const coins = ['BTC', 'DOGE', 'LINK']
    await using bench = await startLiveBench({ exchanges: [exchange], coins, start: NOON })
    const fake = bench.venue(exchange)
    const { now, sleep, fetch } = bench.clock
    const reports: string[] = []
    const report = (message: string): void => void reports.push(message)
    const venue = new Venue({ exchange, baseUrl: fake.url, now, sleep, fetch, random: () => 0.5, report })
    const settle = async (): Promise<void> => {
      const since = now() - 24 * HOUR_MS
      const rows = await Promise.all(coins.map((coin) => venue.funding({ exchange, coin }, since, never)))
      expect(rows.every(({ length }) => length > 0)).toBe(true)
    }
    const stated = () => coins.map((coin) => venue.fundingHours(coin))
    const route = exchange === 'WHITEBIT' ? 'tickers' : 'intervals'

    await bench.clock.runUntil(settle())
    expect(stated()).toEqual(coins.map((coin) => fake.market.fundingHours(coin)))
    expect(new Set(stated()).size).toBeGreaterThan(1)
    expect(fake.requests.get(route)).toBe(exchange === 'HTX' ? coins.length : 1)

    fake.fail(route, { kind: 'status', status: 400, text: '{"code":-1,"msg":"no"}' })
    await bench.clock.runUntil(sleep(10 * MINUTE_MS, never).then(settle))
    expect(stated()).toEqual(coins.map((coin) => fake.market.fundingHours(coin)))
    expect(reports).toHaveLength(1)
  },
)
