import type { Candle } from '../../contracts/candle.ts'
import { HOUR_MS } from '../../contracts/timeframes.ts'
import { seededRandom } from '../../testing/random-walk.ts'
import type { SeriesHistory } from './series-history.ts'

/** How long a made-up market keeps its direction, in bars. */
const LEG_BARS = 40

/**
 * Hourly bars of a made-up market. With an edge it drifts one way for 40 bars and then may turn, so that who
 * sees the trend knows a little; without one it is a random walk.
 *
 * @param edge drift per bar, in standard deviations of a bar
 */
export function plantedMarket(seed: number, length: number, edge: number, coin = 'BTC'): SeriesHistory {
  const random = seededRandom(seed)
  let price = 100
  let direction = 1
  const bars = Array.from({ length }, (_, index): Candle => {
    if (index % LEG_BARS === 0) direction = random() < 0.5 ? 1 : -1
    const open = price
    // Twelve steps within the bar, so that highs and lows are those of a walk.
    const steps = Array.from({ length: 12 }, () => 0.006 * (random() - 0.5) + (0.006 * edge * direction) / 12)
    let high = open
    let low = open
    for (const step of steps) {
      price *= 1 + step
      high = Math.max(high, price)
      low = Math.min(low, price)
    }
    return { openTime: index * HOUR_MS, open, high, low, close: price, volume: 1_000 * (0.5 + random()) }
  })
  return { series: { exchange: 'SIM', coin, timeframe: '1h' }, isSpot: false, bars, funding: [] }
}
