import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { DAY_MS, HOUR_MS } from '../../../contracts/domain/timeframes.ts'
import {
  candleText,
  checksumText,
  FUNDING_HEADER,
  hourLines,
  KLINE_HEADER,
  klineLines,
  publishedZip,
  textOf,
  writeFolder,
} from '../testing/data-folder.ts'
import { zipOf } from '../testing/zip-of.ts'
import { DEEPEST_FOLDER } from './find-recordings.ts'
import { ZIP_LIMITS } from './read-chunks.ts'
import { createRecordedFeed } from './recorded-feed.ts'

const JUNE = Date.UTC(2025, 5, 1)
const JULY = Date.UTC(2025, 6, 1)
const MONTHLY = 'data/futures/um/monthly/klines/BTCUSDT/1h'
const DAILY = 'data/futures/um/daily/klines/BTCUSDT/1h'
const SPOT = 'data/spot/monthly/klines/BTCUSDT/1h'
const FUNDING = 'data/futures/um/monthly/fundingRate/BTCUSDT'

const folders: string[] = []
const write = (files: Record<string, string | Buffer>): string => {
  const folder = writeFolder(files)
  folders.push(folder)
  return folder
}
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true })
})

const month = (hours: number, from: number, { unit = 1, header = true } = {}): string =>
  textOf(klineLines(hours, { from, unit }), header ? KLINE_HEADER : undefined)
const settlements = (from: number, count: number, hours = 8): string =>
  textOf(
    Array.from({ length: count }, (_, i) => `${from + i * hours * HOUR_MS + 3},${hours},0.0001`),
    FUNDING_HEADER,
  )

async function read(folder: string) {
  const feed = createRecordedFeed({ folder })
  const listings = await feed.listings()
  const series = listings
    .filter(({ timeframes }) => timeframes.includes('1h'))
    .map(({ exchange, coin }) => ({ exchange, coin, timeframe: '1h' as const }))
  const opens: number[] = []
  const settled: { time: number; intervalHours: number }[] = []
  for await (const batch of feed.batches({ series, signal: new AbortController().signal })) {
    opens.push(...batch.bars.map(({ candle }) => candle.openTime))
    settled.push(...batch.funding.map(({ funding }) => funding))
  }
  const ignored = new Map((await feed.ignored()).map(({ name, reason }) => [name, reason]))
  return { listings, opens, settled, ignored }
}

const faultOf = (folder: string): Promise<string> =>
  read(folder).then(
    () => 'no fault',
    (error: unknown) => (error as Error).message,
  )

const hours = (count: number, from: number): number[] =>
  Array.from({ length: count }, (_, i) => from + i * HOUR_MS)

