/** Draws of one seed: the same seed, the same draws. */
export interface Random {
  /** Uniform in [0, 1). */
  readonly next: () => number
  /** A whole number from 0 to below a count. */
  below(count: number): number
  between(least: number, most: number): number
  chance(share: number): boolean
  pick<Item>(items: readonly Item[]): Item
  bytes(count: number): Uint8Array
  /** Draws of their own, which do not move these. */
  fork(name: string): Random
}

/** Mulberry32: 32 bits of state, and good enough to shuffle with. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (count: number): number => Math.floor(next() * count)
  return {
    next,
    below,
    between: (least, most) => least + next() * (most - least),
    chance: (share) => next() < share,
    pick: (items) => items[below(items.length)] as (typeof items)[number],
    bytes: (count) => Uint8Array.from({ length: count }, () => below(256)),
    fork: (name) => createRandom(Buffer.from(name).reduce((hash, byte) => Math.imul(hash, 31) + byte, seed)),
  }
}
