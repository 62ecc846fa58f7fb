import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import type { Candle } from '../../../contracts/domain/candle.ts'

/** Rows of numbers of a gzipped CSV file with a header; an empty cell is NaN. */
export function readNumbers(file: string): number[][] {
  const [, ...lines] = gunzipSync(readFileSync(file)).toString('utf8').trimEnd().split('\n')
  return lines.map((line) => line.split(',').map((text) => (text === '' ? Number.NaN : Number(text))))
}

/** Candles of a gzipped CSV file with the columns ts, open, high, low, close, volume; NaN where one is missing. */
export const readCandles = (file: string): Candle[] =>
  readNumbers(file).map((row) => {
    const [
      openTime = Number.NaN,
      open = Number.NaN,
      high = Number.NaN,
      low = Number.NaN,
      close = Number.NaN,
      volume = Number.NaN,
    ] = row
    return { openTime, open, high, low, close, volume }
  })
