import type { Candle } from '../../../contracts/candle.ts'
import type { Timeframe } from '../../../contracts/timeframes.ts'
import type { VerdictModel } from '../../../services/engine/model.ts'
import { directionByCoin } from '../mirrored-market.ts'
import { measureRegime } from './measure-regime.ts'

/** Any seed would do. */
const SEED = 1

/** The measures of a history, and of the same bars with their direction drawn by a coin: what a filter finds in chance. */
export const regimeColumns = (
  model: VerdictModel,
  title: string,
  timeframe: Timeframe,
  bars: readonly Candle[],
) => [
  { title, measures: measureRegime(model, timeframe, bars) },
  { title: 'by a coin', measures: measureRegime(model, timeframe, directionByCoin(bars, SEED)) },
]
