import type { Candle } from '../../contracts/candle.ts'
import type { Coin } from '../../contracts/series.ts'
import { HOUR_MS, TIMEFRAMES, type Timeframe, timeframeMs } from '../../contracts/timeframes.ts'
import type { RangeModel, SeriesRange } from '../../services/engine/forecast/range-model.ts'
import { loadModel } from '../../services/engine/model.ts'
import { blockOf } from '../../services/engine/scoring/call-columns.ts'
import { type BlockMean, blockMean } from '../../services/engine/scoring/intervals.ts'
import { scoreCalls } from '../../services/engine/scoring/score-calls.ts'
import { createPricePath, type SimulatedRegime } from '../../services/market/simulated/price-path.ts'
import { createSimulatedBars } from '../../services/market/simulated/simulated-bars.ts'
import { DEFAULT_SIMULATED_COINS, simulatedCoin } from '../../services/market/simulated/simulated-coins.ts'
import { rangeSamples } from './ranges/range-samples.ts'
import type { SeriesHistory } from './series-history.ts'
import { seriesSamples } from './series-samples.ts'

/** Any hour would do. */
const FIRST_HOUR = 480_000

const ROW = 6

type Growing = { -readonly [Name in keyof Candle]: Candle[Name] }

/** The bars and the funding of a coin of the simulated market, drawn as a feed draws them. */
export function simulatedHistory(
  seed: string,
  coin: Coin,
  timeframe: Timeframe,
  hours: number,
): SeriesHistory {
  const drawn = createSimulatedBars(seed, coin)
  const barMs = timeframeMs(timeframe)
  const bars: Growing[] = []
  const funding = []
  for (let hour = FIRST_HOUR; hour < FIRST_HOUR + hours; hour++) {
    const settled = drawn.funding(hour)
    if (settled !== undefined) funding.push(settled)
    const rows = barMs < HOUR_MS ? drawn.minutes(hour) : drawn.hour(hour)
    for (let at = 0; at < rows.length; at += ROW) {
      const [openTime = 0, open = 0, high = 0, low = 0, close = 0, volume = 0] = rows.subarray(at, at + ROW)
      const bar = bars.at(-1)
      if (bar === undefined || openTime % barMs === 0) {
        bars.push({ openTime, open, high, low, close, volume })
        continue
      }
      bar.high = Math.max(bar.high, high)
      bar.low = Math.min(bar.low, low)
      bar.close = close
      bar.volume += volume
    }
  }
  return { series: { exchange: 'SIM', coin, timeframe }, isSpot: false, bars, funding }
}

/** Whether windows ended within p10 and p90, and in which block of time they lie. */
interface Held {
  readonly values: number[]
  readonly blocks: number[]
}

function countHeld(
  held: Map<SimulatedRegime, Held>,
  history: SeriesHistory,
  ranges: RangeModel,
  regimeAt: (hour: number) => SimulatedRegime,
): void {
  const { barClose, measures, season, move } = rangeSamples(ranges, history)
  const { weights, intercept, outer } = ranges[TIMEFRAMES.indexOf(history.series.timeframe)] as SeriesRange
  for (let place = 0; place < barClose.length; place++) {
    let logVariance = intercept + (season[place] ?? 0)
    for (const [index, weight] of weights.entries())
      logVariance += weight * (measures[place * weights.length + index] ?? 0)
    const at = barClose[place] ?? 0
    const regime = regimeAt(Math.floor((at - 1) / HOUR_MS))
    const { values, blocks } = held.get(regime) ?? { values: [], blocks: [] }
    values.push((move[place] ?? 0) <= outer * Math.exp(logVariance / 2) ? 1 : 0)
    blocks.push(blockOf(history.series.timeframe, at))
    held.set(regime, { values, blocks })
  }
}

/**
 * Measures a simulated market: the share of windows that end within their expected range, by the regime that it was
 * drawn from, and what the calls of the model of the release are worth.
 *
 * @param seed as the first event of a log has it
 * @param hours of market time; each coin warms up in the first of them
 */
export function studySimulatedMarket(
  seed: string,
  timeframe: Timeframe,
  hours: number,
  coins: readonly Coin[] = DEFAULT_SIMULATED_COINS,
) {
  const model = loadModel()
  const held = new Map<SimulatedRegime, Held>()
  const samples = coins.map((coin) => {
    const history = simulatedHistory(seed, coin, timeframe, hours)
    countHeld(held, history, model.ranges, createPricePath(seed, simulatedCoin(coin)).regimeAt)
    return seriesSamples(model, history)
  })
  const { auc, everyCall } = scoreCalls(samples)
  const coverage = new Map(
    [...held].map(([regime, { values, blocks }]) => [regime, blockMean(values, blocks) as BlockMean]),
  )
  return { coverage, auc, calls: everyCall }
}
