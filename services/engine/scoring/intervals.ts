/** A measured number with its 95 % interval; the ends are null where there is too little to tell. */
export interface Measure {
  readonly value: number
  readonly low: number | null
  readonly high: number | null
}

/** Half-width of a 95 % interval, in standard errors. */
const NORMAL_95 = 1.959_964

/** With fewer independent blocks their spread says nothing. */
const FEWEST_BLOCKS = 5

/**
 * Half-width of a 95 % interval in standard errors, where the error itself was estimated from a number of
 * blocks: the quantile of Student's t, by the first terms of its expansion around the normal one.
 *
 * @returns NaN for fewer blocks than an error can be had from
 * @example halfWidth95(1e9) ≈ 1.96 and halfWidth95(11) ≈ 2.23
 */
export function halfWidth95(blocks: number): number {
  if (blocks < FEWEST_BLOCKS) return Number.NaN
  const freedom = blocks - 1
  const z = NORMAL_95
  const first = (z ** 3 + z) / (4 * freedom)
  const second = (5 * z ** 5 + 16 * z ** 3 + 3 * z) / (96 * freedom ** 2)
  return z + first + second
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

/**
 * Mean of values that depend on one another within a block of time and not across blocks; its error is had
 * from the sums of the blocks.
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
  return { ...interval, t: interval.low === null || error === 0 ? null : mean / error }
}