describe('public archives of Binance as they are downloaded', () => {
  it.each([
    ['the parent of data', ''],
    ['data', 'data'],
    ['the market', 'data/futures/um'],
    ['the folder of the files', MONTHLY],
  ])('from %s on, with and without a header, zipped and not, are one series', async (_, below) => {
    const folder = write({
      [`${MONTHLY}/BTCUSDT-1h-2025-06.zip`]: month(30 * 24, JUNE, { header: false }),
      [`${MONTHLY}/BTCUSDT-1h-2025-07.csv`]: month(31 * 24, JULY),
    })
    const { listings, opens, ignored } = await read(join(folder, below))
    expect(listings).toMatchObject([
      { exchange: 'BINANCE', coin: 'BTC', native: [{ firstOpen: JUNE, lastClose: Date.UTC(2025, 7, 1) }] },
    ])
    expect(opens).toEqual(hours(61 * 24, JUNE))
    expect([...ignored]).toEqual([])
  })

  it('join months and days, each bar once, and months in another unit', async () => {
    const august = Date.UTC(2025, 7, 1)
    const folder = write({
      [`${MONTHLY}/BTCUSDT-1h-2025-06.zip`]: month(30 * 24, JUNE),
      [`${MONTHLY}/BTCUSDT-1h-2025-07.zip`]: month(31 * 24, JULY, { unit: 1_000, header: false }),
      [`${DAILY}/BTCUSDT-1h-2025-07-31.zip`]: month(24, Date.UTC(2025, 6, 31)),
      [`${DAILY}/BTCUSDT-1h-2025-08-01.zip`]: month(24, august),
      [`${DAILY}/BTCUSDT-1h-2025-08-02.zip`]: month(24, august + DAY_MS),
    })
    const { opens, ignored } = await read(folder)
    expect(opens).toEqual(hours(63 * 24, JUNE))
    expect([...ignored]).toEqual([
      [`${DAILY}/BTCUSDT-1h-2025-07-31.zip`, `${MONTHLY}/BTCUSDT-1h-2025-07.zip holds the same time`],
    ])
  })

  it('count a month once that stands there zipped and unpacked', async () => {
    const folder = write({
      [`${MONTHLY}/BTCUSDT-1h-2025-06.zip`]: month(48, JUNE),
      [`${MONTHLY}/BTCUSDT-1h-2025-06.csv`]: month(48, JUNE),
      [`${MONTHLY}/BTCUSDT-1h-2025-07.csv`]: month(48, JULY),
    })
    const { opens, ignored } = await read(folder)
    expect(opens).toEqual([...hours(48, JUNE), ...hours(48, JULY)])
    expect([...ignored]).toEqual([
      [`${MONTHLY}/BTCUSDT-1h-2025-06.zip`, `${MONTHLY}/BTCUSDT-1h-2025-06.csv holds the same time`],
    ])
  })

  it('give spot prices only where there is no perpetual contract', async () => {
    const files = { [`${SPOT}/BTCUSDT-1h-2025-06.zip`]: month(72, JUNE, { unit: 1_000, header: false }) }
    expect((await read(write(files))).opens).toEqual(hours(72, JUNE))
    const both = await read(write({ ...files, [`${MONTHLY}/BTCUSDT-1h-2025-06.zip`]: month(48, JUNE) }))
    expect(both.opens).toEqual(hours(48, JUNE))
    expect(both.ignored.get(`${SPOT}/BTCUSDT-1h-2025-06.zip`)).toMatch(/^spot prices/)
  })

  it('have funding files, of all months, with the interval that they state', async () => {
    const { settled, ignored } = await read(
      write({
        [`${MONTHLY}/BTCUSDT-1h-2025-06.zip`]: month(30 * 24, JUNE),
        [`${MONTHLY}/BTCUSDT-1h-2025-07.zip`]: month(31 * 24, JULY),
        [`${FUNDING}/BTCUSDT-fundingRate-2025-06.zip`]: settlements(JUNE, 90),
        [`${FUNDING}/BTCUSDT-fundingRate-2025-07.zip`]: settlements(JULY, 31 * 6, 4),
      }),
    )
    expect(settled.map(({ time }) => time)).toEqual([
      ...Array.from({ length: 90 }, (_, i) => JUNE + i * 8 * HOUR_MS),
      ...Array.from({ length: 31 * 6 }, (_, i) => JULY + i * 4 * HOUR_MS),
    ])
    expect([...new Set(settled.map(({ intervalHours }) => intervalHours))]).toEqual([8, 4])
    expect([...ignored]).toEqual([])
  })

  it('leave out what is not traded prices, by its folder', async () => {
    const { ignored } = await read(
      write({
        [`${MONTHLY}/BTCUSDT-1h-2025-06.zip`]: month(48, JUNE),
        ...Object.fromEntries(
          ['markPriceKlines', 'indexPriceKlines', 'premiumIndexKlines'].map((kind) => [
            `data/futures/um/monthly/${kind}/BTCUSDT/1h/BTCUSDT-1h-2025-06.zip`,
            month(72, JUNE),
          ]),
        ),
      }),
    )
    expect([...ignored.values()]).toEqual(Array(3).fill(expect.stringMatching(/are not traded prices/)))
  })

  it('may lie behind folders that are links, which end where they go round', async () => {
    const real = write({ 'elsewhere/BTCUSDT-1h-2025-06.zip': month(48, JUNE) })
    const folder = write({ 'notes.txt': '' })
    symlinkSync(join(real, 'elsewhere'), join(folder, 'binance-usdm'))
    symlinkSync(folder, join(folder, 'again'))
    symlinkSync(join(folder, 'nowhere'), join(folder, 'broken'))
    const { opens, ignored } = await read(folder)
    expect(opens).toEqual(hours(48, JUNE))
    expect(ignored.get('again/')).toMatch(/leads back/)
    expect(ignored.get('broken')).toMatch(/link/)
  })
})

describe('funding files of months', () => {
  it('are all read, where their months have no hyphen, too', async () => {
    const text = (at: number): string =>
      textOf(
        [0, 8, 16, 24, 32].map((hour) => `${at + hour * HOUR_MS},0.0001`),
        'ts,rate',
      )
    const { settled } = await read(
      write({
        'binance-usdm/BTCUSDT-1h.csv': candleText(hourLines(24 * 95, { from: Date.UTC(2025, 3, 1) })),
        'binance-usdm/BTCUSDT-funding-202504.csv': text(Date.UTC(2025, 3, 1)),
        'binance-usdm/BTCUSDT-funding-202505.csv': text(Date.UTC(2025, 4, 1)),
        'binance-usdm/BTCUSDT-funding-202506.csv': text(JUNE),
      }),
    )
    expect([...new Set(settled.map(({ time }) => new Date(time).getUTCMonth()))]).toEqual([3, 4, 5])
  })

  it('count with all their months where two recordings are weighed against each other', async () => {
    const { settled } = await read(
      write({
        'binance-usdm/BTCUSDT-1h.csv': candleText(hourLines(24 * 61, { from: JUNE })),
        'binance-usdm/BTCUSDT-funding-2025-06.csv': settlements(JUNE, 90),
        'binance-usdm/BTCUSDT-funding-2025-07.csv': settlements(JULY, 90),
        'funding/binance-BTC.csv': settlements(JUNE, 100),
      }),
    )
    expect(settled).toHaveLength(180)
  })
})

