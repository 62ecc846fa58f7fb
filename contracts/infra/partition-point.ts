/**
 * How many places of an ordered list come before a point, by bisection: those before it stand in front of all others.
 *
 * @example partitionPoint(4, (place) => [1, 2, 5, 7][place] < 5) === 2
 */
export function partitionPoint(length: number, isBefore: (place: number) => boolean): number {
  let [low, high] = [0, length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (isBefore(middle)) low = middle + 1
    else high = middle
  }
  return low
}
