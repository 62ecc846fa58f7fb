import { DAY_MS, HOUR_MS, TIMEFRAMES, type Timeframe } from '../../contracts/domain/timeframes.ts'
import { barVariance, seasonOf } from '../../services/engine/model/range-forecast.ts'
import type { VerdictModel } from '../../services/engine/model/verdict-model.ts'
import { BAR_NUMBERS, type CandleFile, historiesOf } from './histories.ts'
import { CHOOSE_FROM, spread, UNTOUCHED_FROM } from './periods.ts'
import { candleAt, ENDED, type Samples } from './samples.ts'
import { fitWeights, type Row } from './statistics.ts'

/** Timeframes whose outcomes give the weights of the direction. */
const DIRECTION_TIMEFRAMES: readonly Timeframe[] = ['3m', '5m', '15m', '30m', '1h', '2h', '4h']
const OUTCOMES_OF_A_TIMEFRAME = 60_000
const DIRECTION_RIDGE = 0.001

/** The weights of the two factors: a logistic regression without intercept on decided outcomes. */
export function fitDirection(
  all: ReadonlyMap<Timeframe, Samples>,
  { clip, factors }: VerdictModel['direction'],
) {
  const scaled = (value: number, unit: number): number =>
    Number.isNaN(value) ? 0 : Math.max(-clip, Math.min(clip, value / unit))
  const rows = DIRECTION_TIMEFRAMES.flatMap((timeframe): Row[] => {
    const samples = all.get(timeframe)
    if (samples === undefined) return []
    const decided = samples
      .within(0, CHOOSE_FROM)
      .filter((place) => Math.abs(samples.at('ended', place)) === 1)
    return spread(decided, OUTCOMES_OF_A_TIMEFRAME).map((place) => {
      const isUp = samples.at('ended', place) === ENDED.up ? 1 : 0
      return {
        inputs: [
          scaled(samples.at('priceToEma50', place), factors.price_to_ema50.unit),
          scaled(samples.at('wickBalance', place), factors.wick_balance.unit),
        ],
        slope(score) {
          const probability = 1 / (1 + Math.exp(-score))
          return { gradient: isUp - probability, curvature: probability * (1 - probability) }
        },
      }
    })
  })
  return fitWeights(rows, [0, 0], [DIRECTION_RIDGE, DIRECTION_RIDGE], 1)
}

/** Bars of the usual variance, which that of an hour is compared with. */
const USUAL_BARS = 336
/** One wild hour must not make the profile of all. */
const MOST_RELATIVE = 16

/** Adds the hourly variances of a coin, relative to what was usual, for each hour of a weekday and of a weekend. */
export function addHours(sums: Float64Array, counts: Float64Array, files: readonly CandleFile[]): void {
  for (const bars of historiesOf(files, '1h')) {
    let usual = 0
    for (let at = BAR_NUMBERS, count = 0; at < bars.length; at += BAR_NUMBERS, count++) {
      const bar = candleAt(bars, at)
      if (bar.openTime + HOUR_MS > UNTOUCHED_FROM) break
      const variance = barVariance(bar, candleAt(bars, at - BAR_NUMBERS).close)
      if (count > USUAL_BARS) {
        const hour = hourOf(bar.openTime)
        sums[hour] = (sums[hour] ?? 0) + Math.min(MOST_RELATIVE, variance / usual)
        counts[hour] = (counts[hour] ?? 0) + 1
      }
      usual += (variance - usual) / Math.min(count + 1, USUAL_BARS)
    }
  }
}

/** The hours of weekdays, then those of weekends, UTC. The Unix epoch was a Thursday. */
const hourOf = (time: number): number =>
  (Math.floor(time / DAY_MS + 3) % 7 >= 5 ? 24 : 0) + Math.floor((time % DAY_MS) / HOUR_MS)

