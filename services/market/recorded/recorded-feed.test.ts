import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { BarBatch } from '../../../contracts/domain/feed.ts'
import { type Series, seriesName } from '../../../contracts/domain/series.ts'
import { HOUR_MS, type Timeframe, timeframeMs } from '../../../contracts/domain/timeframes.ts'
import type { BatchesRequest, MarketFeed } from '../feed.ts'
import { isDataAbsent, RECORDED_DATA, whenPresent } from '../testing/recorded-data.ts'
import { createRecordedFeed, type RecordedFeedOptions } from './recorded-feed.ts'

const START = Date.UTC(2024, 0, 1)

let root = ''
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'recorded-'))
})
afterAll(() => rm(root, { recursive: true }))

/** Candle rows of a timeframe, with the indexes of rows left out. */
function candles(
  timeframe: Timeframe,
  count: number,
  { from = START, without = [] as number[] } = {},
): string {
  const rows = Array.from({ length: count }, (_, index) => {
    const price = 100 + (index % 7)
    return `${from + index * timeframeMs(timeframe)},${price},${price + 2},${price - 2},${price + 1},1.5`
  })
  return `ts,open,high,low,close,volume\n${rows.filter((_, index) => !without.includes(index)).join('\n')}\n`
}

const settlements = (hours: readonly number[]): string =>
  `ts,rate\n${hours.map((hour) => `${START + hour * HOUR_MS + 2},0.0001`).join('\n')}\n`

/** Writes files of a data folder of its own and answers its path. */
async function folderOf(name: string, files: Record<string, string>): Promise<string> {
  for (const [file, text] of Object.entries(files)) {
    const path = join(root, name, file)
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, file.endsWith('.gz') ? gzipSync(text) : text)
  }
  return join(root, name)
}

const series = (name: string): Series => {
  const [exchange, coin, timeframe] = name.split('.')
  return { exchange, coin, timeframe } as Series
}

async function collect(feed: MarketFeed, request: Omit<BatchesRequest, 'signal'>): Promise<BarBatch[]> {
  const batches: BarBatch[] = []
  for await (const batch of feed.batches({ ...request, signal: new AbortController().signal }))
    batches.push(batch)
  return batches
}

/** A batch in short: hours since the start, and names. */
const brief = ({ at, phase, bars, funding }: BarBatch): string =>
  [
    `${(at - START) / HOUR_MS} ${phase}`,
    ...bars.map((bar) => seriesName(bar.series)),
    ...funding.map(
      ({ market, funding: { intervalHours } }) => `${market.exchange}.${market.coin} ${intervalHours}h`,
    ),
  ].join(' ')

const live = (batches: readonly BarBatch[]) => batches.filter(({ phase }) => phase === 'live')

const faultOf = (options: RecordedFeedOptions): Promise<unknown> =>
  createRecordedFeed(options)
    .listings()
    .catch((error: unknown) => error)

