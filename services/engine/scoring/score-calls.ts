import { assert } from '../../../contracts/assert.ts'
import { RACE_OUTCOMES, type RaceOutcome, ROUND_TRIP_COST } from '../../../contracts/outcome.ts'
import { DAY_MS } from '../../../contracts/timeframes.ts'
import { wilsonInterval } from '../../../contracts/wilson-interval.ts'
import { blockOf, callChanges, nonOverlapping, type SeriesCalls } from './call-columns.ts'
import { type BlockMean, blockMean, type Measure, measure } from './intervals.ts'
import { areaUnderCurve, brierScore, calibration, type Forecasts } from './scores.ts'
import type { ByExit, EveryCall, Scores, WinRates } from './scores-schema.ts'

const BASIS_POINTS = 10_000

/** Skill that was there once says little: the newest days are scored alone, too. */
const NEWEST_DAYS = 180
const NEWEST_YEAR = 365

const [UP, DOWN, BOTH, TIMEOUT, INCOMPLETE] = [
  RACE_OUTCOMES.indexOf('up'),
  RACE_OUTCOMES.indexOf('down'),
  RACE_OUTCOMES.indexOf('both'),
  RACE_OUTCOMES.indexOf('timeout'),
  RACE_OUTCOMES.indexOf('incomplete'),
]

/**
 * Scores calls of one timeframe, of one series or several.
 *
 * @param all at least one call
 */
export function scoreCalls(all: readonly SeriesCalls[]): Scores {
  const forecasts = forecastsOf(all, () => true)
  const spoken = forecastsOf(all, ({ sign }, place) => sign[place] !== 0)
  const { races, from, to, verdicts, buys, sells } = countCalls(all)
  const whole = verdicts - races.incomplete
  const { error, bins } = calibration(forecasts)
  const counted = tradesOf(all)
  return {
    verdicts,
    from,
    to,
    observedDays: observedDays(all).length,
    races,
    timeoutShare: whole === 0 ? null : races.timeout / whole,
    auc: aucOf(forecasts),
    newestAuc: aucOfNewest(all, NEWEST_DAYS),
    newestYearAuc: aucOfNewest(all, NEWEST_YEAR),
    brier: forecasts.outcome.length === 0 ? null : brierScore(forecasts),
    brierSpoken: spoken.outcome.length === 0 ? null : brierScore(spoken),
    calibrationError: forecasts.outcome.length === 0 ? null : error,
    reliability: bins,
    spoken: buys + sells,
    sellShare: buys + sells === 0 ? null : sells / (buys + sells),
    winRates: winRatesOf(counted),
    everyCall: everyCallOf(counted),
    flipsPerDay: callChanges(all),
  }
}

/** Forecasts of the races that a barrier won. */
function forecastsOf(
  all: readonly SeriesCalls[],
  isWanted: (calls: SeriesCalls, place: number) => boolean,
): Forecasts {
  const room = all.reduce((sum, { race }) => sum + race.length, 0)
  const probability = new Float64Array(room)
  const outcome = new Uint8Array(room)
  const block = new Float64Array(room)
  let count = 0
  for (const calls of all) {
    const { series, race, barClose } = calls
    for (let place = 0; place < race.length; place++) {
      if ((race[place] !== UP && race[place] !== DOWN) || !isWanted(calls, place)) continue
      probability[count] = calls.probability[place] ?? 0
      outcome[count] = race[place] === UP ? 1 : 0
      block[count] = blockOf(series.timeframe, barClose[place] ?? 0)
      count += 1
    }
  }
  return {
    probability: probability.subarray(0, count),
    outcome: outcome.subarray(0, count),
    block: block.subarray(0, count),
  }
}

function aucOf(forecasts: Forecasts): Measure | null {
  const wins = forecasts.outcome.reduce((sum, won) => sum + won, 0)
  if (wins === 0 || wins === forecasts.outcome.length) return null
  const { auc, margin } = areaUnderCurve(forecasts)
  return measure(auc, margin)
}

function countCalls(all: readonly SeriesCalls[]) {
  const counts = new Float64Array(RACE_OUTCOMES.length)
  let [verdicts, buys, sells] = [0, 0, 0]
  let [from, to] = [Number.POSITIVE_INFINITY, 0]
  for (const { race, sign, barClose } of all) {
    verdicts += race.length
    from = Math.min(from, barClose[0] ?? from)
    to = Math.max(to, barClose.at(-1) ?? to)
    for (let place = 0; place < race.length; place++) {
      const ended = race[place] ?? INCOMPLETE
      counts[ended] = (counts[ended] ?? 0) + 1
      if (sign[place] === 1) buys += 1
      else if (sign[place] === -1) sells += 1
    }
  }
  const races = Object.fromEntries(RACE_OUTCOMES.map((race, index) => [race, counts[index] ?? 0])) as Record<
    RaceOutcome,
    number
  >
  const ended = Object.values(races).reduce((sum, count) => sum + count, 0)
  assert(ended === verdicts, 'every verdict has one race', ended)
  return { races, verdicts, buys, sells, from, to }
}

