import type { Candle } from '../../../contracts/candle.ts'
import type { FundingRate } from '../../../contracts/funding.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { type Timeframe, timeframeMs } from '../../../contracts/timeframes.ts'
import { WINDOW_BARS } from '../../../contracts/verdict.ts'
import { barrierFraction } from '../barrier.ts'
import { CELL, CELLS_PER_FEATURE, cell } from '../cells.ts'
import type { VerdictModel } from '../model.ts'
import { createRace, type RaceResult } from '../race.ts'
import { createSeriesPool } from '../series-pool.ts'

/** A decided race with what the model saw before it. */
export interface RaceSample {
  /** Close of the bar, Unix milliseconds. */
  readonly barClose: number
  /** Features in the model's order; NaN where one could not be measured. */
  readonly features: readonly number[]
  readonly won: 'up' | 'down'
}

/** The races of one series. */
export interface RaceSamples {
  readonly decided: readonly RaceSample[]
  /** Races in which neither barrier was reached, or both in the same bar. */
  readonly timeouts: number
  readonly undecidable: number
}

/** Replays a series and runs the race of every bar that would have a verdict and whose window is over. */
export function raceSamples(
  model: VerdictModel,
  timeframe: Timeframe,
  bars: readonly Candle[],
  funding: readonly FundingRate[],
): RaceSamples {
  const pool = createSeriesPool(model)
  const slot = pool.open(timeframe)
  const base = pool.baseOf(slot)
  const lengthMs = timeframeMs(timeframe)
  const windowBars = WINDOW_BARS[timeframe]
  const decided: RaceSample[] = []
  let timeouts = 0
  let undecidable = 0
  let settled = 0
  for (const [index, bar] of bars.entries()) {
    const barClose = bar.openTime + lengthMs
    for (let next = funding[settled]; next !== undefined && next.time <= barClose; next = funding[settled]) {
      pool.setFunding(slot, next)
      settled += 1
    }
    pool.push(slot, bar)
    if (index + 1 < LIMITS.warmUpBars) continue
    const deviation = cell(pool.cells, base + CELL.returnDeviation)
    const barrier = barrierFraction(deviation, windowBars)
    const race = createRace({ barClose, barMs: lengthMs, windowBars, barrier })
    let ended: RaceResult | undefined
    for (let next = index + 1; ended === undefined; next++) {
      const bar = bars[next]
      if (bar === undefined) break
      ended = race.take(bar)
    }
    const outcome = ended?.race
    if (outcome === 'timeout') timeouts += 1
    else if (outcome === 'both') undecidable += 1
    else if (outcome === 'up' || outcome === 'down') {
      const features = model.names.map((_, feature) =>
        cell(pool.cells, base + CELL.features + CELLS_PER_FEATURE * feature),
      )
      decided.push({ barClose, features, won: outcome })
    }
  }
  return { decided, timeouts, undecidable }
}
