import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import type { Candle } from '../../../contracts/domain/candle.ts'
import type { Timeframe } from '../../../contracts/domain/timeframes.ts'
import { RECORDED_DATA } from '../testing/recorded-data.ts'
import { type LiveBench, startLiveBench } from './testing/live-bench.ts'
import type { Route } from './testing/venue-format.ts'
import { Venue } from './venue.ts'
import type { LiveExchange } from './venues.ts'

const FOLDER = `${RECORDED_DATA}/venue-responses`
const isAbsent = !existsSync(FOLDER)
const whenPresent = isAbsent ? ' (skipped: ../shared/data/venue-responses is absent)' : ''

const never = new AbortController().signal
const NOW = Date.UTC(2026, 2, 3, 12)

const read = (file: string): Promise<string> => readFile(`${FOLDER}/${file}`, 'utf8')

/** A venue that answers one kind of request with recorded bytes. */
async function withAnswer<Result>(
  exchange: LiveExchange,
  answers: Partial<Record<Route, string>>,
  then: (venue: Venue, bench: LiveBench) => Promise<Result>,
): Promise<Result> {
  await using bench = await startLiveBench({ exchanges: [exchange], coins: ['BTC', 'ETH'], start: NOW })
  for (const [route, text] of Object.entries(answers)) {
    bench.venue(exchange).fail(route as Route, { kind: 'instead', text })
  }
  const { now, sleep, fetch } = bench.clock
  const { url: baseUrl } = bench.venue(exchange)
  const venue = new Venue({ exchange, baseUrl, now, sleep, fetch, random: () => 0.5 })
  return await bench.clock.runUntil(then(venue, bench))
}

const bar = (row: readonly unknown[]): Candle => {
  const [openTime = 0, open = 0, high = 0, low = 0, close = 0, volume = 0] = row.map(Number)
  return { openTime, open, high, low, close, volume }
}
type Rows = readonly (readonly unknown[])[]
type Fields = readonly Readonly<Record<string, unknown>>[]

/** A file of candles, and where in it the numbers of a bar stand. */
interface CandleCase {
  readonly exchange: LiveExchange
  readonly file: string
  readonly timeframe: Timeframe
  readonly bars: (answer: never) => readonly Candle[]
}

const inOrder = (rows: Rows): Candle[] => rows.map(bar).toSorted((a, b) => a.openTime - b.openTime)
const mock = (name: string): string => `hummingbot-candles/${name}_perpetual/get_candles_rest_data_mock.json`
const GATE_CONTRACT = 0.0001

const CANDLES: readonly CandleCase[] = [
  { exchange: 'BINANCE', file: mock('binance'), timeframe: '1h', bars: (rows: Rows) => inOrder(rows) },
  {
    exchange: 'BYBIT',
    file: mock('bybit'),
    timeframe: '1h',
    bars: ({ result }: { result: { list: Rows } }) => inOrder(result.list),
  },
  {
    exchange: 'OKX',
    file: mock('okx'),
    timeframe: '1h',
    // The sixth number counts contracts, the seventh coins.
    bars: ({ data }: { data: Rows }) => inOrder(data.map((row) => [...row.slice(0, 5), row[6]])),
  },
  {
    exchange: 'BITGET',
    file: mock('bitget'),
    timeframe: '1m',
    bars: ({ data }: { data: Rows }) => inOrder(data),
  },
  {
    exchange: 'HL',
    file: mock('hyperliquid'),
    timeframe: '1h',
    bars: (rows: Fields) => inOrder(rows.map(({ t, o, h, l, c, v }) => [t, o, h, l, c, v])),
  },
  {
    exchange: 'GATE',
    file: mock('gate_io'),
    timeframe: '1h',
    bars: (rows: Fields) =>
      inOrder(rows.map(({ t, o, h, l, c, v }) => [Number(t) * 1_000, o, h, l, c, Number(v) * GATE_CONTRACT])),
  },
]

