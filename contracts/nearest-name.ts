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
    const edits = editsBetween(given, name)
    if (edits < fewest) [best, fewest] = [name, edits]
  }
  return best
}

/** Levenshtein distance. */
function editsBetween(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(change, (row[j] as number) + 1, (next[j - 1] as number) + 1))
    }
    row = next
  }
  return row[b.length] as number
}
