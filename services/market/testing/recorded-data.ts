import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import type { Candle } from '../../../contracts/domain/candle.ts'

/** Real candles and funding rates, which stand beside the repository where there are any. */
export const RECORDED_DATA = fileURLToPath(new URL('../../../../shared/data', import.meta.url))

export const isDataAbsent = !existsSync(RECORDED_DATA)

/** For titles of tests that need the data. */
export const whenPresent = isDataAbsent ? ' (skipped: ../shared/data is absent)' : ''

/** Rows of a file below the data folder, read as simply as can be, to compare with. */
export async function readTable(name: string): Promise<number[][]> {
  const text = gunzipSync(await readFile(`${RECORDED_DATA}/${name}.csv.gz`)).toString()
  return text
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => line.split(',').map(Number))
}

export const readCandles = async (name: string): Promise<Candle[]> =>
  (await readTable(name)).map(([openTime = 0, open = 0, high = 0, low = 0, close = 0, volume = 0]) => ({
    openTime,
    open,
    high,
    low,
    close,
    volume,
  }))

/** A candle as the row of numbers that feeds work on. */
export const toRow = ({ openTime, open, high, low, close, volume }: Candle): Float64Array =>
  Float64Array.of(openTime, open, high, low, close, volume)