describe(`recorded answers${whenPresent}`, () => {
  test.skipIf(isAbsent).each(CANDLES)('candles of $exchange', async ({ exchange, file, timeframe, bars }) => {
    const text = await read(file)
    const expected = bars(JSON.parse(text) as never)
    const got = await withAnswer(exchange, { candles: text }, (venue) =>
      venue.bars({ exchange, coin: 'BTC', timeframe }, expected[0]?.openTime ?? 0, 100, never),
    )
    expect(expected.length).toBeGreaterThan(2)
    expect(got.map((one) => ({ ...one, volume: 0 }))).toEqual(expected.map((one) => ({ ...one, volume: 0 })))
    for (const [index, { volume }] of expected.entries()) expect(got[index]?.volume).toBeCloseTo(volume, 8)
  })

  test.skipIf(isAbsent)('candles of MEXC count contracts: their turnover shows it', async () => {
    const text = await read(mock('mexc'))
    const { data } = JSON.parse(text) as { data: { time: number[]; amount: number[] } }
    const got = await withAnswer('MEXC', { candles: text }, async (venue, bench) => {
      // The recorded contract is of ETH, a hundredth of a coin each.
      const detail = await bench.clock.fetch(`${bench.venue('MEXC').url}/api/v1/contract/detail`)
      const hundredths = (await detail.text()).replaceAll('"contractSize":0.0001', '"contractSize":0.01')
      bench.venue('MEXC').fail('markets', { kind: 'instead', text: hundredths })
      return venue.bars(
        { exchange: 'MEXC', coin: 'ETH', timeframe: '1h' },
        (data.time[0] ?? 0) * 1_000,
        10,
        never,
      )
    })
    expect(got).toHaveLength(4)
    for (const [index, { volume, high, low }] of got.entries()) {
      expect(data.amount[index]).toBeGreaterThan(volume * low)
      expect(data.amount[index]).toBeLessThan(volume * high)
    }
  })

  test.skipIf(isAbsent)('a candle of BYBIT that is off the grid is refused, not rounded', async () => {
    const candles = await read('bybit/http_get_klines_linear.json')
    const asked = withAnswer('BYBIT', { candles }, (venue) =>
      venue.bars({ exchange: 'BYBIT', coin: 'BTC', timeframe: '1m' }, 1_709_891_640_000, 10, never),
    )
    await expect(asked).rejects.toMatchObject({ code: 'market_data_damaged' })
  })

  test.skipIf(isAbsent).each([
    [
      'OKX',
      'okx/http_get_funding_rate_history.json',
      [
        [1_704_038_400_000, -0.00002],
        [1_704_067_200_000, 0.00015],
      ],
    ],
    [
      'BYBIT',
      'bybit/http_get_funding_history.json',
      [
        [1_709_856_000_000, 0.00015],
        [1_709_884_800_000, 0.0001],
      ],
    ],
    [
      'HL',
      'hyperliquid/http_funding_history.json',
      [
        [1_769_908_800_000, 0.0000125],
        [1_769_912_400_000, -0.0000081],
        [1_769_916_000_000, 0.0000033],
      ],
    ],
  ] as const)('funding of %s: what was settled, not what was forecast', async (exchange, file, expected) => {
    const funding = await read(file)
    const rows = await withAnswer(exchange, { funding }, (venue) =>
      venue.funding({ exchange, coin: 'BTC' }, 0, never),
    )
    expect(rows.map(({ time, rate }) => [time, rate])).toEqual(expected)
  })

  test.skipIf(isAbsent).each([
    [
      'OKX',
      'okx/http_get_instruments_swap.json',
      [
        ['BTC', 0.01],
        ['ETH', 0.1],
      ],
    ],
    [
      'BYBIT',
      'bybit/http_get_instruments_linear.json',
      [
        ['BTC', 1],
        ['ETH', 1],
      ],
    ],
    [
      'KUCOIN',
      'hummingbot-candles/kucoin_perpetual/get_symbols_response_mock.json',
      [
        ['BTC', 0.001],
        ['ETH', 0.01],
        ['SOL', 0.1],
        ['WIF', 10],
      ],
    ],
  ] as const)('contracts of %s', async (exchange, file, expected) => {
    // The file lacks the category, which Bybit sends.
    const markets = (await read(file)).replace('"nextPageCursor": null', '"category": "linear"')
    const listed = await withAnswer(exchange, { markets }, (venue) => venue.markets(0, never))
    const byName = [...listed.values()].toSorted((a, b) => (a.coin < b.coin ? -1 : 1))
    expect(byName.map(({ coin, contractSize }) => [coin, contractSize])).toEqual(expected)
  })

  test.skipIf(isAbsent)('tickers of KUCOIN: turnover', async () => {
    const markets = await read('hummingbot-candles/kucoin_perpetual/get_symbols_response_mock.json')
    const turnovers = await withAnswer('KUCOIN', { markets }, (venue) => venue.turnovers(never))
    const bitcoin = turnovers.find(({ coin }) => coin === 'BTC')
    expect(bitcoin?.quoteVolume24h).toBeCloseTo(560_148_040.312645, 3)
  })
})
