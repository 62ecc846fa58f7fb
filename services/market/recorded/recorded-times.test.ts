import { rmSync } from 'node:fs'
import { afterAll, describe, expect, it } from 'vitest'
import { DAY_MS, HOUR_MS } from '../../../contracts/domain/timeframes.ts'
import { candleText, FUNDING_HEADER, hourLines, textOf, writeFolder } from '../testing/data-folder.ts'
import { createRecordedFeed } from './recorded-feed.ts'

const START = Date.UTC(2025, 5, 1)
const NOW = Date.UTC(2025, 5, 20)
const CANDLES = 'binance-usdm/BTCUSDT-1h.csv'
const FUNDING = 'binance-usdm/BTCUSDT-funding.csv'

const folders: string[] = []
const write = (files: Record<string, string>): string => {
  const folder = writeFolder(files)
  folders.push(folder)
  return folder
}
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true })
})

async function open(files: Record<string, string>, now: number | undefined = NOW) {
  const notices: string[] = []
  const feed = createRecordedFeed({
    folder: write(files),
    report: (notice) => void notices.push(notice),
    ...(now !== undefined && { now }),
  })
  const opens: number[] = []
  const settled: { time: number; intervalHours: number }[] = []
  try {
    const listings = await feed.listings()
    const series = listings.map(({ exchange, coin }) => ({ exchange, coin, timeframe: '1h' as const }))
    for await (const batch of feed.batches({ series, signal: new AbortController().signal })) {
      opens.push(...batch.bars.map(({ candle }) => candle.openTime))
      settled.push(...batch.funding.map(({ funding }) => funding))
    }
    return { opens, settled, notices, message: '' }
  } catch (error) {
    return { opens, settled, notices, message: (error as Error).message }
  }
}

const hours = (count: number, from = START): number[] =>
  Array.from({ length: count }, (_, i) => from + i * HOUR_MS)
const settlements = (unit: number): string[] =>
  [0, 8, 16, 24].map((hour) => `${(START + hour * HOUR_MS) * unit},0.0001`)

const UNITS = [
  ['seconds', 0.001],
  ['milliseconds', 1],
  ['microseconds', 1_000],
  ['nanoseconds', 1_000_000],
] as const

describe('times of a recorded file', () => {
  it.each(UNITS)('in %s are the instants that they say, of candles and of funding', async (_, unit) => {
    const { opens, settled, message } = await open({
      [CANDLES]: candleText(hourLines(25, { from: START, unit })),
      [FUNDING]: textOf(settlements(unit), 'ts,rate'),
    })
    expect(message).toBe('')
    expect(opens).toEqual(hours(25))
    expect(settled.map(({ time }) => time)).toEqual([0, 8, 16, 24].map((hour) => START + hour * HOUR_MS))
  })

  it('are reported once where they had to be converted, with the files and the unit', async () => {
    const { notices } = await open({
      [CANDLES]: candleText(hourLines(25, { from: START, unit: 1_000 })),
      [FUNDING]: textOf(settlements(0.001), 'ts,rate'),
      'okx-swap/BTCUSDT-1h.csv': candleText(hourLines(25, { from: START })),
    })
    expect(notices.filter((notice) => notice.includes('converted'))).toEqual([
      `times in microseconds were converted to milliseconds: ${CANDLES}`,
      `times in seconds were converted to milliseconds: ${FUNDING}`,
    ])
  })

  it.each([
    ['candles', CANDLES, candleText],
    ['funding', FUNDING, (lines: readonly string[]) => textOf(lines.map(funded), 'ts,rate')],
    [
      'funding as the venue publishes it',
      FUNDING,
      (lines: readonly string[]) => textOf(lines.map(published), FUNDING_HEADER),
    ],
  ] as const)('of %s in two units are refused with file, row, value and unit', async (_, file, write_) => {
    const lines = [
      ...hourLines(5, { from: START }),
      ...hourLines(5, { from: START + 5 * HOUR_MS, unit: 1_000 }),
    ]
    const { message } = await open({
      [CANDLES]: candleText(hourLines(5, { from: START })),
      [file]: write_(lines),
    })
    expect(message).toMatch(
      new RegExp(`^${file}, row 7, column \\w+: "${(START + 5 * HOUR_MS) * 1_000}" is in microseconds, and`),
    )
  })

  it.each([
    [
      'the first bar before 2009',
      Date.UTC(2008, 11, 31),
      'is no whole number of seconds, milliseconds, microseconds or nanoseconds from 2009-01-03 to 2100-01-01',
    ],
    ['zero', 0, 'is no whole number of seconds'],
    [
      'the year 57385 in milliseconds of microseconds',
      1_735_689_600_000_000_000_000,
      'is no whole number of seconds',
    ],
    ['a date as a number', 20_250_601, 'is no whole number of seconds'],
    ['later than tomorrow', NOW + DAY_MS + HOUR_MS, 'is 2025-06-21T01:00:00.000Z, more than a day from now'],
    [
      'later than tomorrow, in microseconds',
      (NOW + DAY_MS + HOUR_MS) * 1_000,
      '(microseconds) is 2025-06-21T01:00:00.000Z, more than a day from now',
    ],
    ['a fraction', START + 0.5, 'is no whole number'],
  ])('%s: refused with file, row and value', async (_, time, fault) => {
    const { message, opens } = await open({ [CANDLES]: candleText([`${time},100,101,99,100,1`]) })
    expect(message).toContain(`${CANDLES}, row 2, column ts: "${time}"`)
    expect(message).toContain(fault)
    expect(opens).toEqual([])
    const funding = await open({
      [CANDLES]: candleText(hourLines(5, { from: START })),
      [FUNDING]: textOf([`${time},0.0001`, `${time},0.0002`], 'ts,rate'),
    })
    expect(funding.message).toContain(`${FUNDING}, row 2, column ts: "${time}"`)
  })

  it('may be up to a day ahead, as clocks of machines are', async () => {
    const from = NOW + 20 * HOUR_MS
    expect((await open({ [CANDLES]: candleText(hourLines(5, { from })) })).opens).toEqual(hours(5, from))
  })

  it('off the grid are refused with the unit that they were taken for', async () => {
    const { message } = await open({ [CANDLES]: candleText([`${(START + 1) * 1_000},100,101,99,100,1`]) })
    expect(message).toContain('(microseconds) is not the open time of a 1h bar')
  })
})

const funded = (line: string): string => `${line.split(',')[0]},0.0001`
const published = (line: string): string => `${line.split(',')[0]},8,0.0001`
