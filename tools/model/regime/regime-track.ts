import type { Candle } from '../../../contracts/candle.ts'
import { REGIMES, type Regime } from '../../../contracts/regime.ts'
import type { Timeframe } from '../../../contracts/timeframes.ts'
import type { Direction } from '../../../services/engine/call-trigger.ts'
import { CELL, cell } from '../../../services/engine/cells.ts'
import { livelinessOf } from '../../../services/engine/forecast/range-model.ts'
import type { VerdictModel } from '../../../services/engine/model.ts'
import { SeriesPool } from '../../../services/engine/series-pool.ts'

/** Readings after every bar of a history, as the service has them. */
export interface RegimeTrack {
  /** Direction half of the regime. */
  readonly directions: readonly Direction[]
  /** Answer of the plain rule instead: the side of the larger DI while ADX14 is above 25. */
  readonly adxDirections: readonly Direction[]
  /** ATR14 in price; NaN before it is valid. */
  readonly ranges: readonly number[]
  readonly volatilityPercentiles: readonly number[]
  /** How far the price moves in the last 8 bars, over the last 350. */
  readonly liveliness: readonly number[]
  readonly words: readonly Regime[]
}

/** The usual threshold of the plain rule. */
const ADX_TREND = 25

const asDirection = (value: number): Direction => (value > 0 ? 1 : value < 0 ? -1 : 0)

/** Replays a history through the state that the service itself keeps of a series. */
export function regimeTrack(model: VerdictModel, timeframe: Timeframe, bars: readonly Candle[]): RegimeTrack {
  const pool = new SeriesPool(model)
  const slot = pool.open(timeframe)
  const base = pool.baseOf(slot)
  const directions: Direction[] = []
  const adxDirections: Direction[] = []
  const ranges: number[] = []
  const volatilityPercentiles: number[] = []
  const liveliness: number[] = []
  const words: Regime[] = []
  for (const bar of bars) {
    pool.push(slot, bar)
    const read = (offset: number): number => cell(pool.cells, base + offset)
    const isTrend = read(CELL.adx14) > ADX_TREND
    directions.push(asDirection(read(CELL.direction)))
    adxDirections.push(isTrend ? asDirection(read(CELL.plusDi14) - read(CELL.minusDi14)) : 0)
    ranges.push(read(CELL.atr14))
    volatilityPercentiles.push(read(CELL.volatilityPercentile))
    liveliness.push(livelinessOf(pool.cells, base))
    words.push(REGIMES[read(CELL.regimeIndex)] as Regime)
  }
  return { directions, adxDirections, ranges, volatilityPercentiles, liveliness, words }
}