/** Days with a verdict, newest first: a span with holes says less than its ends promise. */
export function observedDays(all: readonly SeriesCalls[]): readonly number[] {
  const days = new Set<number>()
  for (const { barClose } of all) for (const at of barClose) days.add(Math.floor(at / DAY_MS))
  return [...days].toSorted((a, b) => b - a)
}

/** AUC of the forecasts of the newest observed days; null where only one side won. */
export function aucOfNewest(all: readonly SeriesCalls[], count: number): Measure | null {
  const days = observedDays(all)
  const from = DAY_MS * (days[Math.min(count, days.length) - 1] ?? 0)
  return aucOf(forecastsOf(all, ({ barClose }, place) => (barClose[place] ?? 0) >= from))
}

/** Calls apart whose races are over, as columns. */
interface Trades {
  readonly block: number[]
  readonly race: number[]
  readonly sign: number[]
  readonly barrier: number[]
  readonly rise: number[]
}

function tradesOf(all: readonly SeriesCalls[]): Trades {
  const trades: Trades = { block: [], race: [], sign: [], barrier: [], rise: [] }
  for (const calls of all) {
    for (const place of nonOverlapping(calls)) {
      const race = calls.race[place] ?? INCOMPLETE
      if (race === INCOMPLETE) continue
      trades.block.push(blockOf(calls.series.timeframe, calls.barClose[place] ?? 0))
      trades.race.push(race)
      trades.sign.push(calls.sign[place] ?? 0)
      trades.barrier.push(calls.barrier[place] ?? 0)
      trades.rise.push(calls.rise[place] ?? Number.NaN)
    }
  }
  return trades
}

function winRatesOf({ race, sign, block }: Trades): WinRates | null {
  const reached = race.flatMap((ended, place) => (ended === TIMEOUT ? [] : [place]))
  const won = reached.map((place) => (race[place] === (sign[place] === 1 ? UP : DOWN) ? 1 : 0))
  const ups = reached.filter((place) => race[place] === UP).length
  const downs = reached.filter((place) => race[place] === DOWN).length
  const called = wilsonInterval(won.filter((win) => win === 1).length, reached.length)
  const alwaysBuy = wilsonInterval(ups, reached.length)
  const alwaysSell = wilsonInterval(downs, reached.length)
  const random = wilsonInterval((ups + downs) / 2, reached.length)
  const byBlocks = blockMean(
    won,
    reached.map((place) => block[place] ?? 0),
  )
  if (!called || !alwaysBuy || !alwaysSell || !random || !byBlocks) return null
  const { value, low, high } = byBlocks
  return {
    races: reached.length,
    called,
    calledByBlocks: { value, low, high },
    alwaysBuy,
    alwaysSell,
    random,
  }
}

/** Every call apart by its exit, time-outs included, beside what constants and a fair coin made of the same bars. */
function everyCallOf(trades: Trades): EveryCall | null {
  const { race, sign } = trades
  if (race.length === 0) return null
  return {
    trades: race.length,
    timeoutShare: race.filter((ended) => ended === TIMEOUT).length / race.length,
    called: byExit(trades, (place) => [sign[place] ?? 0]),
    alwaysBuy: byExit(trades, () => [1]),
    alwaysSell: byExit(trades, () => [-1]),
    random: byExit(trades, () => [1, -1]),
  }
}

/** @param sidesOf the sides taken at a trade, each as likely as the others */
function byExit(trades: Trades, sidesOf: (place: number) => readonly number[]): ByExit {
  const returns = trades.race.map((race, place) =>
    sidesOf(place).map((side) =>
      // Nobody knows which barrier came first, so either side has lost.
      race === BOTH ? -(trades.barrier[place] ?? 0) : side * (trades.rise[place] ?? Number.NaN),
    ),
  )
  const mean = (values: readonly number[]): number =>
    values.reduce((sum, value) => sum + value, 0) / values.length
  const over = (valueOf: (value: number) => number) =>
    blockMean(
      returns.map((sides) => mean(sides.map(valueOf))),
      trades.block,
    ) ?? NOTHING
  const { value, low, high } = over((side) => (side > 0 ? 1 : 0))
  return {
    inFavour: { value, low, high },
    gross: over((side) => BASIS_POINTS * side),
    net: over((side) => BASIS_POINTS * (side - ROUND_TRIP_COST)),
  }
}

const NOTHING: BlockMean = { value: Number.NaN, low: null, high: null, t: null }
