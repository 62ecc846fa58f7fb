/** Half-width of a 95 % interval, in standard errors. */
const NORMAL_95 = 1.959_964

/** With fewer independent blocks their spread says nothing. */
export const FEWEST_BLOCKS = 5

/**
 * The quantile of Student's t that holds 95 % between its negative and itself, by the first terms of its expansion around
 * the normal one.
 *
 * @param freedom degrees of freedom, at least 1
 * @example studentQuantile95(10) ≈ 2.23
 */
export function studentQuantile95(freedom: number): number {
  const z = NORMAL_95
  const first = (z ** 3 + z) / (4 * freedom)
  const second = (5 * z ** 5 + 16 * z ** 3 + 3 * z) / (96 * freedom ** 2)
  const third = (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / (384 * freedom ** 3)
  return z + first + second + third
}

/**
 * Half-width of a 95 % interval in standard errors, if the error itself was estimated from a number of blocks.
 *
 * @returns NaN for fewer blocks than an error can be estimated from
 * @example halfWidth95(1e9) ≈ 1.96 and halfWidth95(11) ≈ 2.23
 */
export const halfWidth95 = (blocks: number): number =>
  blocks < FEWEST_BLOCKS ? Number.NaN : studentQuantile95(blocks - 1)
