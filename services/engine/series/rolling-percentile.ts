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

/** The last values of a series, as levels: where does the newest one rank among them? Exact. */
export class RollingPercentile {
  readonly #capacity: number
  /** The levels in order of arrival, then sorted. */
  readonly #levels: Uint16Array
  #seen = 0

  constructor(capacity: number) {
    this.#capacity = capacity
    this.#levels = new Uint16Array(2 * capacity)
  }

  /** Values that the window holds. */
  get size(): number {
    return Math.min(this.#seen, this.#capacity)
  }

  /** @returns the share of the window, the value included, that lies below it: 0 up to, not including, 1 */
  push(value: number): number {
    const [levels, capacity] = [this.#levels, this.#capacity]
    const level = logLevel(value)
    const isFull = this.#seen >= capacity
    const count = isFull ? capacity : this.#seen
    const sorted = capacity
    const arrival = this.#seen % capacity
    const oldLevel = levels[arrival] ?? 0
    this.#seen += 1

    // The place of the new level and that of the leaving one, searched together. Sign bits instead of branches: each
    // comparison is a coin toss, which a processor would predict wrongly half the time.
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
    return (place - sorted) / (isFull ? capacity : count + 1)
  }
}
