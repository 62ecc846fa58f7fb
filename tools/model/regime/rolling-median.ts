/** Index of the first element of an ascending list that is not below a value. */
function placeOf(ascending: readonly number[], value: number): number {
  let from = 0
  let to = ascending.length
  while (from < to) {
    const middle = (from + to) >>> 1
    if ((ascending[middle] ?? 0) < value) from = middle + 1
    else to = middle
  }
  return from
}

/**
 * The median of each value and those before it, at most `window` of them; of an even number the upper one.
 *
 * @example rollingMedian([5, 1, 3, 9], 3) // [5, 5, 3, 3]
 */
export function rollingMedian(values: readonly number[], window: number): number[] {
  const ascending: number[] = []
  return values.map((value, index) => {
    const leaving = values[index - window]
    if (leaving !== undefined) ascending.splice(placeOf(ascending, leaving), 1)
    ascending.splice(placeOf(ascending, value), 0, value)
    return ascending[ascending.length >> 1] ?? Number.NaN
  })
}
