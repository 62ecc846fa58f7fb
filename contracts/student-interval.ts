/** Half-width of a 95 % interval, in standard errors. */
const NORMAL_95 = 1.959_964

/** With fewer independent blocks their spread says nothing. */
export const FEWEST_BLOCKS = 5

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
