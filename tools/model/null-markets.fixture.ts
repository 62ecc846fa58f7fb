import { HOUR_MS } from '../../contracts/timeframes.ts'
import { seededRandom } from '../../testing/random-walk.ts'
import { barsOf, type Move, mirrored, movesOf } from './mirrored-market.ts'
import { plantedMarket } from './planted-market.fixture.ts'
import type { SeriesHistory } from './series-history.ts'

const marketOf = (coin: string, moves: readonly Move[]): SeriesHistory => ({
  series: { exchange: 'SIM', coin, timeframe: '1h' },
  isSpot: false,
  bars: barsOf(
    moves.map((move, index) => ({ ...move, openTime: index * HOUR_MS })),
    100,
  ),
  funding: [],
})

function shuffled<Value>(values: readonly Value[], random: () => number): Value[] {
  const all = [...values]
  for (let last = all.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1))
    ;[all[last], all[other]] = [all[other] as Value, all[last] as Value]
  }
  return all
}

/** Twelve steps of a Gaussian walk, as one bar. */
function gaussianMove(random: () => number): Move {
  let [at, high, low] = [0, 0, 0]
  for (let step = 0; step < 12; step++) {
    at += 0.002 * Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
    high = Math.max(high, at)
    low = Math.min(low, at)
  }
  return { openTime: 0, open: 0, high, low, close: at, volume: 1_000 * (0.5 + random()) }
}

export const NULL_MARKETS = ['flipped', 'shuffled', 'gaussian'] as const
export type NullMarket = (typeof NULL_MARKETS)[number]

/**
 * Two coins in which nothing can be foreseen. `flipped`: a market with an edge, each bar mirrored about the close before
 * it by a coin that both markets share, so that liveliness and common moves stay and direction goes. `shuffled`: those
 * bars in another order, for bars that are only put in another order keep the drift of the whole. `gaussian`: a walk.
 */
export function nullMarket(kind: NullMarket, seed: number, length: number): SeriesHistory[] {
  const random = seededRandom(1_000 + seed)
  const sides = Array.from({ length }, () => random() < 0.5)
  const places = shuffled(Array.from(sides.keys()), random)
  return ['BTC', 'ETH'].map((coin, index) => {
    if (kind === 'gaussian')
      return marketOf(
        coin,
        Array.from({ length }, () => gaussianMove(random)),
      )
    const flipped = movesOf(plantedMarket(2 * seed + index, length, 1, coin).bars).map((move, at) =>
      sides[at] === true ? mirrored(move) : move,
    )
    return marketOf(coin, kind === 'flipped' ? flipped : places.map((at) => flipped[at] as Move))
  })
}
