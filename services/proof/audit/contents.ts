import { isoTime } from '../../../contracts/domain/iso-time.ts'
import { type Outcome, outcomeSchema } from '../../../contracts/domain/outcome.ts'
import { type Series, seriesName } from '../../../contracts/domain/series.ts'
import { HOUR_MS, timeframeMs } from '../../../contracts/domain/timeframes.ts'
import {
  barsMissed,
  inTimeUntil,
  isLate,
  type Verdict,
  verdictSchema,
  WINDOW_BARS,
} from '../../../contracts/domain/verdict.ts'
import type { ServiceEvent } from '../../../contracts/events/event-catalogue.ts'
import type { Findings, Fraud } from './finding.ts'
import { type AuditedSeries, racedOf } from './outcomes.ts'
import type { LogEntry } from './read-log.ts'

interface SeriesState extends AuditedSeries {
  /** Verdicts that wait for their outcome, oldest first, with the fields that it repeats as text. */
  readonly open: (Pick<Verdict, 'verdictId' | 'barClose' | 'validUntil' | 'recordedLate'> & {
    readonly repeated: string
  })[]
}

/** Contents of one window may be shown while those of another are fetched. */
const GRACE_MS = 15 * 60_000
/**
 * Verdicts that a series may record after a window whose outcome is still missing. A live market goes bar by bar, and an
 * outcome is appended no later than with the bar after the next; other markets advance many bars at a time.
 */
const VERDICTS_AHEAD = { live: 3, others: 256 } as const
/** An append may be repeated for so long; only short bars close meanwhile. */
const APPEND_MS = 2 * 60_000
const SHORT_BAR_MS = 15 * 60_000
/** By how much the clocks of service and auditor may differ, and how long a checkpoint takes to be signed. */
const CLOCKS_MS = 5 * 60_000

const nameOf = (series: Series, barClose: number): string => `${seriesName(series)} at ${isoTime(barClose)}`

/** Compares the contents of a log with one another, in the order of its entries. */
export class LogContents {
  readonly #findings: Findings
  readonly #earlier: { readonly size: number; readonly at: number } | undefined
  readonly #states = new Map<string, SeriesState>()
  /** Hashes of announced model files, by model version. */
  readonly #models = new Map<string, string>()
  /** Entries whose content is not shown, by the market time from which it is. */
  readonly #hidden = new Map<number, number[]>()
  /** Index of the last verdict that was in time within each hour. */
  readonly #lastInTime = new Map<number, number>()
  /** Late verdicts are marked so and count for nothing; missing ones are bars in gaps that the log records. */
  readonly #counts = { verdicts: 0, outcomes: 0, late: 0, missing: 0 }
  /** Newest market time that the log names: its clock, since an entry is recorded after the time that it names. */
  #horizon = 0
  #origin: string | undefined
  #market: string | undefined
  #index = 0

  /** @param earlier an audit of the same log, by the clock of the auditor */
  constructor(findings: Findings, earlier: { readonly size: number; readonly at: number } | undefined) {
    this.#findings = findings
    this.#earlier = earlier
  }

  take({ index, hiddenUntil, event }: LogEntry): void {
    this.#index = index
    if (event !== undefined) this.#takeEvent(event)
    if (hiddenUntil === undefined) return
    const others = this.#hidden.get(hiddenUntil)
    if (others === undefined) this.#hidden.set(hiddenUntil, [index])
    else others.push(index)
  }

