import { assert } from '../../contracts/assert.ts'
import type { Candle } from '../../contracts/candle.ts'
import type { FundingRate } from '../../contracts/funding.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { REGIMES } from '../../contracts/regime.ts'
import { TIMEFRAMES, type Timeframe, timeframeMs } from '../../contracts/timeframes.ts'
import { WINDOW_BARS } from '../../contracts/verdict.ts'
import { nextCall, nextDirection, nextVolatile, trendMeasure } from './call-trigger.ts'
import { CELL, CELLS_PER_FEATURE, cell, LOG_RING } from './cells.ts'
import { type SeriesRange, updateVolatility } from './forecast/range-model.ts'
import { updateRange } from './indicators/range-position.ts'
import { updateIndicators, updateVolumeMomentum } from './indicators/update-indicators.ts'
import { coinSlopeOf, type ScoringModel } from './model.ts'
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
export class SeriesPool {
  readonly #model: ScoringModel
  readonly #measures: ((cells: Float64Array, base: number) => number)[]
  readonly #featureCount: number
  readonly #stride: number
  #capacity = FIRST_CAPACITY
  #cells: Float64Array<ArrayBuffer>
  #levels: Uint16Array<ArrayBuffer>
  #slotsUsed = 0
  readonly #freeSlots: number[] = []
  /** Bytes of both slabs, per slot. */
  readonly bytesPerSlot: number

  constructor(model: ScoringModel) {
    this.#model = model
    this.#measures = this.#model.features.map((feature) => feature.measure)
    this.#featureCount = this.#measures.length
    this.#stride = CELL.features + CELLS_PER_FEATURE * this.#featureCount
    this.#cells = new Float64Array(this.#capacity * this.#stride)
    this.#levels = new Uint16Array(this.#capacity * LEVELS_PER_SERIES)
    this.bytesPerSlot =
      this.#stride * Float64Array.BYTES_PER_ELEMENT + LEVELS_PER_SERIES * Uint16Array.BYTES_PER_ELEMENT
  }

