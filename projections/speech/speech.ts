import type { Outcome } from '../../contracts/domain/outcome.ts'
import { CALLING_AUC, DAY_MS, type Timeframe, timeframeMs } from '../../contracts/domain/timeframes.ts'
import type { JsonObject } from '../../contracts/infra/json.ts'
import type { Projection, Rows } from '../projection.ts'

/** Forecasts are counted in bins this wide; those within one tie, which moves the area by less than a thousandth. */
const BIN_WIDTH = 0.002
/** Forecasts live between 40 and 60 %; the first and the last bin take what lies beyond. */
const LOWEST = 0.4
export const BINS = 102

/** @example binOf(0.5) === 51 && binOf(0.1) === 0 && binOf(0.99) === 101 */
export const binOf = (probability: number): number =>
  Math.min(BINS - 1, Math.max(0, 1 + Math.floor((probability - LOWEST) / BIN_WIDTH + 1e-9)))

/**
 * Area under the ROC curve of binned forecasts: the chance that a race which the upper barrier won had the higher
 * forecast than one that the lower barrier won; ties count one half. @returns `auc` NaN where only one side ever won
 */
export function areaUnder(
  up: Float64Array,
  down: Float64Array,
): { readonly auc: number; readonly ups: number; readonly downs: number } {
  let [ups, downs, placed] = [0, 0, 0]
  for (let bin = 0; bin < BINS; bin++) {
    const [won, lost] = [up[bin] ?? 0, down[bin] ?? 0]
    placed += won * (downs + lost / 2)
    ups += won
    downs += lost
  }
  return { auc: placed / (ups * downs), ups, downs }
}

/** Days running, of those that had outcomes, before calls are withdrawn or restored. */
const SPEECH_DAYS_RUNNING = 14

/** Version of the rule below. */
const RULE = 3
/** Below it a day speaks against calls; from `RESTORE` on for them. Between the two nothing changes back. */
const WITHDRAW = 0.505
const RESTORE = 0.515
/** From this bar length on the AUC of half a year is mostly chance. */
const LONG_BAR_MS = 30 * 60_000

/** Days of outcomes by which calls at a timeframe are judged. @example speechWindowDays('1h') === 730 */
export const speechWindowDays = (timeframe: Timeframe): number =>
  timeframeMs(timeframe) < LONG_BAR_MS ? 180 : 730

/** With fewer races in all, or won by either side, a day says nothing. */
const FEWEST_RACES = 1_000
const FEWEST_OF_A_SIDE = 100

/** A change takes effect at the second midnight after the day that decided it, so every process has folded it by then. */
const LEAD_DAYS = 2
/** A bar may be older than the newest change, not than several: a change takes two weeks. */
const CHANGES = 4

/** Calls at a timeframe were withdrawn, or restored. */
export interface SpeechChange extends JsonObject {
  readonly change: 'withdraw' | 'restore'
  readonly timeframe: Timeframe
  /** Applies to bars that close from here on, Unix milliseconds of market time. */
  readonly from: number
  /** The newest UTC day whose outcomes count: its begin. */
  readonly day: number
  readonly auc: number
  readonly races: number
  readonly days: number
  readonly rule: number
}

/** The skill of a model at a timeframe, and whether it makes calls there. */
export interface SpeechRow extends JsonObject {
  readonly modelVersion: string
  readonly timeframe: Timeframe
  readonly changes: readonly SpeechChange[]
  /** AUC of the newest day that is over; null if there are too few races. */
  readonly auc: number | null
  readonly races: number
  /** Consecutive days that asked for a change. */
  readonly running: number
  /** Numbers of the days within the window that have outcomes, ascending; the last one is not over. */
  readonly days: readonly number[]
}

/** The withdrawal that applies to a bar, Unix milliseconds of its close; undefined if there is none. */
export function withdrawalAt(row: SpeechRow | undefined, barClose: number): SpeechChange | undefined {
  const newest = row?.changes.findLast(({ from }) => from <= barClose)
  return newest?.change === 'withdraw' ? newest : undefined
}

/** Races of one day by forecast, won by the upper and by the lower barrier. */
interface DayRow extends JsonObject {
  readonly up: readonly number[]
  readonly down: readonly number[]
}

export const SPEECH_PREFIX = 'model/'
export const speechKey = (modelVersion: string, timeframe: Timeframe): string =>
  `${SPEECH_PREFIX}${modelVersion}/${timeframe}`
const dayKey = ({ modelVersion, timeframe }: Pick<SpeechRow, 'modelVersion' | 'timeframe'>, day: number) =>
  `day/${modelVersion}/${timeframe}/${day}`