describe('a .CHECKSUM file beside a file', () => {
  const name = `${MONTHLY}/BTCUSDT-1h-2025-06.zip`
  const zip = publishedZip(name, month(48, JUNE))

  it.each([
    [
      'another checksum',
      checksumText('another file', 'BTCUSDT-1h-2025-06.zip'),
      /its SHA-256 checksum is .+\.CHECKSUM file says/,
    ],
    ['no checksum', 'not found', /its .CHECKSUM file does not begin with a SHA-256 checksum/],
  ])('with %s refuses the file by name', async (_, checksum, fault) => {
    const message = await faultOf(write({ [name]: zip, [`${name}.CHECKSUM`]: checksum }))
    expect(message).toMatch(/^data\/futures\/um\/monthly\/klines\/BTCUSDT\/1h\/BTCUSDT-1h-2025-06\.zip/)
    expect(message).toMatch(fault)
  })

  it('is believed in capital letters, and for files of every kind', async () => {
    const csv = month(48, JULY)
    const folder = write({
      [name]: zip,
      [`${name}.CHECKSUM`]: checksumText(zip, 'x').toUpperCase(),
      [`${MONTHLY}/BTCUSDT-1h-2025-07.csv`]: csv,
      [`${MONTHLY}/BTCUSDT-1h-2025-07.csv.CHECKSUM`]: checksumText(csv, 'x'),
    })
    expect((await read(folder)).opens).toHaveLength(96)
    writeFileSync(join(folder, `${MONTHLY}/BTCUSDT-1h-2025-07.csv`), csv.replace('100', '101'))
    expect(await faultOf(folder)).toMatch(/^BTCUSDT-1h-2025-07\.csv: its SHA-256/)
  })

  it('without its file is named', async () => {
    const { ignored } = await read(
      write({ [name]: zip, [`${MONTHLY}/BTCUSDT-1h-2025-07.zip.CHECKSUM`]: checksumText('', 'x') }),
    )
    expect(ignored.get(`${MONTHLY}/BTCUSDT-1h-2025-07.zip.CHECKSUM`)).toMatch(/not beside it/)
  })
})

describe('a zip archive', () => {
  const name = `${MONTHLY}/BTCUSDT-1h-2025-06.zip`
  const csv = month(48, JUNE)
  const file = 'BTCUSDT-1h-2025-06.csv'

  it('may have attributes of macOS beside its table', async () => {
    const archive = zipOf([
      { name: file, content: csv },
      { name: `__MACOSX/._${file}`, content: 'attributes' },
    ])
    expect((await read(write({ [name]: archive }))).opens).toHaveLength(48)
  })

  it.each([
    [
      'two tables',
      zipOf([
        { name: file, content: csv },
        { name: 'b.csv', content: csv },
      ]),
      /has 2 CSV files/,
    ],
    ['no table', zipOf([{ name: 'a.txt', content: 'x' }]), /has 0 CSV files/],
    [
      'too many files',
      zipOf(Array.from({ length: ZIP_LIMITS.files + 1 }, (_, i) => ({ name: `${i}.txt`, content: '' }))),
      /has 17 files, more than 16/,
    ],
    [
      'a table that is too large',
      zipOf([{ name: file, content: csv, claimedBytes: ZIP_LIMITS.bytes + 1 }]),
      /unpack to 1073741825; at most 1073741824/,
    ],
    [
      'a table that unpacks too far',
      zipOf([{ name: file, content: '0'.repeat(5_000_000) }]),
      /unpack to 5000000; at most 1073741824, and 200 times as many/,
    ],
    [
      'a table that is longer than it says',
      zipOf([{ name: file, content: csv, claimedBytes: 100 }]),
      /not a sound zip archive/,
    ],
    [
      'a table that was changed',
      zipOf([{ name: file, content: csv, claimedCrc: 1 }]),
      /does not match its checksum/,
    ],
    ['no end', zipOf([{ name: file, content: csv }]).subarray(0, 200), /not a sound zip archive/],
    ['nothing', Buffer.alloc(0), /not a sound zip archive/],
    ['text', Buffer.from(csv), /not a sound zip archive/],
  ])('with %s is refused by name', async (_, archive, fault) => {
    const message = await faultOf(write({ [name]: archive }))
    expect(message).toContain(name)
    expect(message).toMatch(fault)
  })
})

it('goes no deeper than the limit, and says where it stopped', async () => {
  const folder = write({ 'binance/BTCUSDT-1h.csv': candleText(hourLines(5, { from: JUNE })) })
  const deep = Array(DEEPEST_FOLDER + 1)
    .fill('a')
    .join('/')
  mkdirSync(join(folder, deep), { recursive: true })
  const { ignored } = await read(folder)
  expect([...ignored]).toEqual([[`${deep}/`, expect.stringMatching(/more than 10 folders deep/)]])
})
