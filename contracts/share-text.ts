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
