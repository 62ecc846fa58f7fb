import type { Candle } from '../../contracts/candle.ts'
import { seededRandom } from '../../testing/random-walk.ts'

/** A bar as logs of its prices over the close before it. */
export type Move = Pick<Candle, 'openTime' | 'open' | 'high' | 'low' | 'close' | 'volume'>

export const movesOf = (bars: readonly Candle[]): Move[] =>
  bars.map((bar, index) => {
    const before = bars[index - 1]?.close ?? bar.open
    const log = (price: number): number => Math.log(price / before)
    return { ...bar, open: log(bar.open), high: log(bar.high), low: log(bar.low), close: log(bar.close) }
  })

/** The bars of moves, from a price on. */
export function barsOf(moves: readonly Move[], first: number): Candle[] {
  let before = first
  return moves.map((move) => {
    const price = (log: number): number => before * Math.exp(log)
    const bar = {
      ...move,
      open: price(move.open),
      high: price(move.high),
      low: price(move.low),
      close: price(move.close),
    }
    before = bar.close
    return bar
  })
}

export const mirrored = (move: Move): Move => ({
  ...move,
  open: -move.open,
  high: -move.low,
  low: -move.high,
  close: -move.close,
})

/** The same bars with the direction of each decided by a coin: liveliness and its clusters stay, trends go. */
export function directionByCoin(bars: readonly Candle[], seed: number): Candle[] {
  const random = seededRandom(seed)
  const moves = movesOf(bars).map((move) => (random() < 0.5 ? mirrored(move) : move))
  return barsOf(moves, bars[0]?.open ?? 1)
}
