/** Half-width of a 95 % interval, in standard errors. */
const NORMAL_95 = 1.959_964

/**
 * Wilson's 95 % interval of a share. It takes the trials as independent.
 *
 * @returns undefined without trials
 * @example wilsonInterval(50, 100) // { value: 0.5, low: 0.404, high: 0.596 }
 */
export function wilsonInterval(successes: number, trials: number) {
  if (trials === 0) return undefined
  const share = successes / trials
  const square = NORMAL_95 ** 2
  const centre = share + square / (2 * trials)
  const margin = NORMAL_95 * Math.sqrt((share * (1 - share)) / trials + square / (4 * trials ** 2))
  const scale = 1 + square / trials
  return { value: share, low: (centre - margin) / scale, high: (centre + margin) / scale }
}

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

/** With fewer trials than these a percentage promises more than anybody knows. */
export const FEWEST_FOR_PERCENT = 100

/**
 * A share as people read it: a count below 100 trials, a percentage from there on.
 *
 * @example shareText(7 / 13, 13) // '7 of 13'
 */
export function shareText(share: number | null, trials: number): string {
  if (share === null) return '—'
  if (trials >= FEWEST_FOR_PERCENT) return `${(100 * share).toFixed(1)} %`
  // A coin that is expected to win half of an odd number wins half a race.
  return `${Math.round(2 * share * trials) / 2} of ${trials}`
}

/** A whole number as '20,130'. For `toLocaleString` Node.js reads 10 MB of languages. */
export const grouped = (count: number): string => String(count).replaceAll(/\B(?=(?:\d{3})+$)/g, ',')

/**
 * A count with its noun.
 *
 * @param many the plural; the noun with an s unless given
 * @example countText(1, 'verdict') // '1 verdict'
 */
export const countText = (count: number, one: string, many = `${one}s`): string =>
  `${grouped(count)} ${count === 1 ? one : many}`

/** The first names of a list, and how many more there are. @example listText(['a', 'b', 'c'], 2) // 'a, b and 1 more' */
export const listText = (names: readonly string[], most: number): string =>
  `${names.slice(0, most).join(', ')}${names.length > most ? ` and ${names.length - most} more` : ''}`
