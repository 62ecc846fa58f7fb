import type { Outcome, RaceOutcome } from '../../contracts/domain/outcome.ts'
import { seriesName } from '../../contracts/domain/series.ts'
import { type Timeframe, timeframeMs } from '../../contracts/domain/timeframes.ts'
import { type Call, WINDOW_BARS } from '../../contracts/domain/verdict.ts'
import type { JsonObject } from '../../contracts/infra/json.ts'
import type { Projection, Rows } from '../projection.ts'
import { type CallTally, countCall, NO_CALLS, netReturn } from './call-tally.ts'
import { countRange, isScored, NO_RANGES, type RangeTally } from './range-tally.ts'

/** Returns in different blocks of time count as independent; a block is this many windows long. */
const WINDOWS_PER_BLOCK = 50

/** Returns that fell into one block of time. */
interface Block extends JsonObject {
  readonly n: number
  readonly sum: number
}

/**
 * The sums from which the spread of block sums is computed for any mean: over all blocks, their number and the sums of
 * n², n·S and S².
 */
interface BlockSums extends JsonObject {
  readonly blocks: number
  readonly nn: number
  readonly ns: number
  readonly ss: number
}

const NO_BLOCK: Block = { n: 0, sum: 0 }
const NO_BLOCKS: BlockSums = { blocks: 0, nn: 0, ns: 0, ss: 0 }

/** The number of the block that a bar closes in. */
const blockOf = (timeframe: Timeframe, barClose: number): number =>
  Math.floor(barClose / (WINDOWS_PER_BLOCK * WINDOW_BARS[timeframe] * timeframeMs(timeframe)))

const addToBlock = (block: Block, value: number): Block => ({ n: block.n + 1, sum: block.sum + value })

/** The sums after one of the blocks became another. */
const replaceBlock = (sums: BlockSums, before: Block, after: Block): BlockSums => ({
  blocks: sums.blocks + (before.n === 0 ? 1 : 0),
  nn: sums.nn + after.n ** 2 - before.n ** 2,
  ns: sums.ns + after.n * after.sum - before.n * before.sum,
  ss: sums.ss + after.sum ** 2 - before.sum ** 2,
})

/** Sum of squared errors of forecasts, over the races that one barrier won. */
export interface BrierSum extends JsonObject {
  readonly races: number
  readonly squares: number
}

/** Forecasts of the likelier side within one percent of one another; races that one barrier won. */
export interface ReliabilitySum extends JsonObject {
  readonly races: number
  readonly wins: number
  readonly said: number
  /** Races of each series whose windows do not overlap: as many as are independent. */
  readonly apart: number
}

/** All that was counted of a model, for one series or pooled over all series of a timeframe. */
export interface TrackRecord extends JsonObject {
  readonly modelVersion: string
  readonly series: string | null
  readonly timeframe: Timeframe
  readonly verdicts: number
  /** Earliest and latest bar close, Unix milliseconds; null where no verdict counts. */
  readonly from: number | null
  readonly to: number | null
  readonly calls: Readonly<Record<Call, number>>
  /** How the races of all verdicts ended, and those of BUY and SELL. */
  readonly races: Readonly<Record<RaceOutcome, number>>
  readonly spokenRaces: Readonly<Record<RaceOutcome, number>>
  readonly brier: BrierSum
  readonly brierSpoken: BrierSum
  /** By percent of the likelier side: 50, 51, … 59, and 60 or more. */
  readonly reliability: readonly ReliabilitySum[]
  /** Every BUY and SELL; windows overlap. */
  readonly spoken: CallTally
  /** BUY and SELL calls of each series whose windows do not overlap: the first, then the first one after its window. */
  readonly apart: CallTally
  /** Net returns of `apart` by blocks of time. */
  readonly blocks: BlockSums
  /** How far the price was to go: every forecast, HOLDs too; and how many of them have windows that do not overlap. */
  readonly ranges: RangeTally
  readonly rangesApart: number
  /** Series only: from when the next call, race of a percent, and range is apart, and the block that is being filled. */
  readonly freeFrom: number
  readonly reliabilityFreeFrom: readonly number[]
  readonly rangesFreeFrom: number
  readonly block: Block & { readonly index: number }
  /** Verdicts that were recorded after the end of their window; part of no other figure. */
  readonly recordedLate: Readonly<Record<Call, number>>
  /** Bars without a verdict in front of one of this model. */
  readonly barsMissed: number
}

