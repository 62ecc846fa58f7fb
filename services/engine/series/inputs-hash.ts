import { hash } from 'node:crypto'
import type { Candle } from '../../../contracts/domain/candle.ts'

const HASH_BYTES = 32
/** Open time, open, high, low, close and volume. */
const NUMBERS_PER_BAR = 6

const link = Buffer.alloc(HASH_BYTES + NUMBERS_PER_BAR * Float64Array.BYTES_PER_ELEMENT)

/** The start of a chain, in hex: what the verdicts of a series depend on besides its bars. */
export const chainStart = (seriesName: string, modelVersion: string): string =>
  hash('sha256', `${seriesName}\n${modelVersion}`)

/**
 * The next hash of a chain, in hex: SHA-256 over the 32 bytes of the previous hash and six little-endian doubles, the
 * bar. So a verdict can be recomputed from candles alone.
 *
 * @param previous the chain so far, in hex
 */
export function chainBar(previous: string, bar: Candle): string {
  link.write(previous, 0, 'hex')
  link.writeDoubleLE(bar.openTime, 32)
  link.writeDoubleLE(bar.open, 40)
  link.writeDoubleLE(bar.high, 48)
  link.writeDoubleLE(bar.low, 56)
  link.writeDoubleLE(bar.close, 64)
  link.writeDoubleLE(bar.volume, 72)
  return hash('sha256', link)
}
