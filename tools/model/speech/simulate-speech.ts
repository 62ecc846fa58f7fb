import { halfWidth95 } from '../../../contracts/student-interval.ts'
import { DAY_MS, type Timeframe } from '../../../contracts/timeframes.ts'
import { SPEECH_DAYS_RUNNING, type SpeechRule, speechRuleOf } from '../../../projections/index.ts'
import { blockOf } from '../../../services/engine/scoring/call-columns.ts'
import { seededRandom } from '../../../testing/random-walk.ts'

/** Days that the AUC of a model is followed for, and how often an end of its skill is. */
const DAYS = 1_000_000
const ENDS = 201
const LATEST_END_DAYS = 3_000
/** AUC without skill, and of a model that has some. */
export const NO_SKILL = 0.5
export const SOME_SKILL = 0.52
const MEASURED_DAYS = 180

/** The record of a rule on models whose true AUC is known. */
export interface SpeechSimulation {
  readonly windowDays: number
  /** Standard deviation of the AUC over the window. */
  readonly deviation: number
  /** Share of days on which calls are withdrawn. */
  readonly silentWithoutSkill: number
  readonly silentWithSkill: number
  /** Days until calls are withdrawn, in half of all cases, where skill ends with the first day after the walk. */
  readonly daysToSilence: number
}

function gaussian(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
}

/** Means over the newest days of a window, day by day, of a series that begins with one whole window. */
function windowMeans(values: readonly number[], days: number): number[] {
  let sum = values.slice(0, days - 1).reduce((total, value) => total + value, 0)
  return values.slice(days - 1).map((value, index) => {
    sum += value - (index === 0 ? 0 : (values[index - 1] ?? 0))
    return sum / days
  })
}

/** Tells day by day whether calls are withdrawn. */
function follow({ withdraw, restore }: SpeechRule): (auc: number) => boolean {
  let isWithdrawn = false
  let running = 0
  return (auc) => {
    running = (isWithdrawn ? auc >= restore : auc < withdraw) ? running + 1 : 0
    if (running >= SPEECH_DAYS_RUNNING) {
      isWithdrawn = !isWithdrawn
      running = 0
    }
    return isWithdrawn
  }
}

/**
 * How often the rule for a model's calls at a timeframe withdraws them, by the true AUC. The AUC of each day is the true
 * one with noise of its own, as large as the interval of the AUC over the newest 180 days of the walk makes it.
 *
 * @param margin half of that interval
 */
export function simulateSpeech(
  modelVersion: string,
  timeframe: Timeframe,
  margin: number,
  seed = 1,
): SpeechSimulation {
  const rule = speechRuleOf(modelVersion, timeframe)
  const { windowDays, walkedAuc = NO_SKILL } = rule
  const blocks = blockOf(timeframe, MEASURED_DAYS * DAY_MS)
  const ofADay = (margin / halfWidth95(blocks)) * Math.sqrt(MEASURED_DAYS)
  const random = seededRandom(seed)
  const noise = (count: number): number[] => Array.from({ length: count }, () => ofADay * gaussian(random))
  const means = windowMeans(noise(DAYS), windowDays)
  const silentAt = (auc: number): number => {
    const isSilent = follow(rule)
    return means.filter((mean) => isSilent(auc + mean)).length / means.length
  }
  const ends = Array.from({ length: ENDS }, () => {
    const walked = Array.from({ length: windowDays }, () => walkedAuc)
    const days = [...walked, ...noise(LATEST_END_DAYS).map((error) => NO_SKILL + error)]
    const isSilent = follow(rule)
    const found = windowMeans(days, windowDays).findIndex((auc) => isSilent(auc))
    return found === -1 ? LATEST_END_DAYS : found
  }).toSorted((a, b) => a - b)
  return {
    windowDays,
    deviation: ofADay / Math.sqrt(windowDays),
    silentWithoutSkill: silentAt(NO_SKILL),
    silentWithSkill: silentAt(SOME_SKILL),
    daysToSilence: ends[(ENDS - 1) / 2] ?? LATEST_END_DAYS,
  }
}
