import type { Candle } from '../../contracts/candle.ts'
import type { FundingRate } from '../../contracts/funding.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { REGIMES } from '../../contracts/regime.ts'
import { TIMEFRAMES, type Timeframe, timeframeMs } from '../../contracts/timeframes.ts'
import { WINDOW_BARS } from '../../contracts/verdict.ts'
import { nextCall, nextDirection, nextVolatile, trendMeasure } from './call-trigger.ts'
import { CELL, CELLS_PER_FEATURE, cell, LOG_RING } from './cells.ts'
import {
  type RangeModel,
  releasedRanges,
  type SeriesRange,
  updateVolatility,
} from './forecast/range-model.ts'
import { updateRange } from './indicators/range-position.ts'
import { updateIndicators, updateVolumeMomentum } from './indicators/update-indicators.ts'
import type { ScoringModel } from './model.ts'
import { contributionOf, probabilityOf } from './reasoning.ts'
import { logLevel, rankNewest } from './rolling-rank.ts'
import { stillnessOf, updateStillness } from './stillness.ts'

/** Bars among which a verdict's strength is ranked. */
export const STRENGTH_BARS = 500
/** From this bar on every feature can be measured, so log-odds compare with one another. */
const SETTLED_BARS = LOG_RING

/** 16-bit levels per series: two windows, each in order of arrival and sorted. */
const STRENGTH_LEVELS_AT = 2 * LIMITS.volatilityBars
const LEVELS_PER_SERIES = STRENGTH_LEVELS_AT + 2 * STRENGTH_BARS

const FIRST_CAPACITY = 64

const TRENDING_UP = REGIMES.indexOf('TRENDING_UP')
const TRENDING_DOWN = REGIMES.indexOf('TRENDING_DOWN')
const RANGING = REGIMES.indexOf('RANGING')
const VOLATILE = REGIMES.indexOf('VOLATILE')

/**
 * The numbers of many series in two shared slabs: advancing a series touches one run of each and allocates
 * nothing. Slots are small integers; a closed slot is given to the next series that opens.
 */
export type SeriesPool = ReturnType<typeof createSeriesPool>

