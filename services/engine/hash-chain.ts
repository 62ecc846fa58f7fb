import { hash } from 'node:crypto'
import type { Candle } from '../../contracts/candle.ts'
import type { FundingRate } from '../../contracts/funding.ts'

const HASH_BYTES = 32
/** Open time, open, high, low, close and volume of a bar, then time, rate and interval of its funding. */
const NUMBERS_PER_BAR = 9

const link = Buffer.alloc(HASH_BYTES + NUMBERS_PER_BAR * Float64Array.BYTES_PER_ELEMENT)

/** The start of a chain, in hex: what the verdicts of a series depend on besides its bars. */
export const chainStart = (seriesName: string, modelVersion: string): string =>
  hash('sha256', `${seriesName}\n${modelVersion}`)

/**
 * The next hash of a chain, in hex: SHA-256 over the 32 bytes of the previous hash and nine little-endian
 * doubles, the bar and the funding known at its close. Without funding its three numbers are 0; an interval
 * of 0 hours is no funding.
 *
 * @param previous the chain so far, in hex
 */
export function chainBar(previous: string, bar: Candle, funding: FundingRate | undefined): string {
  link.write(previous, 0, 'hex')
  link.writeDoubleLE(bar.openTime, 32)
  link.writeDoubleLE(bar.open, 40)
  link.writeDoubleLE(bar.high, 48)
  link.writeDoubleLE(bar.low, 56)
  link.writeDoubleLE(bar.close, 64)
  link.writeDoubleLE(bar.volume, 72)
  link.writeDoubleLE(funding?.time ?? 0, 80)
  link.writeDoubleLE(funding?.rate ?? 0, 88)
  link.writeDoubleLE(funding?.intervalHours ?? 0, 96)
  return hash('sha256', link)
}