  #takeEvent({ type, data }: ServiceEvent): void {
    if (type === 'LogBegun') this.#market = data.market
    else if (type === 'VerdictRecorded') this.#takeVerdict(data)
    else if (type === 'OutcomeLabelled') this.#takeOutcome(data)
    else if (type === 'LogKeysPublished') {
      const before = data.leaves?.origin ?? this.#origin ?? data.origin
      this.#origin = data.origin
      const change = `the log signs as ${data.origin}, and as ${before} before: ${data.reason}`
      if (before !== data.origin) this.#found('second_history', change)
    } else if (type === 'ModelAnnounced') {
      const known = this.#models.get(data.modelVersion) ?? data.sha256
      this.#models.set(data.modelVersion, known)
      if (known !== data.sha256)
        this.#found('unannounced_model', `${data.modelVersion} has another file than before`)
    }
  }

  end() {
    for (const [opensAt, indexes] of this.#hidden)
      if (opensAt + GRACE_MS < this.#horizon) {
        const why = `its content is not shown, and was to be from ${isoTime(opensAt)} on`
        for (const index of indexes) this.#findings.add('edited_verdict', index, why)
      }
    const series = [...this.#states.values()]
    for (const state of series) this.#checkUnlabelled(state)
    const summary = {
      ...this.#counts,
      hidden: [...this.#hidden.values()].flat().length,
      models: this.#models.size,
      /** Unix milliseconds. */
      horizon: this.#horizon,
      market: this.#market,
    }
    return { summary, series }
  }

  /** Entries before this index are over an hour old: a verdict that was in time is after them. */
  settled(): number {
    const hours = [...this.#lastInTime].filter(([hour]) => (hour + 2) * HOUR_MS <= this.#horizon)
    return Math.max(0, ...hours.map(([, index]) => index))
  }

  #found(fraud: Fraud, message: string): void {
    this.#findings.add(fraud, this.#index, message)
  }

  #stateOf({ exchange, coin, timeframe }: Series): SeriesState {
    const series = { exchange, coin, timeframe }
    const begun = { series, covered: 0, gaps: [], open: [], outcomes: [] }
    const state = this.#states.get(seriesName(series)) ?? begun
    this.#states.set(seriesName(series), state)
    return state
  }

  #takeVerdict(verdict: Verdict): void {
    this.#counts.verdicts += 1
    if (verdict.recordedLate) this.#counts.late += 1
    const state = this.#stateOf(verdict)
    const { verdictId, barClose, validUntil, modelVersion, recordedLate, timeframe } = verdict
    const name = nameOf(verdict, barClose)
    const barMs = timeframeMs(timeframe)
    const model = `${modelVersion}, which was not announced before`
    if (!this.#models.has(modelVersion))
      this.#found('unannounced_model', `${name} was computed with ${model}`)
    if (Math.floor(barClose / barMs) * barMs <= state.covered)
      return this.#found('second_verdict', `${name} has a verdict already`)
    if (validUntil !== barClose + WINDOW_BARS[timeframe] * barMs)
      this.#found('wrong_outcome', `${name} has another window than its timeframe`)
    this.#checkPrevious(state, verdict)
    state.covered = barClose
    const repeated = repeatedText({ ...verdict, barsMissed: barsMissed(verdict) })
    state.open.push({ verdictId, barClose, validUntil, recordedLate, repeated })
    this.#checkInTime(verdict)
    this.#horizon = Math.max(this.#horizon, barClose)
  }

  /** A verdict names the one before it in the log, or one that is not shown yet; the bars between them are a recorded gap. */
  #checkPrevious({ covered, gaps }: SeriesState, verdict: Verdict): void {
    const { barClose, previous, timeframe } = verdict
    const barMs = timeframeMs(timeframe)
    const named = previous?.barClose ?? 0
    const missed = barsMissed(verdict)
    this.#counts.missing += missed
    if (missed > 0) gaps.push([named + barMs, barClose - barMs])
    const isHidden = named > covered && this.#hidden.has(named + WINDOW_BARS[timeframe] * barMs)
    if (named === covered || isHidden) return
    const [one, other] = [named, covered].map((time) => (time === 0 ? 'none' : isoTime(time)))
    const name = nameOf(verdict, barClose)
    this.#found('dropped_bar', `${name} names ${one} as the verdict before it; the log has ${other}`)
  }

  /** Only a live market is in time. */
  #checkInTime(verdict: Verdict): void {
    if (verdict.recordedLate || this.#market !== 'live') return
    const appendMs = timeframeMs(verdict.timeframe) < SHORT_BAR_MS ? APPEND_MS : 0
    const wasLate = (at: number): boolean => isLate(verdict, at - appendMs)
    const add = (why: string): void =>
      this.#found('backdated_verdict', `${nameOf(verdict, verdict.barClose)} is not marked late, and ${why}`)
    const { size, at } = this.#earlier ?? { size: 0, at: 0 }
    if (wasLate(this.#horizon)) add(`was recorded after ${isoTime(this.#horizon)}`)
    else if (this.#index >= size && wasLate(at - CLOCKS_MS))
      add(`an earlier audit at ${isoTime(at)} did not find it`)
    else this.#lastInTime.set(Math.floor(inTimeUntil(verdict) / HOUR_MS), this.#index)
  }

  #takeOutcome(outcome: Outcome): void {
    this.#counts.outcomes += 1
    const { open, outcomes } = this.#stateOf(outcome)
    const name = nameOf(outcome, outcome.barClose)
    const add = (message: string): void => this.#found('wrong_outcome', message)
    const place = open.findIndex(({ verdictId }) => verdictId === outcome.verdictId)
    if (place < 0) return add(`${name} is of no verdict that waits for an outcome`)
    for (const { barClose } of open.splice(0, place))
      add(`${nameOf(outcome, barClose)} has no outcome, and the verdict after it has`)
    const [verdict] = open.splice(0, 1)
    const repeated = repeatedText(outcome)
    if (verdict?.repeated !== repeated)
      return add(`${name} says ${repeated} of its verdict, which says ${verdict?.repeated}`)
    outcomes.push(racedOf(this.#index, outcome))
    // It was labelled when the window had closed.
    if (!outcome.recordedLate) this.#horizon = Math.max(this.#horizon, outcome.validUntil)
  }

  /** Finds verdicts whose outcome is still missing although later verdicts were recorded. */
  #checkUnlabelled({ series, open }: SeriesState): void {
    const ahead = this.#market === 'live' ? VERDICTS_AHEAD.live : VERDICTS_AHEAD.others
    const reached = open.filter(({ recordedLate }) => !recordedLate).at(-ahead)?.barClose ?? 0
    for (const { barClose, validUntil } of open)
      if (validUntil + GRACE_MS < reached) {
        const why = `${nameOf(series, barClose)} has no outcome, though verdicts were recorded after its window`
        this.#findings.add('wrong_outcome', null, why)
      }
  }
}

/** The fields of a verdict that its outcome repeats. */
const REPEATED = Object.keys(outcomeSchema.shape).filter(
  (field) => field in verdictSchema.shape || field === 'barsMissed',
) as (keyof Outcome)[]

const repeatedText = (outcome: Partial<Outcome>): string =>
  JSON.stringify(REPEATED.map((field) => outcome[field]))
