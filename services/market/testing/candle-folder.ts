import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { HOUR_MS } from '../../../contracts/domain/timeframes.ts'

export interface CandleFolder {
  /** The parent of the folder. */
  readonly directory: string
  readonly bars: number
  /** Opening of the first bar, Unix milliseconds. */
  readonly from: number
  /** Damages the lines, of which the first is the header. */
  readonly change?: ((lines: string[]) => void) | undefined
}

/** A folder of recorded hours of BTC on Binance, always the same walk. @returns the folder */
export function writeCandles({ directory, bars, from, change }: CandleFolder): string {
  const folder = join(directory, 'binance-usdm')
  mkdirSync(folder, { recursive: true })
  const lines = ['ts,open,high,low,close,volume']
  let price = 20_000
  let seed = 42
  const random = (): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
    return seed / 2_147_483_648
  }
  for (let n = 0; n < bars; n++) {
    const open = price
    price = Math.round(open * (1 + (random() - 0.5) * 0.02) * 10) / 10
    const [high, low] = [Math.max(open, price) + 5, Math.min(open, price) - 5]
    lines.push([from + n * HOUR_MS, open, high, low, price, 10].join(','))
  }
  change?.(lines)
  writeFileSync(join(folder, 'BTCUSDT-1h.csv.gz'), gzipSync(`${lines.join('\n')}\n`))
  return folder
}
