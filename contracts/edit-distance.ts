/**
 * How many letters one word is away from another: left out, put in, changed, or swapped with their neighbour
 * (Damerau-Levenshtein, optimal string alignment).
 *
 * @param most the result for larger distances is `most + 1`
 * @example editDistance('signiture', 'signature', 2) === 1
 */
export function editDistance(a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) > most) return most + 1
  let before: number[] = []
  let above = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row++) {
    const current = [row]
    for (let column = 1; column <= b.length; column++) {
      const isSame = a[row - 1] === b[column - 1]
      let least = Math.min(
        (above[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (above[column - 1] ?? 0) + (isSame ? 0 : 1),
      )
      const isSwapped = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      if (row > 1 && column > 1 && isSwapped) least = Math.min(least, (before[column - 2] ?? 0) + 1)
      current.push(least)
    }
    if (Math.min(...current) > most) return most + 1
    before = above
    above = current
  }
  return Math.min(above[b.length] ?? 0, most + 1)
}