describe('createRecordedFeed', () => {
  it('lists markets with what they have and what can be made of it', async () => {
    const folder = await folderOf('listing', {
      'binance-usdm/BTCUSDT-1h.csv.gz': candles('1h', 48),
      'hyperliquid/ETH-4h.csv': candles('4h', 6),
      'funding/gate-BTC.csv': settlements([0, 8, 16]),
      'README.md': '',
    })
    expect(await createRecordedFeed({ folder }).listings()).toEqual([
      {
        exchange: 'BINANCE',
        coin: 'BTC',
        native: [{ timeframe: '1h', firstOpen: START, lastClose: START + 48 * HOUR_MS }],
        timeframes: ['1h', '2h', '4h', '8h', '12h', '1d'],
        hasFunding: false,
      },
      { exchange: 'GATE', coin: 'BTC', native: [], timeframes: [], hasFunding: true },
      {
        exchange: 'HL',
        coin: 'ETH',
        native: [{ timeframe: '4h', firstOpen: START, lastClose: START + 24 * HOUR_MS }],
        timeframes: ['4h', '8h', '12h', '1d'],
        hasFunding: false,
      },
    ])
  })

  it('merges files by close time, orders bars by timeframe and name, and brings funding along', async () => {
    const folder = await folderOf('merge', {
      'binance-usdm/BTCUSDT-1h.csv.gz': candles('1h', 4),
      'binance-usdm/BTCUSDT-funding.csv': settlements([0, 4]),
      'hyperliquid/ETH-1h.csv': candles('1h', 3, { from: START + HOUR_MS }),
      'hyperliquid/ETH-2h.csv': candles('2h', 2),
    })
    const feed = createRecordedFeed({ folder, warmUpBars: 2 })
    const wanted = ['HL.ETH.2h', 'HL.ETH.1h', 'BINANCE.BTC.4h', 'BINANCE.BTC.2h', 'BINANCE.BTC.1h'].map(
      series,
    )
    expect((await collect(feed, { series: wanted })).map(brief)).toEqual([
      '0 history BINANCE.BTC 4h',
      '1 history BINANCE.BTC.1h',
      '2 history BINANCE.BTC.1h HL.ETH.1h BINANCE.BTC.2h HL.ETH.2h',
      '3 live BINANCE.BTC.1h HL.ETH.1h',
      '4 live BINANCE.BTC.1h HL.ETH.1h BINANCE.BTC.2h HL.ETH.2h BINANCE.BTC.4h BINANCE.BTC 4h',
    ])
    expect(feed.progress()).toEqual({ barsDone: 9, barsTotal: 9 })
    expect(feed.clock()).toBe(START + 4 * HOUR_MS)
  })

  it('gives the bar of an unfinished bucket at its own close', async () => {
    const folder = await folderOf('gap', {
      'binance/BTCUSDT-1h.csv': candles('1h', 9, { without: [3, 5, 6] }),
    })
    const batches = await collect(createRecordedFeed({ folder }), { series: [series('BINANCE.BTC.4h')] })
    expect(batches.map(brief)).toEqual(['4 history BINANCE.BTC.4h', '8 history BINANCE.BTC.4h'])
    expect(batches[0]?.bars[0]?.candle.volume).toBe(4.5)
  })

  it('begins before the period with history, and ends with it', async () => {
    const folder = await folderOf('period', { 'binance/BTCUSDT-1h.csv': candles('1h', 24) })
    const period = { from: START + 10 * HOUR_MS, to: START + 12 * HOUR_MS }
    const feed = createRecordedFeed({ folder, period, warmUpBars: 3 })
    expect((await collect(feed, { series: [series('BINANCE.BTC.1h')] })).map(brief)).toEqual([
      '8 history BINANCE.BTC.1h',
      '9 history BINANCE.BTC.1h',
      '10 history BINANCE.BTC.1h',
      '11 live BINANCE.BTC.1h',
      '12 live BINANCE.BTC.1h',
    ])
    expect(feed.progress()).toEqual({ barsDone: 12, barsTotal: 12 })
    expect((await feed.listings())[0]?.native[0]?.lastClose).toBe(period.to)
  })

  it('goes on behind an instant, as after a restart', async () => {
    const folder = await folderOf('resume', { 'binance/BTCUSDT-1h.csv': candles('1h', 8) })
    const request = { series: [series('BINANCE.BTC.1h'), series('BINANCE.BTC.2h')] }
    const whole = await collect(createRecordedFeed({ folder, warmUpBars: 1 }), request)
    const resumed = await collect(createRecordedFeed({ folder }), {
      ...request,
      liveFrom: START + 5 * HOUR_MS,
    })
    expect(live(resumed)).toEqual(live(whole).filter(({ at }) => at > START + 5 * HOUR_MS))
    expect(resumed.at(0)?.phase).toBe('history')
  })

  it('reaches back as far as it is asked to, without changing what is live', async () => {
    const folder = await folderOf('deeper', { 'binance/BTCUSDT-1h.csv': candles('1h', 24) })
    const wanted = { series: [series('BINANCE.BTC.1h'), series('BINANCE.BTC.4h')] }
    const liveFrom = START + 20 * HOUR_MS
    const collectWith = (historyFrom?: number) =>
      collect(createRecordedFeed({ folder, warmUpBars: 2 }), {
        ...wanted,
        liveFrom,
        ...(historyFrom !== undefined && { historyFrom }),
      })
    const plain = await collectWith()
    const deeper = await collectWith(START + 6.5 * HOUR_MS)
    expect(live(deeper)).toEqual(live(plain))
    expect(plain.map(brief)[0]).toBe('16 history BINANCE.BTC.4h')
    // The 1h bar that holds the instant closes at 7, and the 4h bar that holds it at 8.
    expect(deeper.map(brief).slice(0, 2)).toEqual([
      '7 history BINANCE.BTC.1h',
      '8 history BINANCE.BTC.1h BINANCE.BTC.4h',
    ])
    expect(await collectWith(START - 100 * HOUR_MS)).toHaveLength(24)
    expect(await collectWith(START + 23 * HOUR_MS)).toEqual(plain)
  })

  it('ranks the coins of an exchange by what their files hold of the day before its clock', async () => {
    const folder = await folderOf('universe', {
      'binance/BTCUSDT-1h.csv': candles('1h', 60),
      'binance/ETHUSDT-1h.csv': candles('1h', 60, { without: [50, 51, 52] }),
      'binance/OLDUSDT-1h.csv': candles('1h', 32),
      'binance/XRPUSDT-4h.csv': candles('4h', 15),
      'hyperliquid/ETH-1h.csv': candles('1h', 60),
      'funding/gate-BTC.csv': settlements([0, 8, 16]),
    })
    const feed = createRecordedFeed({ folder, period: { from: START + 30 * HOUR_MS }, warmUpBars: 3 })
    expect((await feed.universe('BINANCE')).rankedAt).toBe(START + 30 * HOUR_MS)
    await collect(feed, { series: [series('BINANCE.BTC.1h')] })
    const { rankedAt, coins } = await feed.universe('BINANCE')
    expect(rankedAt).toBe(START + 60 * HOUR_MS)
    expect(coins.map(({ coin }) => coin)).toEqual(['BTC', 'ETH', 'XRP', 'OLD'])
    const closes = Array.from({ length: 60 }, (_, index) => 101 + (index % 7))
    const traded = closes.slice(36).reduce((sum, close) => sum + 1.5 * close, 0)
    expect(coins[0]).toEqual({
      coin: 'BTC',
      quoteVolume24h: traded,
      change24h: (closes[59] ?? 0) / (closes[35] ?? 0) - 1,
    })
    expect(coins[3]).toEqual({ coin: 'OLD', quoteVolume24h: 0, change24h: null })
    expect((await feed.universe('HL')).coins.map(({ coin }) => coin)).toEqual(['ETH'])
    await expect(feed.universe('GATE')).rejects.toMatchObject({
      code: 'unknown_exchange',
      details: { given: 'GATE', available: ['BINANCE', 'HL'] },
    })
    expect(feed.venues()).toEqual([])
  })

  it('takes perpetual contracts before spot and the longer of two files, and says so', async () => {
    const folder = await folderOf('double', {
      'binance-spot/BTCUSDT-1h.csv': candles('1h', 50),
      'binance-usdm/BTCUSDT-1h.csv': candles('1h', 10),
      'binance-usdm/BTCUSDT-funding.csv': settlements([0, 8]),
      'funding/binance-BTC.csv': settlements([0, 8, 16]),
      'binance-usdm/BTCUSDT-1h-mark.csv': candles('1h', 10),
      'reference/anything.csv': '',
    })
    const feed = createRecordedFeed({ folder })
    expect((await feed.listings())[0]?.native[0]?.lastClose).toBe(START + 10 * HOUR_MS)
    const ignored = new Map((await feed.ignored()).map(({ name, reason }) => [name, reason]))
    expect(ignored.get('binance-spot/BTCUSDT-1h.csv')).toContain('spot prices; binance-usdm/BTCUSDT-1h.csv')
    expect(ignored.get('binance-usdm/BTCUSDT-funding.csv')).toContain(
      'funding/binance-BTC.csv holds the same',
    )
    expect([...ignored.keys()].toSorted()).toEqual([
      'binance-spot/BTCUSDT-1h.csv',
      'binance-usdm/BTCUSDT-1h-mark.csv',
      'binance-usdm/BTCUSDT-funding.csv',
      'reference/',
    ])
  })

  it('paces live bars by a clock, in pieces a timer can take, and history not at all', async () => {
    const folder = await folderOf('pace', { 'binance/BTCUSDT-1h.csv': candles('1h', 6, { without: [4] }) })
    let wall = 50_000
    const sleeps: number[] = []
    const pace = {
      speed: 0.5,
      now: () => wall,
      sleep: (durationMs: number) => {
        sleeps.push(durationMs / HOUR_MS)
        wall += durationMs
        return Promise.resolve()
      },
    }
    const period = { from: START + 2 * HOUR_MS }
    await collect(createRecordedFeed({ folder, period, pace }), { series: [series('BINANCE.BTC.1h')] })
    expect(sleeps).toEqual([1, 1, 1, 1, 1, 1])
  })

  it('ends when it is told to, also while it waits', async () => {
    const folder = await folderOf('abort', { 'binance/BTCUSDT-1h.csv': candles('1h', 100) })
    const controller = new AbortController()
    const pace = {
      speed: 1,
      now: () => 0,
      sleep: () => {
        controller.abort()
        return Promise.resolve()
      },
    }
    const feed = createRecordedFeed({ folder, pace, period: { from: START + HOUR_MS } })
    const request = { series: [series('BINANCE.BTC.1h')], signal: controller.signal }
    const ats: number[] = []
    for await (const { at } of feed.batches(request)) ats.push((at - START) / HOUR_MS)
    expect(ats).toEqual([1, 2])
  })
})

