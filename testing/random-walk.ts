import type { Candle } from '../contracts/domain/candle.ts'
import { HOUR_MS } from '../contracts/domain/timeframes.ts'

/** Seeded numbers from 0 up to, not including, 1 (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/**
 * Hourly bars of a random walk, for tests and benchmarks: the same seed gives the same bars.
 *
 * @example randomWalk(1, 500).length === 500
 */
export function randomWalk(seed: number, length: number): Candle[] {
  const random = seededRandom(seed)
  let price = 100
  return Array.from({ length }, (_, index) => {
    const open = price
    const close = open * (1 + 0.02 * (random() - 0.5))
    price = close
    const high = Math.max(open, close) * (1 + 0.005 * random())
    const low = Math.min(open, close) * (1 - 0.005 * random())
    return { openTime: index * HOUR_MS, open, high, low, close, volume: 1_000 * random() }
  })
}
