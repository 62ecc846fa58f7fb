import { RACE_OUTCOMES } from '../../contracts/outcome.ts'
import { DAY_MS, TIMEFRAMES, type Timeframe, timeframeMs } from '../../contracts/timeframes.ts'
import { WINDOW_BARS } from '../../contracts/verdict.ts'
import type { SeriesRange } from '../../services/engine/forecast/range-model.ts'
import { createModel, type Skill, type VerdictModelData } from '../../services/engine/model.ts'
import { hourFactors } from './ranges/fit-hours.ts'
import { moveOf } from './ranges/fit-range.ts'
import { rangeSamples } from './ranges/range-samples.ts'
import { roundedNumbers } from './rounded-numbers.ts'
import { offsetOf } from './score-fit.ts'
import type { SeriesHistory } from './series-history.ts'
import { closesAsRaces, type SeriesSamples, seriesSamples } from './series-samples.ts'

const UP = RACE_OUTCOMES.indexOf('up')
const DOWN = RACE_OUTCOMES.indexOf('down')

/** Timeframes whose offsets and hours are estimated again: windows of longer bars hold most of a day. */
export const refreshedTimeframes = ({ provenance }: Pick<VerdictModelData, 'provenance'>): Timeframe[] =>
  TIMEFRAMES.filter((timeframe) => provenance.recipe.offsets?.includes(timeframe))

/** Log-odds without an offset beside what came of them. */
class Races {
  readonly logOdds: number[] = []
  readonly outcomes: number[] = []

  /** Takes the decided races at the places of some samples. */
  add(
    { race }: Pick<SeriesSamples, 'race'>,
    places: readonly number[],
    logOddsOf: (place: number) => number,
  ) {
    for (const place of places) {
      if (race[place] !== UP && race[place] !== DOWN) continue
      this.logOdds.push(logOddsOf(place))
      this.outcomes.push(race[place] === UP ? 1 : 0)
    }
  }

  /** The skill with the offset that the races call for; as it was where they are too few. */
  shift(skill: Skill, fewest: number): Skill {
    if (!skill.skill || this.outcomes.length < fewest) return skill
    return { ...skill, offset: offsetOf(Float64Array.from(this.logOdds), Uint8Array.from(this.outcomes)) }
  }
}

/**
 * Estimates the offsets of a model and its hours of the day again, on the newest days of its recipe up to an instant,
 * and nothing else: coefficients, slopes and ranges stay. The same model and data give the same file.
 *
 * @param version of the new model
 * @param histories of {@link refreshedTimeframes}
 * @param until what was not over by then counts for nothing; Unix milliseconds
 */
export async function refreshModel(
  data: VerdictModelData,
  version: string,
  histories: AsyncIterable<SeriesHistory> | Iterable<SeriesHistory>,
  until: number,
): Promise<VerdictModelData> {
  const { recipe } = data.provenance
  const since = until - (recipe.habitDays ?? 0) * DAY_MS
  const model = createModel(data)
  // Both forecasts of a model are computed alike; the second one takes the place of the first.
  const second = createModel({
    ...data,
    timeframes: Object.fromEntries(
      TIMEFRAMES.map((timeframe) => [timeframe, data.timeframes[timeframe].closes ?? NOTHING]),
    ),
  })
  const found = new Map(
    refreshedTimeframes(data).map((timeframe) => [
      timeframe,
      {
        race: new Races(),
        closes: new Races(),
        closed: [] as number[],
        ends: [] as number[],
        plain: [] as number[],
      },
    ]),
  )
  for await (const history of histories) {
    const { timeframe } = history.series
    const of = found.get(timeframe)
    if (of === undefined) continue
    const windowMs = WINDOW_BARS[timeframe] * timeframeMs(timeframe)
    const placesOf = (barClose: Float64Array): number[] =>
      Array.from(barClose, (_, place) => place).filter((place) => {
        const close = barClose[place] ?? 0
        return close > since && close + windowMs <= until
      })
    for (const [races, spoken, isSecond] of [
      [of.race, model, false],
      [of.closes, second, true],
    ] as const) {
      const samples = seriesSamples(spoken, history)
      const skill = spoken.timeframes[timeframe]
      const offset = skill.skill ? skill.offset : 0
      races.add(isSecond ? closesAsRaces(samples) : samples, placesOf(samples.barClose), (place) => {
        const probability = samples.probability[place] ?? 0.5
        return Math.log(probability / (1 - probability)) - offset
      })
    }
    const range = model.ranges[TIMEFRAMES.indexOf(timeframe)] as SeriesRange
    const samples = rangeSamples(model.ranges, history)
    for (const place of placesOf(samples.barClose)) {
      of.closed.push(samples.barClose[place] ?? 0)
      of.ends.push((samples.barClose[place] ?? 0) + windowMs)
      of.plain.push((samples.move[place] ?? 0) / moveOf(range, samples, place))
    }
  }
  const timeframes = { ...data.timeframes }
  const hours = { ...data.hours }
  for (const [timeframe, { race, closes, closed, ends, plain }] of found) {
    const { closes: head, ...skill } = timeframes[timeframe]
    timeframes[timeframe] = {
      ...race.shift(skill, recipe.fewestRaces),
      ...(head && { closes: closes.shift(head, recipe.fewestRaces) }),
    }
    hours[timeframe] = [
      ...(hourFactors(timeframe, { closes: closed, ends, plain }, until) ?? hours[timeframe] ?? []),
    ]
    if (hours[timeframe]?.length === 0) delete hours[timeframe]
  }
  const provenance = { ...data.provenance, refreshed: { model: data.version, until } }
  return roundedNumbers({ ...data, version, provenance, timeframes, hours })
}

const NOTHING: Skill = { skill: false, reason: 'nothing was fitted' }
