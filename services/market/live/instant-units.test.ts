import { describe, expect, test } from 'vitest'
import { DAY_MS, HOUR_MS } from '../../../contracts/domain/timeframes.ts'
import { NOON, START } from './testing/live-bench.ts'
import { never, withVenue } from './testing/with-venue.ts'
import { LIVE_EXCHANGES, type LiveExchange } from './venues.ts'

const SERIES = (exchange: LiveExchange) => ({ exchange, coin: 'BTC', timeframe: '1h' }) as const

/** Every number of an answer that is a time of this year, in another unit. */
const inUnit = (text: string, factor: number): string =>
  text.replaceAll(/\b1[67]\d{8}(\d{3})?\b/g, (digits) => String(Math.round(Number(digits) * factor)))

describe('times in another unit', () => {
  const units = [
    ['microseconds', 1_000],
    ['nanoseconds', 1_000_000],
  ] as const
  test.each(
    LIVE_EXCHANGES.flatMap((exchange) => units.map(([unit, factor]) => ({ exchange, unit, factor }))),
  )(
    '$exchange: bars and funding in $unit are converted, and the operator is told once',
    async ({ exchange, factor }) => {
      await withVenue(exchange, async (venue, bench, reports) => {
        const since = NOON - 10 * HOUR_MS
        const market = { exchange, coin: 'BTC' }
        const ask = async () => {
          const bars = await venue.bars(SERIES(exchange), since, 8, never)
          const funding = await venue.funding(market, NOON - 5 * DAY_MS, never)
          const wanted = funding.filter(({ time }) => time >= NOON - 5 * DAY_MS)
          return [bars, wanted.map(({ time, rate }) => [time, rate])]
        }
        const right = await ask()
        expect(right.flat().length).toBeGreaterThan(10)
        const { fetch } = bench.venue(exchange)
        const change = (path: string) =>
          /kline|candle|history|funding/i.test(path) && !/fundingInfo/.test(path)
        Object.assign(bench.venue(exchange), {
          fetch: async (input: string, init?: RequestInit) => {
            const answer = await fetch(input, init)
            const isMarkets = typeof init?.body === 'string' && init.body.includes('meta')
            if (isMarkets || !(change(input) || exchange === 'HL')) return answer
            return new Response(inUnit(await answer.text(), factor), answer)
          },
        })
        expect(await ask()).toEqual(right)
        await ask()
        const told = reports.filter((one) => one.includes('seconds'))
        expect(told).toHaveLength(1)
        expect(told[0]).toContain(`${exchange}.BTC`)
      })
    },
  )

  test('seconds are converted where milliseconds are usual', async () => {
    await withVenue('BINANCE', async (venue, bench, reports) => {
      const row = (at: number) => [at / 1_000, '1', '2', '1', '2', '5', at / 1_000, '1', 1, '1', '1', '0']
      const rows = [NOON - 2 * HOUR_MS, NOON - HOUR_MS].map(row)
      bench.venue('BINANCE').fail('candles', { kind: 'instead', text: JSON.stringify(rows) })
      const bars = await venue.bars(SERIES('BINANCE'), NOON - 2 * HOUR_MS, 3, never)
      expect(bars.map(({ openTime }) => openTime)).toEqual([NOON - 2 * HOUR_MS, NOON - HOUR_MS])
      expect(reports).toEqual([expect.stringMatching(/^BINANCE\.BTC: times .*in seconds.* converted/)])
    })
  })

  test.each([
    ['of the year 2030', Date.UTC(2030, 0, 1)],
    ['of the year 2030, in microseconds', Date.UTC(2030, 0, 1) * 1_000],
    ['of the year 2001', Date.UTC(2001, 0, 1)],
    ['in hours', NOON / HOUR_MS],
  ])('a bar %s is refused with its value, and the others count', async (_, time) => {
    await withVenue('BINANCE', async (venue, bench, reports) => {
      const row = (at: number) => [at, '1', '2', '1', '2', '5', at, '1', 1, '1', '1', '0']
      const rows = [NOON - 3 * HOUR_MS, NOON - 2 * HOUR_MS, NOON - HOUR_MS, time].map(row)
      bench.venue('BINANCE').fail('candles', { kind: 'instead', text: JSON.stringify(rows) })
      const bars = await venue.bars(SERIES('BINANCE'), NOON - 3 * HOUR_MS, 4, never)
      expect(bars.map(({ openTime }) => openTime)).toEqual(rows.slice(0, 3).map(([at]) => at))
      expect(reports).toEqual([expect.stringContaining('BINANCE.BTC.1h: 1 of 4 rows are no bars')])
      expect(reports[0]).toContain(String(time))
    })
  })

  test('a settlement that cannot be one is refused with its value; one to come is no news', async () => {
    await withVenue('BINANCE', async (venue, bench, reports) => {
      const row = (fundingTime: number) => ({ symbol: 'BTCUSDT', fundingTime, fundingRate: '0.0001' })
      const rows = [NOON - 16 * HOUR_MS, NOON - 8 * HOUR_MS, NOON + 8 * HOUR_MS, START * 3].map(row)
      bench.venue('BINANCE').fail('funding', { kind: 'instead', text: JSON.stringify(rows) })
      const funding = await venue.funding({ exchange: 'BINANCE', coin: 'BTC' }, NOON - DAY_MS, never)
      expect(funding.map(({ time }) => time)).toEqual([NOON - 16 * HOUR_MS, NOON - 8 * HOUR_MS])
      expect(reports).toEqual([expect.stringMatching(new RegExp(`BINANCE.*BTC.*${START * 3}`))])
    })
  })
})
