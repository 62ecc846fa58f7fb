import { RACE_OUTCOMES } from '../../contracts/outcome.ts'
import type { Timeframe } from '../../contracts/timeframes.ts'
import { speechRuleOf } from '../../projections/index.ts'
import type { TimeframeGate } from '../../services/engine/gate.ts'
import { blockOf, nonOverlapping, type SeriesCalls } from '../../services/engine/scoring/call-columns.ts'
import { interval } from '../../services/engine/scoring/format-evaluation.ts'
import { blockMean, type Measure } from '../../services/engine/scoring/intervals.ts'
import { aucOfNewest, observedDays } from '../../services/engine/scoring/score-calls.ts'

const [UP, DOWN, BOTH, TIMEOUT, INCOMPLETE] = (['up', 'down', 'both', 'timeout', 'incomplete'] as const).map(
  (race) => RACE_OUTCOMES.indexOf(race),
)
const COIN_AUC = 0.5
const BASIS_POINTS = 10_000

/** Confidences that are scored together, in percent; none is above the last. */
const CONFIDENCES = [
  [50, 53],
  [54, 54],
  [55, 55],
  [56, 57],
  [58, 60],
] as const

/** The scores by coin and by confidence of a walk, and the coins that it shows no skill for. */
export const gateOf = (timeframe: Timeframe, calls: readonly SeriesCalls[]): TimeframeGate => ({
  walkedAuc: aucOfNewest(calls, speechRuleOf('', timeframe).windowDays)?.value ?? COIN_AUC,
  coins: coinScores(timeframe, calls),
  confidences: confidenceScores(calls),
})

function coinScores(timeframe: Timeframe, calls: readonly SeriesCalls[]): TimeframeGate['coins'] {
  const byCoin = Map.groupBy(calls, ({ series }) => series.coin)
  return [...byCoin.keys()].toSorted().flatMap((coin) => {
    const own = byCoin.get(coin) ?? []
    const days = observedDays(own).length
    const auc = aucOfNewest(own, days)
    if (auc === null || auc.low === null) return []
    const isShown = auc.low > COIN_AUC
    const silence = `no skill was shown for ${coin} at ${timeframe}: its forecasts had an AUC of ${interval(auc, 3)}, and 0.5 is chance`
    const races = own.reduce(
      (sum, { race }) => sum + race.filter((one) => one === UP || one === DOWN).length,
      0,
    )
    return [{ coin, observedDays: days, races, auc, ...(!isShown && { silence }) }]
  })
}

interface Apart {
  readonly confidence: number
  readonly block: number
  readonly isReached: boolean
  readonly won: number
  /** Return of the side that was called, before costs. */
  readonly gained: number
}

/** Calls that do not overlap, each with what came of it. */
const callsApart = (calls: readonly SeriesCalls[]): Apart[] =>
  calls.flatMap((own) =>
    nonOverlapping(own).flatMap((place): Apart[] => {
      const race = own.race[place] ?? INCOMPLETE
      if (race === INCOMPLETE) return []
      const sign = own.sign[place] ?? 0
      const probability = own.probability[place] ?? 0.5
      return [
        {
          confidence: Math.min(60, Math.round(100 * Math.max(probability, 1 - probability))),
          block: blockOf(own.series.timeframe, own.barClose[place] ?? 0),
          isReached: race !== TIMEOUT,
          won: race === (sign === 1 ? UP : DOWN) ? 1 : 0,
          // Nobody knows which barrier came first, so either side has lost.
          gained: race === BOTH ? -(own.barrier[place] ?? 0) : sign * (own.rise[place] ?? Number.NaN),
        },
      ]
    }),
  )

function confidenceScores(calls: readonly SeriesCalls[]): TimeframeGate['confidences'] {
  const all = callsApart(calls)
  const mean = (some: readonly Apart[], of: (one: Apart) => number): Measure => {
    const { value, low, high } =
      blockMean(
        some.map(of),
        some.map(({ block }) => block),
      ) ?? NOTHING
    return { value, low, high }
  }
  return CONFIDENCES.flatMap(([from, to]) => {
    const own = all.filter(({ confidence }) => confidence >= from && confidence <= to)
    const reached = own.filter(({ isReached }) => isReached)
    if (reached.length === 0) return []
    return [
      {
        from,
        to,
        calls: own.length,
        won: mean(reached, ({ won }) => won),
        inFavour: mean(own, ({ gained }) => (gained > 0 ? 1 : 0)),
        gross: mean(own, ({ gained }) => BASIS_POINTS * gained),
      },
    ]
  })
}

const NOTHING: Measure = { value: 0, low: null, high: null }