export function createSeriesPool(model: ScoringModel, ranges: RangeModel = releasedRanges()) {
  const { inverseScales, weights, clip } = model
  const measures = model.features.map((feature) => feature.measure)
  const featureCount = measures.length
  const stride = CELL.features + CELLS_PER_FEATURE * featureCount
  let capacity = FIRST_CAPACITY
  let cells = new Float64Array(capacity * stride)
  let levels = new Uint16Array(capacity * LEVELS_PER_SERIES)
  let slotsUsed = 0
  const freeSlots: number[] = []

  function grow(): void {
    capacity *= 2
    const grownCells = new Float64Array(capacity * stride)
    grownCells.set(cells)
    cells = grownCells
    const grownLevels = new Uint16Array(capacity * LEVELS_PER_SERIES)
    grownLevels.set(levels)
    levels = grownLevels
  }

  function updateRegime(
    base: number,
    levelsAt: number,
    bars: number,
    barClose: number,
    isStill: boolean,
  ): void {
    const measure = isStill ? Number.NaN : trendMeasure(cells, base)
    const direction = nextDirection(cell(cells, base + CELL.direction), measure)

    let volatile = cell(cells, base + CELL.volatile) === 1
    const atr14 = cell(cells, base + CELL.atr14)
    if (!Number.isNaN(atr14)) {
      const ranked = cell(cells, base + CELL.volatilityRanked) | 0
      const relativeRange = logLevel(atr14 / cell(cells, base + CELL.close))
      const percentile = rankNewest(levels, levelsAt, LIMITS.volatilityBars, ranked, relativeRange)
      cells[base + CELL.volatilityRanked] = ranked + 1
      cells[base + CELL.volatilityPercentile] = percentile
      volatile = !isStill && bars >= LIMITS.warmUpBars && nextVolatile(volatile, percentile)
    }

    const trendless = volatile ? VOLATILE : RANGING
    const index = direction > 0 ? TRENDING_UP : direction < 0 ? TRENDING_DOWN : trendless
    if (bars === 1 || index !== cell(cells, base + CELL.regimeIndex)) {
      cells[base + CELL.regimeIndex] = index
      cells[base + CELL.regimeSince] = barClose
    }
    cells[base + CELL.trendMeasure] = measure
    cells[base + CELL.direction] = direction
    cells[base + CELL.volatile] = volatile ? 1 : 0
  }

  /** Averages of what was before say nothing of a market that stands still, and nothing else is there. */
  function withholdVerdict(base: number): void {
    let at = base + CELL.features
    for (let index = 0; index < featureCount; index++) {
      cells[at] = Number.NaN
      cells[at + 1] = 0
      at += CELLS_PER_FEATURE
    }
    cells[base + CELL.logOdds] = 0
    cells[base + CELL.probability] = 0.5
    cells[base + CELL.call] = 0
    cells[base + CELL.strength] = 0
  }

  function updateVerdict(base: number, levelsAt: number, bars: number): void {
    const timeframe = cell(cells, base + CELL.timeframeIndex)
    const first = timeframe * featureCount
    let logOdds = cell(cells, base + CELL.bias)
    let at = base + CELL.features
    for (let index = 0; index < featureCount; index++) {
      const value = measures[index]?.(cells, base) ?? Number.NaN
      const contribution = contributionOf(
        value,
        cell(inverseScales, first + index),
        cell(weights, first + index),
        clip,
      )
      cells[at] = value
      cells[at + 1] = contribution
      at += CELLS_PER_FEATURE
      logOdds += contribution
    }
    const probability = probabilityOf(logOdds)
    cells[base + CELL.logOdds] = logOdds
    cells[base + CELL.probability] = probability
    if (bars < SETTLED_BARS) return
    // Without skill there is nothing to call and nothing to rank.
    if (model.speaks[timeframe] !== true) return
    cells[base + CELL.call] = nextCall(cell(cells, base + CELL.call), probability)
    const ranked = cell(cells, base + CELL.strengthRanked) | 0
    const level = logLevel(Math.abs(logOdds))
    const rank = rankNewest(levels, levelsAt + STRENGTH_LEVELS_AT, STRENGTH_BARS, ranked, level)
    cells[base + CELL.strength] = rank
    cells[base + CELL.strengthRanked] = ranked + 1
  }

  return {
    /** The slab of cells. Growth replaces it, so fetch it anew after every `open`. */
    get cells(): Float64Array {
      return cells
    },
    /** Slots there is room for without growing. */
    get capacity(): number {
      return capacity
    },
    /** Bytes of both slabs, per slot. */
    bytesPerSlot: stride * Float64Array.BYTES_PER_ELEMENT + LEVELS_PER_SERIES * Uint16Array.BYTES_PER_ELEMENT,

    open(timeframe: Timeframe): number {
      const slot = freeSlots.pop() ?? slotsUsed++
      if (slot >= capacity) grow()
      const base = slot * stride
      cells.fill(0, base, base + stride)
      const skill = model.timeframes[timeframe]
      cells[base + CELL.timeframeMs] = timeframeMs(timeframe)
      cells[base + CELL.windowBars] = WINDOW_BARS[timeframe]
      cells[base + CELL.timeframeIndex] = TIMEFRAMES.indexOf(timeframe)
      cells[base + CELL.bias] = skill.skill ? skill.offset : 0
      return slot
    },

    close(slot: number): void {
      freeSlots.push(slot)
    },

    /** First cell of a slot. */
    baseOf: (slot: number): number => slot * stride,

    /** Funding as it stands for the bars pushed from now on. */
    setFunding(slot: number, funding: FundingRate): void {
      const base = slot * stride
      cells[base + CELL.fundingTime] = funding.time
      cells[base + CELL.fundingRate] = funding.rate
      cells[base + CELL.fundingIntervalHours] = funding.intervalHours
    },

    /** Advances a series by one closed bar: indicators, regime and the numeric verdict. */
    push(slot: number, bar: Candle): void {
      const base = slot * stride
      const levelsAt = slot * LEVELS_PER_SERIES
      const bars = (cell(cells, base + CELL.bars) + 1) | 0
      cells[base + CELL.bars] = bars
      if (bars === 1) cells[base + CELL.anchorBar] = bar.openTime
      cells[base + CELL.openTime] = bar.openTime
      updateStillness(cells, base, bars, bar.close, bar.volume)
      updateIndicators(cells, base, bars, bar)
      updateVolumeMomentum(cells, base, bars, bar.volume)
      updateRange(cells, base, bars, bar)
      updateVolatility(cells, base, bars, bar, ranges[cell(cells, base + CELL.timeframeIndex)] as SeriesRange)
      const isStill = stillnessOf(cells, base) !== undefined
      updateRegime(base, levelsAt, bars, bar.openTime + cell(cells, base + CELL.timeframeMs), isStill)
      if (isStill) withholdVerdict(base)
      else updateVerdict(base, levelsAt, bars)
    },
  }
}