  #grow(): void {
    this.#capacity *= 2
    const grownCells = new Float64Array(this.#capacity * this.#stride)
    grownCells.set(this.#cells)
    this.#cells = grownCells
    const grownLevels = new Uint16Array(this.#capacity * LEVELS_PER_SERIES)
    grownLevels.set(this.#levels)
    this.#levels = grownLevels
  }

  #updateRegime(base: number, levelsAt: number, bars: number, barClose: number, isStill: boolean): void {
    const measure = isStill ? Number.NaN : trendMeasure(this.#cells, base)
    const direction = nextDirection(cell(this.#cells, base + CELL.direction), measure, this.#model.regime)

    let volatile = cell(this.#cells, base + CELL.volatile) === 1
    const atr14 = cell(this.#cells, base + CELL.atr14)
    if (!Number.isNaN(atr14)) {
      const ranked = cell(this.#cells, base + CELL.volatilityRanked) | 0
      const relativeRange = logLevel(atr14 / cell(this.#cells, base + CELL.close))
      const percentile = rankNewest(this.#levels, levelsAt, LIMITS.volatilityBars, ranked, relativeRange)
      this.#cells[base + CELL.volatilityRanked] = ranked + 1
      this.#cells[base + CELL.volatilityPercentile] = percentile
      volatile = !isStill && bars >= LIMITS.warmUpBars && nextVolatile(volatile, percentile)
    }

    const trendless = volatile ? VOLATILE : RANGING
    const trend = direction > 0 ? TRENDING_UP : direction < 0 ? TRENDING_DOWN : trendless
    const index = volatile && this.#model.regime.volatileFirst ? VOLATILE : trend
    if (bars === 1 || index !== cell(this.#cells, base + CELL.regimeIndex)) {
      this.#cells[base + CELL.regimeIndex] = index
      this.#cells[base + CELL.regimeSince] = barClose
    }
    this.#cells[base + CELL.trendMeasure] = measure
    this.#cells[base + CELL.direction] = direction
    this.#cells[base + CELL.volatile] = volatile ? 1 : 0
  }

  /** Averages of what was before say nothing of a market that stands still, and nothing else is there. */
  #withholdVerdict(base: number): void {
    let at = base + CELL.features
    for (let index = 0; index < this.#featureCount; index++) {
      this.#cells[at] = Number.NaN
      this.#cells[at + 1] = 0
      at += CELLS_PER_FEATURE
    }
    this.#cells[base + CELL.logOdds] = 0
    this.#cells[base + CELL.probability] = 0.5
    this.#cells[base + CELL.call] = 0
    this.#cells[base + CELL.strength] = 0
  }

  #updateVerdict(base: number, levelsAt: number, bars: number): void {
    const timeframe = cell(this.#cells, base + CELL.timeframeIndex)
    const first = timeframe * this.#featureCount
    let logOdds = cell(this.#cells, base + CELL.bias)
    const coinSlope = cell(this.#cells, base + CELL.coinSlope)
    let at = base + CELL.features
    for (let index = 0; index < this.#featureCount; index++) {
      const value = this.#measures[index]?.(this.#cells, base) ?? Number.NaN
      const contribution = contributionOf(
        value,
        cell(this.#model.inverseScales, first + index),
        coinSlope * cell(this.#model.weights, first + index),
        this.#model.clip,
      )
      this.#cells[at] = value
      this.#cells[at + 1] = contribution
      at += CELLS_PER_FEATURE
      logOdds += contribution
    }
    const probability = probabilityOf(logOdds)
    this.#cells[base + CELL.logOdds] = logOdds
    this.#cells[base + CELL.probability] = probability
    if (bars < SETTLED_BARS) return
    // Without skill there is nothing to call and nothing to rank.
    if (this.#model.speaks[timeframe] !== true) return
    this.#cells[base + CELL.call] = nextCall(cell(this.#cells, base + CELL.call), probability)
    const ranked = cell(this.#cells, base + CELL.strengthRanked) | 0
    const level = logLevel(Math.abs(logOdds))
    const rank = rankNewest(this.#levels, levelsAt + STRENGTH_LEVELS_AT, STRENGTH_BARS, ranked, level)
    this.#cells[base + CELL.strength] = rank
    this.#cells[base + CELL.strengthRanked] = ranked + 1
  }

  /** The slab of cells. Growth replaces it, so fetch it anew after every `open`. */
  get cells(): Float64Array {
    return this.#cells
  }

  /** Slots there is room for without growing. */
  get capacity(): number {
    return this.#capacity
  }

  open(timeframe: Timeframe, coin = ''): number {
    const slot = this.#freeSlots.pop() ?? this.#slotsUsed++
    if (slot >= this.#capacity) this.#grow()
    assert(slot < this.#capacity, 'a slot lies within the slab', slot)
    const base = slot * this.#stride
    this.#cells.fill(0, base, base + this.#stride)
    const skill = this.#model.timeframes[timeframe]
    this.#cells[base + CELL.timeframeMs] = timeframeMs(timeframe)
    this.#cells[base + CELL.windowBars] = WINDOW_BARS[timeframe]
    this.#cells[base + CELL.timeframeIndex] = TIMEFRAMES.indexOf(timeframe)
    this.#cells[base + CELL.bias] = skill.skill ? skill.offset : 0
    this.#cells[base + CELL.coinSlope] = coinSlopeOf(skill, coin)
    return slot
  }

  close(slot: number): void {
    this.#freeSlots.push(slot)
  }

  /** First cell of a slot. */
  readonly baseOf = (slot: number): number => slot * this.#stride

  /** Funding as it stands for the bars pushed from now on. */
  setFunding(slot: number, funding: FundingRate): void {
    const base = slot * this.#stride
    this.#cells[base + CELL.fundingTime] = funding.time
    this.#cells[base + CELL.fundingRate] = funding.rate
    this.#cells[base + CELL.fundingIntervalHours] = funding.intervalHours
  }

  /** Advances a series by one closed bar: indicators, regime and the numeric verdict. */
  push(slot: number, bar: Candle): void {
    const base = slot * this.#stride
    const levelsAt = slot * LEVELS_PER_SERIES
    const bars = (cell(this.#cells, base + CELL.bars) + 1) | 0
    this.#cells[base + CELL.bars] = bars
    if (bars === 1) this.#cells[base + CELL.anchorBar] = bar.openTime
    this.#cells[base + CELL.openTime] = bar.openTime
    updateStillness(this.#cells, base, bars, bar.close, bar.volume)
    updateIndicators(this.#cells, base, bars, bar)
    updateVolumeMomentum(this.#cells, base, bars, bar.volume)
    updateRange(this.#cells, base, bars, bar)
    updateVolatility(
      this.#cells,
      base,
      bars,
      bar,
      this.#model.ranges[cell(this.#cells, base + CELL.timeframeIndex)] as SeriesRange,
    )
    const isStill = stillnessOf(this.#cells, base) !== undefined
    this.#updateRegime(
      base,
      levelsAt,
      bars,
      bar.openTime + cell(this.#cells, base + CELL.timeframeMs),
      isStill,
    )
    if (isStill) this.#withholdVerdict(base)
    else this.#updateVerdict(base, levelsAt, bars)
  }
}