const RELIABILITY_BINS = 11
const NO_BINS = Array.from({ length: RELIABILITY_BINS }, () => ({ races: 0, wins: 0, said: 0, apart: 0 }))
const NO_VERDICTS = { BUY: 0, SELL: 0, HOLD: 0 } as const
const NO_RACES = { up: 0, down: 0, both: 0, timeout: 0, incomplete: 0 } as const

export const SERIES_PREFIX = 'series/'
export const TIMEFRAME_PREFIX = 'timeframe/'

/** @example seriesRecordKey('first-1', 'SIM.BTC.1h') === 'series/first-1/SIM.BTC.1h' */
export const seriesRecordKey = (modelVersion: string, series: string): string =>
  `${SERIES_PREFIX}${modelVersion}/${series}`
export const timeframeRecordKey = (modelVersion: string, timeframe: Timeframe): string =>
  `${TIMEFRAME_PREFIX}${modelVersion}/${timeframe}`

type Row = TrackRecord | Block

/**
 * How the verdicts of every model did, per series and pooled per timeframe: every outcome in the log counts, and none
 * is dropped. Verdicts that were recorded after their window, and bars without one, are counted apart. A record is of a
 * fixed size. The order in which series were labelled shows in no count: pooled returns are kept by blocks in rows of
 * their own, some hundred a year at 1m, a few at 1d.
 */
export const trackRecord: Projection<Row> = {
  name: 'track_record',
  version: 7,
  events: ['OutcomeLabelled'],
  fold(rows, event) {
    if (event.type === 'OutcomeLabelled') scoreOutcome(rows, event.data)
  },
}

export type TrackRecordRows = Rows<Row>

/** Counts an outcome for the model that foresaw it. */
export function scoreOutcome(rows: TrackRecordRows, outcome: Outcome): void {
  // A verdict recorded after its window forecast nothing: it is counted, but not scored.
  if (outcome.recordedLate) return countLate(rows, outcome)
  const { modelVersion, timeframe, barClose } = outcome
  const name = seriesName(outcome)
  const seriesKey = seriesRecordKey(modelVersion, name)
  const own = (rows.get(seriesKey) as TrackRecord | undefined) ?? emptyRecord(outcome, name)
  const freedBy = (free: readonly number[], forecast: Forecast | undefined): readonly number[] =>
    isFree(free, forecast, barClose) ? free.with(binOf(forecast), outcome.validUntil) : free
  const race = raceForecast(outcome)
  const apart = {
    isCall: outcome.call !== 'HOLD' && barClose >= own.freeFrom,
    isRace: isFree(own.reliabilityFreeFrom, race, barClose),
    isRange: isScored(outcome) && barClose >= own.rangesFreeFrom,
  }
  const net = apart.isCall ? netReturn(outcome) : null
  const index = blockOf(timeframe, barClose)

  const counted = count(own, outcome, apart)
  const current: Block = own.block.index === index ? own.block : NO_BLOCK
  const next = net === null ? current : addToBlock(current, net)
  rows.put(seriesKey, {
    ...counted,
    freeFrom: apart.isCall ? outcome.validUntil : own.freeFrom,
    reliabilityFreeFrom: freedBy(own.reliabilityFreeFrom, race),
    rangesFreeFrom: apart.isRange ? outcome.validUntil : own.rangesFreeFrom,
    blocks: net === null ? own.blocks : replaceBlock(own.blocks, current, next),
    block: { n: next.n, sum: next.sum, index },
  })

  const pooledKey = timeframeRecordKey(modelVersion, timeframe)
  const pooled = (rows.get(pooledKey) as TrackRecord | undefined) ?? emptyRecord(outcome, null)
  if (net === null) {
    rows.put(pooledKey, count(pooled, outcome, apart))
    return
  }
  const blockKey = `block/${modelVersion}/${timeframe}/${index}`
  const before = (rows.get(blockKey) as Block | undefined) ?? NO_BLOCK
  const after = addToBlock(before, net)
  rows.put(blockKey, after)
  rows.put(pooledKey, {
    ...count(pooled, outcome, apart),
    blocks: replaceBlock(pooled.blocks, before, after),
  })
}

/** Counts a late verdict, and the bars missed before it, for its series and its timeframe. */
function countLate(rows: Rows<Row>, outcome: Outcome): void {
  const { modelVersion, timeframe, call, barsMissed } = outcome
  const name = seriesName(outcome)
  for (const [key, series] of [
    [seriesRecordKey(modelVersion, name), name],
    [timeframeRecordKey(modelVersion, timeframe), null],
  ] as const) {
    const before = (rows.get(key) as TrackRecord | undefined) ?? emptyRecord(outcome, series)
    const recordedLate = { ...before.recordedLate, [call]: before.recordedLate[call] + 1 }
    rows.put(key, { ...before, recordedLate, barsMissed: before.barsMissed + barsMissed })
  }
}

