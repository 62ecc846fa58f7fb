import { rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { HOUR_MS } from '../../../contracts/domain/timeframes.ts'
import {
  candleText,
  hourLines,
  KLINE_HEADER,
  klineLines,
  textOf,
  writeFolder,
} from '../testing/data-folder.ts'
import { createRecordedFeed, type RecordedFeedOptions } from './recorded-feed.ts'

const START = Date.UTC(2025, 5, 1)
const folders: string[] = []
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true })
})

async function noticesOf(
  files: Record<string, string | Buffer>,
  { change, ...options }: Partial<RecordedFeedOptions> & { change?: (folder: string) => void } = {},
): Promise<string[]> {
  const folder = writeFolder(files)
  folders.push(folder)
  change?.(folder)
  const notices: string[] = []
  const feed = createRecordedFeed({ folder, report: (notice) => void notices.push(notice), ...options })
  await feed.listings()
  await feed.listings()
  return notices
}

const good = { 'binance-usdm/BTCUSDT-1h.csv': candleText(hourLines(48, { from: START })) }
const beginning = (notices: readonly string[], words: string): string[] =>
  notices.filter((notice) => notice.startsWith(words))

it('says nothing of files that are all used', async () => {
  expect(await noticesOf(good)).toEqual([])
})

it('names in one line every file and folder that is not used, with the reason', async () => {
  const notices = await noticesOf(
    {
      ...good,
      'binance-spot/BTCUSDT-1h.csv': candleText(hourLines(96, { from: START })),
      'binance-usdm/BTCUSDT-1h-2025-06.csv': candleText(hourLines(24, { from: START })),
      'binance-usdm/ETHUSDT-1h.CSV': candleText(hourLines(5, { from: START })),
      'binance-usdm/SOLUSDT-1h.parquet': 'PAR1',
      'reference/rsi.csv': '',
      '.git/config': '',
      'binance-usdm/XRPUSDT-1h.csv': candleText([]),
      'mine/ADAUSDT-1h.csv': candleText(hourLines(5, { from: START })),
    },
    { change: (folder) => symlinkSync(join(folder, 'nowhere'), join(folder, 'gone')) },
  )
  const [line = '', ...others] = beginning(notices, 'not used: ')
  expect(others).toEqual([])
  for (const part of [
    'binance-spot/BTCUSDT-1h.csv (spot prices; binance-usdm/BTCUSDT-1h.csv has those of the perpetual contract)',
    'binance-usdm/BTCUSDT-1h-2025-06.csv (binance-usdm/BTCUSDT-1h.csv holds the same series, for as long or longer)',
    'binance-usdm/ETHUSDT-1h.CSV (the name is not of the form',
    'binance-usdm/SOLUSDT-1h.parquet (the name is not of the form',
    'reference/ (indicator values, not market data)',
    '.git/ (hidden)',
    'binance-usdm/XRPUSDT-1h.csv (it has no rows in the period)',
    'mine/ADAUSDT-1h.csv (folder "',
    'gone (it cannot be read, or is a link to nothing)',
  ])
    expect(line).toContain(part)
})

it('names twenty, and says how many more there are', async () => {
  const files = Object.fromEntries(Array.from({ length: 25 }, (_, i) => [`notes-${10 + i}.txt`, '']))
  const [line = ''] = beginning(await noticesOf({ ...good, ...files }), 'not used: ')
  expect(line).toContain('notes-29.txt (')
  expect(line).not.toContain('notes-30.txt')
  expect(line).toMatch(/\) and 5 more$/)
})

it('names the files whose bars lack some inside, how many, and the longest hole', async () => {
  const lines = hourLines(200, { from: START })
  const holed = [...lines.slice(0, 10), ...lines.slice(12, 100), ...lines.slice(150)]
  const month = (from: number, hours: number): string => textOf(klineLines(hours, { from }), KLINE_HEADER)
  const notices = await noticesOf({
    'binance-usdm/ETHUSDT-1h.csv': candleText(holed),
    'binance-usdm/BTCUSDT-1h-2025-06.zip': month(START, 30 * 24),
    'binance-usdm/BTCUSDT-1h-2025-08.zip': month(Date.UTC(2025, 7, 1), 31 * 24),
    'okx-swap/BTCUSDT-1h.csv': candleText(lines),
  })
  expect(beginning(notices, 'bars are missing: ')).toEqual([
    'bars are missing: binance-usdm/BTCUSDT-1h-2025-06.zip and 1 more (744 of 2,208; the longest hole is from 2025-07-01T00:00 to 2025-08-01T00:00), binance-usdm/ETHUSDT-1h.csv (52 of 200; the longest hole is from 2025-06-05T04:00 to 2025-06-07T06:00)',
  ])
})

it('counts what is missing within the period alone', async () => {
  const lines = hourLines(200, { from: START })
  const files = { 'binance-usdm/BTCUSDT-1h.csv': candleText([...lines.slice(0, 100), ...lines.slice(150)]) }
  const notices = await noticesOf(files, { period: { to: START + 100 * HOUR_MS } })
  expect(beginning(notices, 'bars are missing')).toEqual([])
})