export function hoursOf(sums: Float64Array, counts: Float64Array): Parameters<typeof seasonOf>[0] {
  const means = Array.from(sums, (sum, hour) => sum / (counts[hour] ?? 1))
  const total = (from: number): number => means.slice(from, from + 24).reduce((sum, mean) => sum + mean, 0)
  const mean = (5 * total(0) + 2 * total(24)) / 168
  const rounded = means.map((one) => Number((one / mean).toFixed(4)))
  return { weekday: rounded.slice(0, 24), weekend: rounded.slice(24) }
}

/** Quantiles of a fit are too near for the year after it: learnt on the year before `UNTOUCHED_FROM` alone. */
const WIDER = 1.05
const RANGE_ROWS = 400_000
const RANGE_RIDGE = 3e-4
const QUANTILE_WINDOWS = 200_000
const MEASURES = ['v2', 'v8', 'm200'] as const

export interface RangeFit {
  readonly weights: readonly number[]
  readonly timeframes: ReadonlyMap<
    Timeframe,
    { readonly inner: number; readonly outer: number; readonly deviation: number }
  >
}

const known = (samples: Samples, from: number, to: number): number[] =>
  samples.within(from, to).filter((place) => !Number.isNaN(samples.at('windowReturn', place)))

export const moveOf = (samples: Samples, place: number): number =>
  Math.abs(Math.log1p(samples.at('windowReturn', place)))

/** The expected move of a window, up to the width of its timeframe. */
export function scaleOf(samples: Samples, place: number, weights: readonly number[]): number {
  let logVariance = samples.at('season', place)
  for (const [index, name] of MEASURES.entries())
    logVariance += (weights[index] ?? 0) * samples.at(name, place)
  return Math.exp(logVariance / 2)
}

/** The ranges, fitted on windows over before an instant: the likelihood of a two-sided exponential. */
export function fitRanges(all: ReadonlyMap<Timeframe, Samples>, until: number): RangeFit {
  const weights = rangeWeights(all, until).map((weight) => Number(weight.toFixed(3)))
  const timeframes = new Map(
    [...all].map(([timeframe, samples]) => {
      const moves = spread(known(samples, 0, until), QUANTILE_WINDOWS).map(
        (place) => moveOf(samples, place) / scaleOf(samples, place, weights),
      )
      const sorted = Float64Array.from(moves).toSorted()
      const quantile = (share: number): number =>
        Number((WIDER * (sorted[Math.floor(share * sorted.length)] ?? Number.NaN)).toFixed(4))
      const variance = sorted.reduce((sum, move) => sum + move * move, 0) / sorted.length
      const deviation = Number(Math.sqrt(variance).toFixed(4))
      return [timeframe, { inner: quantile(0.5), outer: quantile(0.8), deviation }]
    }),
  )
  return { weights, timeframes }
}

/** One set of weights for all timeframes, each of which has an intercept of its own. */
function rangeWeights(all: ReadonlyMap<Timeframe, Samples>, until: number): number[] {
  const groups = TIMEFRAMES.flatMap((timeframe) => all.get(timeframe) ?? [])
  const rows = groups.flatMap((samples, group): Row[] =>
    spread(known(samples, 0, until), RANGE_ROWS / groups.length).map((place) => {
      const move = moveOf(samples, place)
      const season = samples.at('season', place)
      return {
        inputs: [
          ...groups.map((_, index) => (index === group ? 1 : 0)),
          ...MEASURES.map((name) => samples.at(name, place)),
        ],
        slope(score) {
          const ratio = move * Math.exp(-0.5 * (score + season))
          return { gradient: ratio - 1, curvature: 0.5 * Math.min(ratio, 8) }
        },
      }
    }),
  )
  const start = [...groups.map(() => 0), ...MEASURES.map(() => 1 / MEASURES.length)]
  const ridge = [...groups.map(() => 0), ...MEASURES.map(() => RANGE_RIDGE)]
  return fitWeights(rows, start, ridge, 1).slice(groups.length)
}
