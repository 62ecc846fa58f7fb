import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { marketName } from '../../../contracts/series.ts'
import { HOUR_MS } from '../../../contracts/timeframes.ts'
import { readFundingFolder } from './read-funding-folder.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'funding-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function write(name: string, rows: readonly (readonly [number, number | string])[]): void {
  mkdirSync(dirname(join(folder, name)), { recursive: true })
  const lines = rows.map(([hour, rate]) => `${hour * HOUR_MS},${rate}`)
  writeFileSync(join(folder, name), gzipSync(['ts,rate', ...lines, ''].join('\n')))
}

const rows = [
  [8, 0.1],
  [16, 0.2],
] as const

test('finds the funding files of exchanges that are known, under either way of naming', () => {
  write('binance-usdm/BTCUSDT-funding.csv.gz', rows)
  write('binance-usdm/BTCUSDT-1h.csv.gz', rows)
  write('hyperliquid/1000PEPE-funding.csv.gz', rows)
  write('funding/kucoin-ETH.csv.gz', rows)
  write('funding/dydx-ETH.csv.gz', rows)
  write('multi-8h/okx-ETHUSDT-funding.csv.gz', rows)
  const found = readFundingFolder(folder).map(({ market }) => marketName(market))
  expect(new Set(found)).toEqual(new Set(['BINANCE.BTC', 'HL.1000PEPE', 'KUCOIN.ETH', 'OKX.ETH']))
})

test('joins the files of a market, oldest first', () => {
  write('binance-usdm/BTCUSDT-funding.csv.gz', [...rows, [24, 0.3]])
  write('binance-usdm/BTCUSDT-funding-2025q2.csv.gz', [
    [24, 0.3],
    [32.00001, 0.4],
  ])
  expect(readFundingFolder(folder).map(({ funding }) => funding)).toEqual(
    [0.1, 0.2, 0.3, 0.4].map((rate, index) => ({ time: (index + 1) * 8 * HOUR_MS, rate, intervalHours: 8 })),
  )
})

test.each([
  ['hourly', [1, 2, 3, 4], [1, 1, 1, 1]],
  ['an outage', [8, 16, 768, 776], [8, 8, 8, 8]],
  ['a late settlement', [8, 18, 24, 32], [8, 8, 8, 8]],
  ['a change of the interval', [8, 16, 20, 24], [8, 4, 4, 4]],
  ['a single settlement', [8], [8]],
])('tells the intervals of %s', (_, hours, intervals) => {
  write(
    'hyperliquid/BTC-funding.csv.gz',
    hours.map((hour) => [hour, 0.1] as const),
  )
  expect(readFundingFolder(folder).map(({ funding }) => funding.intervalHours)).toEqual(intervals)
})

test('refuses what is no settlement, naming file and row', () => {
  write('hyperliquid/BTC-funding.csv.gz', [...rows, [24, 'n/a']])
  expect(() => readFundingFolder(folder)).toThrow(
    'BTC-funding.csv.gz: row 4, "86400000,n/a", is no settlement.',
  )
  writeFileSync(join(folder, 'hyperliquid/BTC-funding.csv.gz'), 'ts,rate')
  expect(() => readFundingFolder(folder)).toThrow(/^BTC-funding.csv.gz: .*header/)
})
