/** Choices that are the same for the same seed, on every machine. */
export interface SeededRandom {
  /** Uniform in [0, 1). */
  next(): number
  /** A whole number from 0 to below `end`. */
  below(end: number): number
  pick<Item>(items: readonly Item[]): Item
  /** True once in `times`. */
  once(times: number): boolean
  bytes(count: number): Buffer
}

/** @example createSeededRandom(8402).below(6) */
export function createSeededRandom(seed: number): SeededRandom {
  let state = seed >>> 0
  // A linear congruence of full period, with its high bits mixed down; chance, not secrecy.
  const next = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    const mixed = Math.imul(state ^ (state >>> 15), 0x2c_1b_3c_6d)
    return ((mixed ^ (mixed >>> 13)) >>> 0) / 2 ** 32
  }
  const below = (end: number): number => Math.floor(next() * end)
  return {
    next,
    below,
    pick(items) {
      const item = items[below(items.length)]
      if (item === undefined && items.length === 0) throw new RangeError('nothing to pick from')
      return item as (typeof items)[number]
    },
    once: (times) => below(times) === 0,
    bytes: (count) => Buffer.from(Array.from({ length: count }, () => below(256))),
  }
}
