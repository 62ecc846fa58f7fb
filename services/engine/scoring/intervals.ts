import { halfWidth95 } from '../../../contracts/student-interval.ts'

/** A measured number with its 95 % interval; the ends are null where there is too little to tell. */
export interface Measure {
  readonly value: number
  readonly low: number | null
  readonly high: number | null
}

/** A value with the interval that a half-width makes; without ends where the half-width is no number. */
export const measure = (value: number, margin: number): Measure =>
  Number.isFinite(margin)
    ? { value, low: value - margin, high: value + margin }
    : { value, low: null, high: null }

/** A mean with its interval and how many standard errors it is away from 0. */
export interface BlockMean extends Measure {
  readonly t: number | null
}

/** Sums of doubles are off by less than this part of them. */
const ROUNDING = 1e-9

/**
 * Mean of values that depend on one another within a block of time and not across blocks. Its error
 * follows from the sums of the blocks.
 *
 * @param blocks the block of each value
 * @returns undefined without values
 */
export function blockMean(values: ArrayLike<number>, blocks: ArrayLike<number>): BlockMean | undefined {
  const count = values.length
  if (count === 0) return undefined
  let total = 0
  for (let place = 0; place < count; place++) total += values[place] ?? 0
  const mean = total / count
  const sums = new Map<number, number>()
  for (let place = 0; place < count; place++) {
    const block = blocks[place] ?? 0
    sums.set(block, (sums.get(block) ?? 0) + (values[place] ?? 0) - mean)
  }
  let squares = 0
  for (const sum of sums.values()) squares += sum * sum
  const error = Math.sqrt(squares) / count
  const interval = measure(mean, error * halfWidth95(sums.size))
  // Like values differ by rounding alone, and that is no spread to measure a mean by.
  const isConstant = error <= ROUNDING * Math.abs(mean)
  return { ...interval, t: interval.low === null || isConstant ? null : mean / error }
}