const NO_RACES: readonly number[] = Array.from({ length: BINS }, () => 0)
const NO_DAY: DayRow = { up: NO_RACES, down: NO_RACES }

/**
 * Whether each model still has skill, judged day by day from its outcomes as the log has them, and the withdrawals that
 * follow. A day is over with the first outcome of a later one; a late label counts from the next judgement on. Every
 * process that folds the same log finds the same changes. A model at a timeframe has at most 730 rows of two hundred
 * numbers.
 */
export const speech: Projection<SpeechRow | DayRow> = {
  name: 'speech',
  version: 4,
  events: ['OutcomeLabelled'],
  fold(rows, event) {
    if (event.type === 'OutcomeLabelled') takeOutcome(rows, event.data)
  },
}

type SpeechRows = Rows<SpeechRow | DayRow>

const rowOf = (
  rows: SpeechRows,
  { modelVersion, timeframe }: Pick<Outcome, 'modelVersion' | 'timeframe'>,
): SpeechRow =>
  (rows.get(speechKey(modelVersion, timeframe)) as SpeechRow | undefined) ?? {
    modelVersion,
    timeframe,
    changes: [],
    auc: null,
    races: 0,
    running: 0,
    days: [],
  }

function takeOutcome(rows: SpeechRows, outcome: Outcome): void {
  const { race, recordedLate, validUntil, probability } = outcome
  // Only calls that are made can be withdrawn.
  const makesCalls = CALLING_AUC[outcome.timeframe] !== undefined
  if (!makesCalls || recordedLate || (race !== 'up' && race !== 'down')) return
  const day = Math.floor(validUntil / DAY_MS)
  let row = rowOf(rows, outcome)
  const newest = row.days.at(-1)
  if (newest !== undefined && day <= newest - speechWindowDays(row.timeframe)) return
  if (newest !== undefined && day > newest) row = forgetBefore(rows, judge(rows, row, newest), day)
  if (!row.days.includes(day)) {
    row = { ...row, days: [...row.days, day].toSorted((a, b) => a - b) }
    rows.put(speechKey(row.modelVersion, row.timeframe), row)
  }
  const key = dayKey(row, day)
  const races = (rows.get(key) as DayRow | undefined) ?? NO_DAY
  const bin = binOf(probability)
  rows.put(key, { ...races, [race]: races[race].with(bin, (races[race][bin] ?? 0) + 1) })
}

/** Drops the days before the window of a new one. */
function forgetBefore(rows: SpeechRows, row: SpeechRow, day: number): SpeechRow {
  const windowDays = speechWindowDays(row.timeframe)
  const isPast = (one: number): boolean => one <= day - windowDays
  for (const one of row.days.filter(isPast)) rows.delete(dayKey(row, one))
  return { ...row, days: row.days.filter((one) => !isPast(one)) }
}

/** Judges a model by a day that is over. */
function judge(rows: SpeechRows, row: SpeechRow, day: number): SpeechRow {
  const up = new Float64Array(BINS)
  const down = new Float64Array(BINS)
  for (const one of row.days) {
    const won = (rows.get(dayKey(row, one)) as DayRow | undefined) ?? NO_DAY
    // Each day that is over adds up to 730 others: pairs of an iterator cost ten times as much.
    for (let bin = 0; bin < BINS; bin++) {
      up[bin] = (up[bin] ?? 0) + (won.up[bin] ?? 0)
      down[bin] = (down[bin] ?? 0) + (won.down[bin] ?? 0)
    }
  }
  const { auc: measured, ups, downs } = areaUnder(up, down)
  const races = ups + downs
  if (races < FEWEST_RACES || Math.min(ups, downs) < FEWEST_OF_A_SIDE)
    return { ...row, auc: null, races, running: 0 }
  // For the days before the first outcome stands what the model scored outside of its fit.
  const share = Math.min(1, row.days.length / speechWindowDays(row.timeframe))
  const auc = share * measured + (1 - share) * (CALLING_AUC[row.timeframe] ?? measured)
  const change = row.changes.at(-1)?.change === 'withdraw' ? 'restore' : 'withdraw'
  const isAsked = change === 'withdraw' ? auc < WITHDRAW : auc >= RESTORE
  const running = isAsked ? row.running + 1 : 0
  if (running < SPEECH_DAYS_RUNNING) return { ...row, auc, races, running }
  const from = (day + LEAD_DAYS) * DAY_MS
  const evidence = { day: day * DAY_MS, auc, races, days: running, rule: RULE }
  const made = { change, timeframe: row.timeframe, from, ...evidence } as const
  return { ...row, auc, races, running: 0, changes: [...row.changes, made].slice(-CHANGES) }
}
