import { appendFileSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import type { Series } from '../../../../contracts/series.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../../contracts/timeframes.ts'
import { findRecordings } from '../../recorded/find-recordings.ts'
import { readCandleRows } from '../../recorded/read-recording.ts'
import { createRandom } from '../../simulated/random.ts'
import { checkedLine, type KeptBar, keptBar } from './kept-bar.ts'
import { KeptBars } from './kept-bars.ts'
import { appendKept } from './kept-files.ts'

const SERIES: Series = { exchange: 'BINANCE', coin: 'BTC', timeframe: '1m' }
const DAY = Date.UTC(2026, 10, 22)

const bar = (minute: number, close = 100 + (minute % 7)): KeptBar =>
  keptBar(
    { openTime: DAY + minute * MINUTE_MS, open: 100, high: 110, low: 90, close, volume: 5 },
    { takerBuyVolume: 2, trades: 3, openInterest: 7_000, mark: 100.5 },
  )

const bars = (from: number, until: number): KeptBar[] =>
  Array.from({ length: until - from }, (_, index) => bar(from + index))

function world(now = DAY + HOUR_MS, folder = mkdtempSync(join(tmpdir(), 'kept-'))) {
  const told: string[] = []
  const time = { now }
  const random = createRandom(now)
  const open = () =>
    new KeptBars({
      folder,
      keepDays: 3,
      now: () => time.now,
      random: () => random.uniform(),
      report: (message) => void told.push(message),
    })
  return { folder, told, time, open, venue: join(folder, 'binance') }
}

const minutesOf = (found: readonly { readonly openTime: number }[]): number[] =>
  found.map(({ openTime }) => (openTime - DAY) / MINUTE_MS)

test('what is kept is read again by whoever comes next, across days, up to the first gap', async () => {
  const { open } = world()
  await open().keep(SERIES, bars(1_430, 1_450))
  await open().keep(SERIES, bars(1_452, 1_460))
  expect(minutesOf(await open().read(SERIES, DAY + 1_435 * MINUTE_MS, 100))).toEqual(
    minutesOf(bars(1_435, 1_450)),
  )
  expect(await open().read(SERIES, DAY + 1_450 * MINUTE_MS, 100)).toEqual([])
  expect(minutesOf(await open().read(SERIES, DAY + 1_452 * MINUTE_MS, 3))).toEqual([1_452, 1_453, 1_454])
})

test('longer bars are made of those that are whole only', async () => {
  const { open } = world()
  const kept = open()
  await kept.keep(SERIES, bars(0, 12))
  const found = await kept.read({ ...SERIES, timeframe: '5m' }, DAY, 10)
  expect(minutesOf(found)).toEqual([0, 5])
  expect(found[1]).toMatchObject({ open: 100, close: bar(9).close, volume: 25 })
})

test('of a bar that is told again otherwise, the first version stays, whoever tells it', async () => {
  const { open, venue, time } = world()
  const [one, other] = [open(), open()]
  await one.keep(SERIES, [bar(0, 101), bar(1, 101)])
  await one.keep(SERIES, [bar(0, 109)])
  // Another process that looked at the folder before.
  await other.keep(SERIES, [bar(1, 109), bar(2, 109)])
  const closes = async () => (await one.read(SERIES, DAY, 10)).map(({ close }) => close)
  expect(await closes()).toEqual([101, 101, 109])
  time.now = DAY + 2 * DAY_MS
  await Promise.all([one.tidy(), other.tidy()])
  await one.tidy()
  expect(readdirSync(venue)).toEqual(['BTC-1m-20261122.csv.gz'])
  expect(await closes()).toEqual([101, 101, 109])
})

test('two processes that keep and seal at the same time lose nothing', async () => {
  const { open, time, venue } = world()
  const both = [open(), open()]
  for (let minute = 0; minute < 60; minute += 4) {
    if (minute === 32) time.now = DAY + 2 * DAY_MS
    await Promise.all(both.flatMap((kept) => [kept.keep(SERIES, bars(minute, minute + 4)), kept.tidy()]))
  }
  await both[0]?.tidy()
  expect(readdirSync(venue)).toEqual(['BTC-1m-20261122.csv.gz'])
  expect(minutesOf((await both[1]?.read(SERIES, DAY, 100)) ?? [])).toEqual(minutesOf(bars(0, 60)))
})

test('a line that was cut off at any place is left out, and the next ones are not spoilt', async () => {
  const { open, venue } = world()
  await open().keep(SERIES, bars(0, 2))
  const path = join(venue, 'BTC-1m-20261122.part')
  const whole = readFileSync(path, 'utf8')
  const secondLine = whole.lastIndexOf('\n', whole.length - 2) + 1
  for (let cut = secondLine + 1; cut < whole.length - 1; cut++) {
    writeFileSync(path, whole.slice(0, cut))
    await open().keep(SERIES, [bar(2)])
    expect(minutesOf(await open().read(SERIES, DAY, 10)), `cut at ${cut}`).toEqual([0])
    expect(minutesOf(await open().read(SERIES, DAY + 2 * MINUTE_MS, 10)), `cut at ${cut}`).toEqual([2])
  }
})

test('a full disk is told once an hour, harms nobody, and what was written of a line is not used', async () => {
  const { folder, venue, told, time } = world()
  let isFull = true
  const kept = new KeptBars({
    folder,
    keepDays: 3,
    now: () => time.now,
    random: () => 0.5,
    report: (message) => void told.push(message),
    async append(file, some) {
      if (!isFull) return appendKept(file, some)
      appendFileSync(join(venue, `${file.name}.part`), checkedLine(some[0] ?? bar(0)).slice(0, 30))
      throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
    },
  })
  await kept.keep(SERIES, bars(0, 2))
  await kept.keep(SERIES, bars(2, 4))
  expect(told).toEqual([expect.stringContaining('ENOSPC')])
  expect(await kept.read(SERIES, DAY, 10)).toEqual([])
  time.now += HOUR_MS
  await kept.keep(SERIES, bars(4, 6))
  expect(told).toHaveLength(2)
  isFull = false
  await kept.keep(SERIES, bars(0, 6))
  expect(minutesOf(await kept.read(SERIES, DAY, 10))).toEqual([0, 1, 2, 3, 4, 5])
})

test('a sealed file that is damaged is told, read as if it were not there, and never written over', async () => {
  const { open, venue, told, time } = world()
  await open().keep(SERIES, bars(0, 2))
  writeFileSync(join(venue, 'BTC-1m-20261122.csv.gz'), 'no gzip')
  time.now += 2 * DAY_MS
  expect(await open().read(SERIES, DAY, 10)).toEqual([])
  await open().tidy()
  expect(told[0]).toContain('cannot be kept')
  expect(readFileSync(join(venue, 'BTC-1m-20261122.csv.gz'), 'utf8')).toBe('no gzip')
  expect(readdirSync(venue)).toHaveLength(2)
})

test('days past the retention are removed, and nothing that is not ours', async () => {
  const { open, venue, time } = world()
  const kept = open()
  await kept.keep(SERIES, bars(0, 2))
  await kept.keep(SERIES, bars(3 * 1_440, 3 * 1_440 + 2))
  writeFileSync(join(venue, 'notes.txt'), 'mine')
  time.now = DAY + 4 * DAY_MS + 2 * HOUR_MS
  await kept.tidy()
  expect(readdirSync(venue).toSorted()).toEqual(['BTC-1m-20261125.csv.gz', 'notes.txt'])
})

test('sealed days are one recording for fits and replays, with order flow for those who read it', async () => {
  const { open, folder, time } = world()
  const kept = open()
  const quiet = keptBar(bar(1_442), {})
  await kept.keep(SERIES, [...bars(1_430, 1_442), quiet])
  time.now = DAY + 3 * DAY_MS
  await kept.tidy()
  const { recordings, ignored } = await findRecordings(folder)
  expect(ignored).toEqual([])
  expect(recordings).toMatchObject([
    { market: { exchange: 'BINANCE', coin: 'BTC' }, content: '1m', parts: [expect.any(String)] },
  ])
  const [recording] = recordings
  if (recording === undefined) throw new Error('There is no recording.')
  let candles = 0
  for await (const { count } of readCandleRows(recording, '1m')) candles += count
  expect(candles).toBe(13)
  const lines = gunzipSync(readFileSync(recording.path)).toString('utf8').trimEnd().split('\n')
  expect(lines[0]).toBe('ts,open,high,low,close,volume,taker_buy_volume,trades,open_interest,mark')
  const first = bar(1_430)
  expect(lines[1]).toBe(`${first.openTime},100,110,90,${first.close},5,2,3,7000,100.5`)
  const parts = (recording.parts ?? []).map((part) =>
    gunzipSync(readFileSync(part)).toString('utf8').trimEnd(),
  )
  expect(parts.at(-1)?.split('\n').at(-1)).toMatch(/,5,,,,$/)
})

test.each([
  ['takers bought more than was traded', { takerBuyVolume: 6 }, { takerBuyVolume: Number.NaN }],
  ['half a trade', { trades: 1.5 }, { trades: Number.NaN }],
  ['a mark of nothing', { mark: 0 }, { mark: Number.NaN }],
  ['endless positions', { openInterest: Number.POSITIVE_INFINITY }, { openInterest: Number.NaN }],
])('what cannot be is not kept: %s', (_, flow, expected) => {
  expect(keptBar(bar(0), flow)).toMatchObject(expected)
})
