/** One leg of a zigzag, from one turning point to the next. */
export interface ZigzagLeg {
  readonly direction: 1 | -1
  /** Index of the bar of the turning point it begins at, and of the one it ends at. */
  readonly from: number
  readonly to: number
}

/**
 * The turning points of a price path with hindsight: a turn is an extreme from which price moved away by the
 * threshold before going beyond it again. It knows the future, so it may judge but never be an input.
 *
 * @param highs,lows prices per bar
 * @param thresholds distance that makes a turn, per bar, in price; NaN where it is not known yet
 */
export function zigzag(
  highs: readonly number[],
  lows: readonly number[],
  thresholds: readonly number[],
): ZigzagLeg[] {
  const legs: ZigzagLeg[] = []
  let direction: 1 | -1 | 0 = 0
  let turn = 0
  let highest = 0
  let lowest = 0
  for (let index = 0; index < highs.length; index++) {
    const high = highs[index] ?? Number.NaN
    const low = lows[index] ?? Number.NaN
    const threshold = thresholds[index] ?? Number.NaN
    if (direction >= 0 && high >= (highs[highest] ?? 0)) highest = index
    if (direction <= 0 && low <= (lows[lowest] ?? 0)) lowest = index
    if (direction >= 0 && (highs[highest] ?? 0) - low >= threshold) {
      if (direction > 0) legs.push({ direction: 1, from: turn, to: highest })
      direction = -1
      turn = highest
      lowest = index
    } else if (direction <= 0 && high - (lows[lowest] ?? 0) >= threshold) {
      if (direction < 0) legs.push({ direction: -1, from: turn, to: lowest })
      direction = 1
      turn = lowest
      highest = index
    }
  }
  return legs
}