describe('createRecordedFeed where something is wrong', () => {
  it.each([
    ['high', 4, (cells: string[]) => cells.with(2, '99'), 'is below open or close'],
    ['low', 4, (cells: string[]) => cells.with(3, '999'), 'is above open or close'],
    ['close', 4, (cells: string[]) => cells.with(4, '-1'), 'is not a positive number'],
    ['volume', 4, (cells: string[]) => cells.with(5, 'many'), 'is not a number'],
    ['volume', 4, (cells: string[]) => cells.slice(0, 5), 'is missing'],
    // The bounds of the engine, which would refuse such a bar in the middle of a replay.
    ['volume', 4, (cells: string[]) => cells.with(5, '1e999'), 'is not a number from 0'],
    ['volume', 4, (cells: string[]) => cells.with(5, '1e22'), 'is above 1e+21'],
    ['high', 4, (cells: string[]) => cells.with(2, '1e300'), 'is not from 1e-15 to 1000000000000000'],
    ['low', 4, (cells: string[]) => cells.with(3, '1e-300'), 'is not from 1e-15 to 1000000000000000'],
    ['ts', 4, (cells: string[]) => cells.with(0, String(START + 90)), 'is not the open time of a 1h bar'],
    ['ts', 4, (cells: string[]) => cells.with(0, String(START)), 'is not later than the row before'],
  ])('names file, row and column %s of a damaged row', async (column, row, damage, fault) => {
    const lines = candles('1h', 5).split('\n')
    const damaged = lines.with(row - 1, damage(lines[row - 1]?.split(',') ?? []).join(','))
    const folder = await folderOf(`damaged-${column}-${fault.length}`, {
      'binance/BTCUSDT-1h.csv.gz': damaged.join('\n'),
    })
    expect(await faultOf({ folder })).toMatchObject({
      code: 'market_data_damaged',
      message: expect.stringContaining(fault),
      details: { file: 'binance/BTCUSDT-1h.csv.gz', row, column },
    })
  })

  it('says that a folder is not there', async () => {
    expect(await faultOf({ folder: join(root, 'nowhere') })).toMatchObject({
      code: 'market_data_missing',
      message: expect.stringMatching(/nowhere does not exist$/),
    })
  })

  it('says what a folder holds instead of candles, and what is expected', async () => {
    const folder = await folderOf('my-candles', { 'BTCUSDT-1h.csv': candles('1h', 3), 'notes.txt': '' })
    expect(await faultOf({ folder })).toMatchObject({
      code: 'market_data_missing',
      message: expect.stringMatching(
        /BTCUSDT-1h\.csv \(folder "my-candles" is not an exchange.*Expected \{SYMBOL\}/,
      ),
    })
    expect(await createRecordedFeed({ folder, exchange: 'OKX' }).listings()).toMatchObject([
      { exchange: 'OKX' },
    ])
  })

  it('lists what there is where nothing fits the filters', async () => {
    const folder = await folderOf('filtered', { 'binance/BTCUSDT-1h.csv': candles('1h', 24) })
    for (const filter of [
      { coins: ['XRP'] },
      { exchanges: ['OKX'] },
      { timeframes: ['5m'] },
      { period: { from: START + 24 * HOUR_MS } },
      { period: { to: START } },
    ] satisfies Partial<RecordedFeedOptions>[]) {
      expect(await faultOf({ folder, ...filter })).toMatchObject({
        code: 'market_data_missing',
        message: expect.stringMatching(/fits .+There is: BINANCE\.BTC 1h/),
      })
    }
  })

  it('does not call funding alone a market', async () => {
    const folder = await folderOf('funding', { 'gate-BTC.csv': settlements([0, 8, 16]) })
    expect(await faultOf({ folder })).toMatchObject({
      code: 'market_data_missing',
      message: expect.stringContaining('There is: GATE.BTC funding (2024-01-01T00:00 to 2024-01-01T16:00)'),
    })
  })

  it('says which timeframes a market has where a series cannot be made', async () => {
    const folder = await folderOf('unmade', { 'binance/BTCUSDT-1h.csv': candles('1h', 24) })
    const feed = createRecordedFeed({ folder, timeframes: ['1h', '4h'] })
    await expect(collect(feed, { series: [series('BINANCE.BTC.5m')] })).rejects.toMatchObject({
      code: 'market_data_missing',
      message: 'there are no recorded bars for BINANCE.BTC.5m; BINANCE.BTC has 1h, 4h',
    })
    await expect(collect(feed, { series: [series('HL.BTC.1h')] })).rejects.toThrow('recorded are BINANCE.BTC')
  })
})

describe.skipIf(isDataAbsent)(`createRecordedFeed on recorded data${whenPresent}`, () => {
  it('replays every series of a coin in order, each as far as its longest source reaches', async () => {
    const feed = createRecordedFeed({ folder: RECORDED_DATA, coins: ['SOL'] })
    const listings = await feed.listings()
    expect(listings.map(({ exchange, native }) => [exchange, native.length])).toEqual([
      ['BINANCE', 4],
      ['HL', 3],
    ])
    const wanted = listings.flatMap(({ exchange, coin, timeframes }) =>
      timeframes.map((timeframe): Series => ({ exchange, coin, timeframe })),
    )
    const bars = new Map<string, number>()
    let last = 0
    let settled = 0
    let disorder = false
    for await (const batch of feed.batches({ series: wanted, signal: new AbortController().signal })) {
      disorder ||= batch.at <= last
      last = batch.at
      settled += batch.funding.length
      for (const bar of batch.bars)
        bars.set(seriesName(bar.series), (bars.get(seriesName(bar.series)) ?? 0) + 1)
    }
    expect(disorder).toBe(false)
    expect(bars.get('BINANCE.SOL.1m')).toBe(43_200)
    expect(bars.get('BINANCE.SOL.5m')).toBe(77_472)
    expect(bars.get('BINANCE.SOL.1h')).toBe(8_016)
    expect(bars.get('BINANCE.SOL.4h')).toBe(2_004)
    expect(bars.get('HL.SOL.4h')).toBe(4_717)
    expect(settled).toBe(1_002 + 18_778)
    expect(feed.progress()?.barsDone).toBe(feed.progress()?.barsTotal)
  })
})