function emptyRecord(
  { modelVersion, timeframe }: Pick<Outcome, 'modelVersion' | 'timeframe'>,
  series: string | null,
): TrackRecord {
  return {
    modelVersion,
    series,
    timeframe,
    verdicts: 0,
    from: null,
    to: null,
    calls: NO_VERDICTS,
    races: NO_RACES,
    spokenRaces: NO_RACES,
    brier: { races: 0, squares: 0 },
    brierSpoken: { races: 0, squares: 0 },
    reliability: NO_BINS,
    spoken: NO_CALLS,
    apart: NO_CALLS,
    blocks: NO_BLOCKS,
    ranges: NO_RANGES,
    rangesApart: 0,
    freeFrom: 0,
    reliabilityFreeFrom: NO_BINS.map(() => 0),
    rangesFreeFrom: 0,
    block: { ...NO_BLOCK, index: -1 },
    recordedLate: NO_VERDICTS,
    barsMissed: 0,
  }
}

/** Whether the window of an outcome overlaps none before it that was counted apart: as a call, by percent, as a range. */
interface Apart {
  readonly isCall: boolean
  readonly isRace: boolean
  readonly isRange: boolean
}

/** Counts one outcome in everything that does not depend on blocks. */
function count(record: TrackRecord, outcome: Outcome, { isCall, isRace, isRange }: Apart): TrackRecord {
  const { call, race, barClose } = outcome
  const isSpoken = call !== 'HOLD'
  const first = raceForecast(outcome)
  return {
    ...record,
    verdicts: record.verdicts + 1,
    from: Math.min(record.from ?? barClose, barClose),
    to: Math.max(record.to ?? barClose, barClose),
    calls: { ...record.calls, [call]: record.calls[call] + 1 },
    races: { ...record.races, [race]: record.races[race] + 1 },
    spokenRaces: isSpoken
      ? { ...record.spokenRaces, [race]: record.spokenRaces[race] + 1 }
      : record.spokenRaces,
    brier: addForecast(record.brier, first),
    brierSpoken: isSpoken ? addForecast(record.brierSpoken, first) : record.brierSpoken,
    reliability: addReliability(record.reliability, first, isRace),
    spoken: isSpoken ? countCall(record.spoken, outcome) : record.spoken,
    apart: isCall ? countCall(record.apart, outcome) : record.apart,
    ranges: countRange(record.ranges, outcome),
    rangesApart: record.rangesApart + (isRange ? 1 : 0),
    barsMissed: record.barsMissed + outcome.barsMissed,
  }
}

/** A probability, and whether what it is of came about. */
interface Forecast {
  readonly probability: number
  readonly cameAbout: boolean
}

/** Undefined where no barrier won. */
const raceForecast = ({ race, probability }: Outcome): Forecast | undefined =>
  race === 'up' || race === 'down' ? { probability, cameAbout: race === 'up' } : undefined

function addForecast(sum: BrierSum, forecast: Forecast | undefined): BrierSum {
  if (forecast === undefined) return sum
  const error = forecast.probability - (forecast.cameAbout ? 1 : 0)
  return { races: sum.races + 1, squares: sum.squares + error * error }
}

function addReliability(
  bins: readonly ReliabilitySum[],
  forecast: Forecast | undefined,
  isApart: boolean,
): readonly ReliabilitySum[] {
  if (forecast === undefined) return bins
  const place = binOf(forecast)
  const bin = bins[place]
  if (bin === undefined) return bins
  const { probability, cameAbout } = forecast
  return bins.with(place, {
    races: bin.races + 1,
    wins: bin.wins + (cameAbout === probability >= 0.5 ? 1 : 0),
    said: bin.said + Math.max(probability, 1 - probability),
    apart: bin.apart + (isApart ? 1 : 0),
  })
}

/** Whether a forecast's window overlaps none before it that was counted apart in its bin. */
const isFree = (
  free: readonly number[],
  forecast: Forecast | undefined,
  barClose: number,
): forecast is Forecast => forecast !== undefined && barClose >= (free[binOf(forecast)] ?? 0)

/** The likelier side's percent above 50, the last bin taking all from 60 on. */
const binOf = ({ probability }: Forecast): number =>
  Math.min(RELIABILITY_BINS - 1, Math.max(0, Math.floor(100 * Math.max(probability, 1 - probability)) - 50))
