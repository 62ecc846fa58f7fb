const single = new Float32Array(1)
const bits = new Uint32Array(single.buffer)

/** Mantissa bits that are kept: neighbouring levels differ by at most 2^−11, about 0.05 %. */
const MANTISSA_BITS = 11
const DROPPED_BITS = 23 - MANTISSA_BITS
/** Values below 2^−27 share level 0; the 32 octaves above fill 16 bits. */
const LOWEST_EXPONENT = -27
const OFFSET = (127 + LOWEST_EXPONENT) << MANTISSA_BITS
const HIGHEST_LEVEL = 65_535

/**
 * A number from 0 as one of 65,536 levels that rise with it, evenly spaced in relative terms: the leading
 * bits of its binary form. Made of bits instead of a logarithm, so that every machine agrees.
 *
 * @param value from 0; all below 2^−27 read 0, all from 32 read 65,535
 */
export function logLevel(value: number): number {
  single[0] = value
  const level = ((bits[0] ?? 0) >>> DROPPED_BITS) - OFFSET
  return level < 0 ? 0 : level > HIGHEST_LEVEL ? HIGHEST_LEVEL : level
}

/**
 * Adds a level to a window of the last `capacity` levels and answers the share of the window (the new level
 * included) that lies below it. Exact, in one binary search and one block move.
 *
 * The window occupies `2 × capacity` elements from `at`: the levels in order of arrival, then sorted.
 *
 * @param seen levels added before this one, since the window was empty
 * @returns 0 up to, not including, 1
 */
export function rankNewest(
  levels: Uint16Array,
  at: number,
  capacity: number,
  seen: number,
  level: number,
): number {
  const isFull = seen >= capacity
  const count = isFull ? capacity : seen
  const sorted = at + capacity
  const arrival = at + (isFull ? (seen | 0) % capacity : seen)
  const oldLevel = levels[arrival] ?? 0

  // The place of the new level and that of the leaving one, searched side by side. Sign bits instead of
  // branches: each comparison is a coin toss, which a processor would predict wrongly half the time, and
  // waiting for that would be most of the cost of a verdict.
  let place = sorted
  let oldPlace = sorted
  let length = count
  while (length > 0) {
    const half = (length + 1) >>> 1
    place += half & -(((levels[place + half - 1] ?? 0) - level) >>> 31)
    oldPlace += half & -(((levels[oldPlace + half - 1] ?? 0) - oldLevel) >>> 31)
    length -= half
  }

  if (!isFull) {
    levels.copyWithin(place + 1, place, sorted + count)
  } else if (place > oldPlace) {
    place -= 1
    levels.copyWithin(oldPlace, oldPlace + 1, place + 1)
  } else if (place < oldPlace) {
    levels.copyWithin(place + 1, place, oldPlace)
  }
  levels[place] = level
  levels[arrival] = level
  return (place - sorted) / (isFull ? capacity : seen + 1)
}
