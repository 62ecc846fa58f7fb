import { editDistance } from './edit-distance.ts'

/** Letters added, left out or changed for which one name is still taken for another. */
const MOST_EDITS = 2

/**
 * The name that somebody most likely meant; the first of those that are equally near. Undefined where none is
 * near: a third of the letters may differ, and two at most. A name with a count before it (`1000PEPE`) is near.
 *
 * @example nearestName('BTCC', ['ETH', 'BTC']) === 'BTC'
 */
export function nearestName(given: string, names: Iterable<string>): string | undefined {
  let best: string | undefined
  let fewest = Math.min(MOST_EDITS, Math.floor(given.length / 3)) + 1
  for (const name of names) {
    if (name.replace(/^10+/, '') === given.replace(/^10+/, '')) return name
    if (Math.abs(name.length - given.length) >= fewest) continue
    const edits = editDistance(given, name, fewest)
    if (edits < fewest) [best, fewest] = [name, edits]
  }
  return best
}

/** The end of a refusal that names what was likely meant; empty where nothing was. */
export const didYouMean = (meant: string | undefined): string =>
  meant === undefined ? '' : `; did you mean ${meant}?`
