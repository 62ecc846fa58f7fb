import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { HOUR_MS } from '../../../contracts/domain/timeframes.ts'
import { zipOf } from './zip-of.ts'

/** Header of the public kline files of Binance; the older ones have none. */
export const KLINE_HEADER =
  'open_time,open,high,low,close,volume,close_time,quote_volume,count,taker_buy_volume,taker_buy_quote_volume,ignore'

/** Header of its funding files. */
export const FUNDING_HEADER = 'calc_time,funding_interval_hours,last_funding_rate'

interface HourOptions {
  readonly from: number
  readonly price?: number
  readonly volume?: number
  /** Units in a millisecond: 1,000 writes microseconds. */
  readonly unit?: number
}

/** Lines of hourly bars, without a header. */
export const hourLines = (
  count: number,
  { from, price = 100, volume = 1.5, unit = 1 }: HourOptions,
): string[] =>
  Array.from({ length: count }, (_, i) => {
    const open = price + (i % 7)
    return [(from + i * HOUR_MS) * unit, open, open + 2, open - 2, open + 1, volume].join(',')
  })

/** The same lines with the six further cells of a public kline file. */
export const klineLines = (count: number, options: HourOptions): string[] =>
  hourLines(count, options).map((line) => {
    const { unit = 1 } = options
    return `${line},${Number(line.split(',')[0]) + HOUR_MS * unit - 1},150,10,1,100,0`
  })

export const textOf = (lines: readonly string[], header?: string): string =>
  `${[...(header === undefined ? [] : [header]), ...lines].join('\n')}\n`

export const candleText = (lines: readonly string[]): string => textOf(lines, 'ts,open,high,low,close,volume')

/** The checksum file that is published beside an archive. */
export const checksumText = (content: Buffer | string, file: string): string =>
  `${createHash('sha256').update(content).digest('hex')}  ${file}\n`

/** A published zip: one CSV of the same name. */
export const publishedZip = (file: string, text: string): Buffer =>
  zipOf([{ name: basename(file).replace(/\.zip$/, '.csv'), content: text }])

/**
 * Writes files below a folder and answers its path. Text of a `.gz` or `.zip` file is packed, and a `.zip` of text gets
 * its `.CHECKSUM` file.
 */
export function writeFolder(files: Readonly<Record<string, string | Buffer>>, folder?: string): string {
  const root = folder ?? mkdtempSync(join(tmpdir(), 'market-data-'))
  for (const [file, content] of Object.entries(files)) {
    const path = join(root, file)
    mkdirSync(dirname(path), { recursive: true })
    const packed = typeof content !== 'string' ? content : packedAs(file, content)
    writeFileSync(path, packed)
    if (file.endsWith('.zip') && typeof content === 'string') {
      writeFileSync(`${path}.CHECKSUM`, checksumText(packed, basename(file)))
    }
  }
  return root
}

function packedAs(file: string, text: string): Buffer {
  if (file.endsWith('.gz')) return gzipSync(text)
  return file.endsWith('.zip') ? publishedZip(file, text) : Buffer.from(text)
}
