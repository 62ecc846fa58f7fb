import { callReturn, RACE_OUTCOMES, type RaceOutcome, ROUND_TRIP_COST } from '../../../contracts/outcome.ts'
import { DAY_MS, type Timeframe, timeframeMs } from '../../../contracts/timeframes.ts'
import { WINDOW_BARS } from '../../../contracts/verdict.ts'
import { wilsonInterval } from '../../../contracts/wilson-interval.ts'
import { callChanges } from './call-changes.ts'
import type { Expectancy, ScoredCall, Scores, WinRates } from './evaluation.ts'
import { blockMean, measure } from './intervals.ts'
import { nonOverlapping } from './non-overlapping.ts'
import { areaUnderCurve, brierScore, calibration, type Forecast } from './scores.ts'

/** What lies in different blocks of time is taken as independent: blocks are so many windows long, or a day. */
const WINDOWS_PER_BLOCK = 20
const BASIS_POINTS = 10_000

/** Length of a block of a timeframe, in milliseconds. */
export const blockMs = (timeframe: Timeframe): number =>
  Math.max(DAY_MS, WINDOWS_PER_BLOCK * WINDOW_BARS[timeframe] * timeframeMs(timeframe))

const blockOf = ({ timeframe, barClose }: ScoredCall): number => Math.floor(barClose / blockMs(timeframe))

/** Forecasts of the races that a barrier won. */
const forecastsOf = (calls: readonly ScoredCall[]): Forecast[] =>
  calls.flatMap((call): Forecast[] => {
    const { probability, race } = call
    if (race !== 'up' && race !== 'down') return []
    return [{ probability, outcome: race === 'up' ? 1 : 0, block: blockOf(call) }]
  })

const isSpoken = ({ call }: ScoredCall): boolean => call !== 'HOLD'

/**
 * Scores calls of one timeframe, of one series or several.
 *
 * @param calls in order of time; at least one
 */
export function scoreCalls(calls: readonly ScoredCall[]): Scores {
  const spoken = calls.filter(isSpoken)
  const counted = nonOverlapping(spoken)
  const forecasts = forecastsOf(calls)
  const spokenForecasts = forecastsOf(spoken)
  const races = countRaces(calls)
  const whole = calls.length - races.incomplete
  const decidedBothWays = races.up > 0 && races.down > 0
  const { error, bins } = calibration(forecasts)
  return {
    verdicts: calls.length,
    from: calls[0]?.barClose ?? 0,
    to: calls.at(-1)?.barClose ?? 0,
    races,
    timeoutShare: whole === 0 ? null : races.timeout / whole,
    auc: decidedBothWays ? aucOf(forecasts) : null,
    brier: forecasts.length === 0 ? null : brierScore(forecasts),
    brierSpoken: spokenForecasts.length === 0 ? null : brierScore(spokenForecasts),
    calibrationError: forecasts.length === 0 ? null : error,
    reliability: bins,
    spoken: spoken.length,
    sellShare:
      spoken.length === 0 ? null : spoken.filter(({ call }) => call === 'SELL').length / spoken.length,
    winRates: winRatesOf(counted),
    expectancy: expectancyOf(counted),
    flipsPerDay: callChanges(calls),
  }
}

function aucOf(forecasts: readonly Forecast[]) {
  const { auc, margin } = areaUnderCurve(forecasts)
  return measure(auc, margin)
}

function countRaces(calls: readonly ScoredCall[]): Record<RaceOutcome, number> {
  const counts: Record<RaceOutcome, number> = { up: 0, down: 0, both: 0, timeout: 0, incomplete: 0 }
  for (const { race } of calls) counts[race] += 1
  return counts
}

const won = ({ call, race }: ScoredCall): boolean => race === (call === 'BUY' ? 'up' : 'down')

const REACHED: ReadonlySet<RaceOutcome> = new Set(RACE_OUTCOMES.slice(0, 3))

function winRatesOf(counted: readonly ScoredCall[]): WinRates | null {
  const reached = counted.filter(({ race }) => REACHED.has(race))
  const count = (race: RaceOutcome): number => reached.filter((call) => call.race === race).length
  const called = wilsonInterval(reached.filter(won).length, reached.length)
  const alwaysBuy = wilsonInterval(count('up'), reached.length)
  const alwaysSell = wilsonInterval(count('down'), reached.length)
  const random = wilsonInterval((count('up') + count('down')) / 2, reached.length)
  const byBlocks = blockMean(
    reached.map((call) => (won(call) ? 1 : 0)),
    reached.map(blockOf),
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

function expectancyOf(counted: readonly ScoredCall[]): Expectancy | null {
  const trades = counted.flatMap((call) => {
    const gross = callReturn(call, call.call)
    return gross === null ? [] : [{ net: BASIS_POINTS * (gross - ROUND_TRIP_COST), block: blockOf(call) }]
  })
  const mean = blockMean(
    trades.map(({ net }) => net),
    trades.map(({ block }) => block),
  )
  return mean === undefined ? null : { ...mean, trades: trades.length }
}
