import { LIMITS } from '../../contracts/limits.ts'
import { RACE_OUTCOMES } from '../../contracts/outcome.ts'
import { DAY_MS, TIMEFRAMES, type Timeframe, timeframeMs } from '../../contracts/timeframes.ts'
import { WINDOW_BARS } from '../../contracts/verdict.ts'
import type { SeriesRange } from '../../services/engine/forecast/range-model.ts'
import {
  coinSlopeOf,
  createModel,
  type Skill,
  type VerdictModel,
  type VerdictModelData,
} from '../../services/engine/model.ts'
import { contributionOf } from '../../services/engine/reasoning.ts'
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
  readonly #logOdds: number[] = []
  readonly #outcomes: number[] = []

  /** Takes the decided races at some places. */
  add(model: VerdictModel, skill: Skill, samples: SeriesSamples, places: readonly number[]): void {
    if (!skill.skill) return
    const { names, clip } = model
    const { features, race, series } = samples
    const slope = skill.slope * coinSlopeOf(skill, series.coin)
    for (const place of places) {
      if (race[place] !== UP && race[place] !== DOWN) continue
      let logOdds = 0
      for (let at = 0; at < names.length; at++) {
        const value = features[place * names.length + at] ?? Number.NaN
        const weight = slope * (skill.coefficients[at] ?? 0)
        logOdds += contributionOf(value, 1 / (skill.scales[at] ?? 1), weight, clip)
      }
      this.#logOdds.push(logOdds)
      this.#outcomes.push(race[place] === UP ? 1 : 0)
    }
  }

  /** The skill with the offset that the races call for; as it was where they are too few. */
  shift(skill: Skill, fewest: number): Skill {
    if (!skill.skill || this.#outcomes.length < fewest) return skill
    return { ...skill, offset: offsetOf(Float64Array.from(this.#logOdds), Uint8Array.from(this.#outcomes)) }
  }
}

/** The findings of the newest days of a timeframe. */
class Findings {
  readonly race = new Races()
  readonly closes = new Races()
  readonly ratios = { closes: [] as number[], ends: [] as number[], plain: [] as number[] }

  /** @param counts whether a bar that closes at an instant is one of them */
  add(model: VerdictModel, history: SeriesHistory, counts: (barClose: number) => boolean): void {
    const { timeframe } = history.series
    const placesOf = (barClose: Float64Array): number[] =>
      Array.from(barClose, (_, place) => place).filter((place) => counts(barClose[place] ?? 0))
    const samples = seriesSamples(model, history)
    const places = placesOf(samples.barClose)
    const { closes, ...race } = model.timeframes[timeframe]
    this.race.add(model, race, samples, places)
    if (closes !== undefined) this.closes.add(model, closes, closesAsRaces(samples), places)
    const range = model.ranges[TIMEFRAMES.indexOf(timeframe)] as SeriesRange
    const moves = rangeSamples(model.ranges, history)
    for (const place of placesOf(moves.barClose)) {
      const close = moves.barClose[place] ?? 0
      this.ratios.closes.push(close)
      this.ratios.ends.push(close + moves.windowMs)
      this.ratios.plain.push((moves.move[place] ?? 0) / moveOf(range, moves, place))
    }
  }
}

/** A history from as many bars before an instant on as an engine begins with. */
function recentPart(history: SeriesHistory, since: number): SeriesHistory {
  const first = since - LIMITS.historyBars * timeframeMs(history.series.timeframe)
  return { ...history, bars: history.bars.filter(({ openTime }) => openTime >= first) }
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
  const found = new Map(refreshedTimeframes(data).map((timeframe) => [timeframe, new Findings()]))
  for await (const whole of histories) {
    const { timeframe } = whole.series
    const windowMs = WINDOW_BARS[timeframe] * timeframeMs(timeframe)
    const history = recentPart(whole, since)
    if (history.bars.length === 0) continue
    found.get(timeframe)?.add(model, history, (close) => close > since && close + windowMs <= until)
  }
  const timeframes = { ...data.timeframes }
  const hours = { ...data.hours }
  for (const [timeframe, { race, closes, ratios }] of found) {
    const { closes: head, ...skill } = timeframes[timeframe]
    timeframes[timeframe] = {
      ...race.shift(skill, recipe.fewestRaces),
      ...(head && { closes: closes.shift(head, recipe.fewestRaces) }),
    }
    const told = hourFactors(timeframe, ratios, until)
    if (told !== undefined) hours[timeframe] = [...told]
  }
  const provenance = { ...data.provenance, refreshed: { model: data.version, until } }
  return roundedNumbers({ ...data, version, provenance, timeframes, hours })
}
