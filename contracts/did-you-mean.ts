import { distance } from 'fastest-levenshtein'

const sorted = (text: string): string => Array.from(text).toSorted().join('')

/** How many letters one word is away from another: added, left out or changed; two that are swapped are one slip. */
export function slips(a: string, b: string): number {
  const edits = distance(a, b)
  const isSwapped = edits === 2 && sorted(a) === sorted(b)
  return isSwapped ? 1 : edits
}

/** Letters added, left out or changed for which one name is still taken for another. */
const MOST_EDITS = 2
/** Digits of the longest count before a name, with the edits: `1000000MOG`. */
const MOST_DIFFERENCE = 9

const withoutCount = (text: string): string => text.toLowerCase().replace(/^10+/, '')

/**
 * The name that somebody most likely meant, in either case; the first of those that are equally near. Undefined where
 * none is near: a third of the letters may differ, and two at most. A name with a count before it (`1000PEPE`) is near.
 *
 * @example nearestName('BTCC', ['ETH', 'BTC']) === 'BTC'
 */
export function nearestName<Name extends string>(given: string, names: Iterable<Name>): Name | undefined {
  const written = withoutCount(given)
  let best: Name | undefined
  let fewest = Math.min(MOST_EDITS, Math.floor(given.length / 3)) + 1
  for (const name of names) {
    // The distance to a text of any length would take long.
    if (Math.abs(name.length - given.length) > MOST_DIFFERENCE) continue
    const edits = slips(written, withoutCount(name))
    if (edits < fewest) [best, fewest] = [name, edits]
  }
  return best
}

/** The end of a refusal that names what was likely meant; empty where nothing was. */
export const didYouMean = (meant: string | undefined): string =>
  meant === undefined ? '' : `; did you mean ${meant}?`
