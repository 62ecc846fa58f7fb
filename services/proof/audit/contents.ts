import type { ServiceEvent } from '../../../contracts/event-catalogue.ts'
import type { EventOf } from '../../../contracts/event-definition.ts'
import { isoTime } from '../../../contracts/iso-time.ts'
import type { Outcome } from '../../../contracts/outcome.ts'
import type { LogKeysPublished } from '../../../contracts/proof-events.ts'
import { type Series, seriesName } from '../../../contracts/series.ts'
import { HOUR_MS, timeframeMs } from '../../../contracts/timeframes.ts'
import { barsMissed, inTimeUntil, isLate, type Verdict, WINDOW_BARS } from '../../../contracts/verdict.ts'
import type { Findings } from './finding.ts'
import type { AuditedSeries, OutcomeTable } from './outcomes.ts'

interface SeriesState extends AuditedSeries {
  /** Verdicts that wait for their outcome, oldest first. */
  readonly open: OpenVerdict[]
}

interface OpenVerdict extends Pick<Verdict, 'verdictId' | 'barClose' | 'validUntil' | 'recordedLate'> {
  /** The fields that its outcome repeats, as text. */
  readonly repeated: string
}

/** An earlier audit of the same log, by the clock of the auditor. */
type EarlierAudit = { readonly size: number; readonly at: number } | undefined

/** The fields of a verdict that its outcome repeats. */
const REPEATED = [
  'barClose',
  'validUntil',
  'modelVersion',
  'call',
  'probability',
  'barrier',
  'forecast',
  'recordedLate',
  'barsMissed',
] as const

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
  readonly #earlier: EarlierAudit
  readonly #table: OutcomeTable
  readonly #states = new Map<string, SeriesState>()
  /** Hashes of announced model files, by model version. */
  readonly #models = new Map<string, string>()
  readonly #hidden: { readonly index: number; readonly opensAt: number }[] = []
  readonly #hiddenTimes = new Set<number>()
  /** Index of the last verdict that was in time within each hour. */
  readonly #lastInTime = new Map<number, number>()
  /** Late verdicts are marked so and count for nothing; missing ones are bars in gaps that the log records. */
  readonly #counts = { verdicts: 0, outcomes: 0, late: 0, missing: 0 }
  #horizon = 0
  #origin: string | undefined
  #market: string | undefined

  constructor(findings: Findings, table: OutcomeTable, earlier: EarlierAudit) {
    this.#findings = findings
    this.#table = table
    this.#earlier = earlier
  }

  /** An entry whose content is not shown before a market time; Unix milliseconds. */
  hide(index: number, opensAt: number): void {
    this.#hidden.push({ index, opensAt })
    this.#hiddenTimes.add(opensAt)
  }

  take(index: number, event: ServiceEvent): void {
    switch (event.type) {
      case 'LogBegun':
        this.#market = event.data.market
        return
      case 'LogKeysPublished':
        return this.#checkOrigin(index, event.data)
      case 'ModelAnnounced': {
        const { modelVersion, sha256 } = event.data
        const known = this.#models.get(modelVersion) ?? sha256
        this.#models.set(modelVersion, known)
        if (known !== sha256)
          this.#findings.add('unannounced_model', index, `${modelVersion} has another file than before`)
        return
      }
      case 'VerdictRecorded':
        return this.#takeVerdict(index, event.data)
      case 'OutcomeLabelled':
        return this.#takeOutcome(index, event.data)
      default:
    }
  }

  /** Makes the checks that need the whole log. */
  end() {
    for (const { index, opensAt } of this.#hidden)
      if (opensAt + GRACE_MS < this.#horizon)
        this.#findings.add(
          'edited_verdict',
          index,
          `its content is not shown, and was to be from ${isoTime(opensAt)} on`,
        )
    const series = [...this.#states.values()]
    for (const state of series) this.#checkUnlabelled(state)
    const summary = {
      ...this.#counts,
      /** Entries whose window is open. */
      hidden: this.#hidden.length,
      models: this.#models.size,
      /** Newest market time that the log names, Unix milliseconds. */
      horizon: this.#horizon,
      market: this.#market,
    }
    return { summary, series }
  }

  /** Entries before this index are over an hour old: a verdict that was in time stands after them. */
  settled(): number {
    const hours = [...this.#lastInTime].filter(([hour]) => (hour + 2) * HOUR_MS <= this.#horizon)
    return Math.max(0, ...hours.map(([, index]) => index))
  }

  #stateOf(series: Series): SeriesState {
    const name = seriesName(series)
    const known = this.#states.get(name)
    if (known !== undefined) return known
    const { exchange, coin, timeframe } = series
    const about = { exchange, coin, timeframe }
    const state: SeriesState = { series: about, covered: 0, gaps: [], rows: [], open: [] }
    this.#states.set(name, state)
    return state
  }

  #checkOrigin(index: number, { origin, leaves, reason }: EventOf<typeof LogKeysPublished>['data']): void {
    const before = leaves?.origin ?? this.#origin ?? origin
    this.#origin = origin
    if (before !== origin)
      this.#findings.add(
        'second_history',
        index,
        `the log signs as ${origin}, and as ${before} before: ${reason}`,
      )
  }

  #takeVerdict(index: number, verdict: Verdict): void {
    this.#counts.verdicts += 1
    if (verdict.recordedLate) this.#counts.late += 1
    const state = this.#stateOf(verdict)
    const { verdictId, barClose, validUntil, modelVersion, recordedLate, timeframe } = verdict
    const name = nameOf(verdict, barClose)
    const barMs = timeframeMs(timeframe)
    if (!this.#models.has(modelVersion))
      this.#findings.add(
        'unannounced_model',
        index,
        `${name} was computed with ${modelVersion}, which was not announced before`,
      )
    if (Math.floor(barClose / barMs) * barMs <= state.covered)
      return this.#findings.add('second_verdict', index, `${name} has a verdict already`)
    if (validUntil !== barClose + WINDOW_BARS[timeframe] * barMs)
      this.#findings.add('wrong_outcome', index, `${name} has another window than its timeframe`)
    this.#checkPrevious(index, state, verdict)
    state.covered = barClose
    const repeated = repeatedText({ ...verdict, barsMissed: barsMissed(verdict) })
    state.open.push({ verdictId, barClose, validUntil, recordedLate, repeated })
    this.#checkInTime(index, verdict)
    this.#horizon = Math.max(this.#horizon, barClose)
  }

  /** A verdict names the one before it in the log, or one that is not shown yet; the bars between them are a recorded gap. */
  #checkPrevious(index: number, { covered, gaps }: SeriesState, verdict: Verdict): void {
    const { barClose, previous, timeframe } = verdict
    const barMs = timeframeMs(timeframe)
    const named = previous?.barClose ?? 0
    const missed = barsMissed(verdict)
    this.#counts.missing += missed
    if (missed > 0) gaps.push([named + barMs, barClose - barMs])
    if (named === covered) return
    if (named > covered && this.#hiddenTimes.has(named + WINDOW_BARS[timeframe] * barMs)) return
    const timeOf = (time: number): string => (time === 0 ? 'none' : isoTime(time))
    this.#findings.add(
      'dropped_bar',
      index,
      `${nameOf(verdict, barClose)} names ${timeOf(named)} as the verdict before it; the log has ${timeOf(covered)}`,
    )
  }

  /** The order of the log is a clock: an entry that names a market time was recorded after it. Only a live market is in time. */
  #checkInTime(index: number, verdict: Verdict): void {
    if (verdict.recordedLate || this.#market !== 'live') return
    const appendMs = timeframeMs(verdict.timeframe) < SHORT_BAR_MS ? APPEND_MS : 0
    const wasLate = (at: number): boolean => isLate(verdict, at - appendMs)
    const add = (why: string): void =>
      this.#findings.add('backdated_verdict', index, `${nameOf(verdict, verdict.barClose)} ${why}`)
    const earlier = this.#earlier
    if (wasLate(this.#horizon)) add(`was recorded after ${isoTime(this.#horizon)}, and is not marked late`)
    else if (earlier !== undefined && index >= earlier.size && wasLate(earlier.at - CLOCKS_MS))
      add(`is not marked late, and an earlier audit at ${isoTime(earlier.at)} did not find it`)
    else this.#lastInTime.set(Math.floor(inTimeUntil(verdict) / HOUR_MS), index)
  }

  #takeOutcome(index: number, outcome: Outcome): void {
    this.#counts.outcomes += 1
    const { open, rows } = this.#stateOf(outcome)
    const name = nameOf(outcome, outcome.barClose)
    const add = (message: string): void => this.#findings.add('wrong_outcome', index, message)
    const place = open.findIndex(({ verdictId }) => verdictId === outcome.verdictId)
    if (place < 0) return add(`${name} is of no verdict that waits for an outcome`)
    for (const { barClose } of open.splice(0, place))
      add(`${nameOf(outcome, barClose)} has no outcome, and the verdict after it has`)
    const [verdict] = open.splice(0, 1)
    const repeated = repeatedText(outcome)
    if (verdict?.repeated !== repeated)
      return add(`${name} says ${repeated} of its verdict, which says ${verdict?.repeated}`)
    rows.push(this.#table.add(index, outcome))
    // It was labelled when the window had closed.
    if (!outcome.recordedLate) this.#horizon = Math.max(this.#horizon, outcome.validUntil)
  }

  /** Finds verdicts whose outcome is still missing although later verdicts were recorded. */
  #checkUnlabelled({ series, open }: SeriesState): void {
    const ahead = this.#market === 'live' ? VERDICTS_AHEAD.live : VERDICTS_AHEAD.others
    const reached = open.filter(({ recordedLate }) => !recordedLate).at(-ahead)?.barClose ?? 0
    for (const { barClose, validUntil } of open)
      if (validUntil + GRACE_MS < reached)
        this.#findings.add(
          'wrong_outcome',
          null,
          `${nameOf(series, barClose)} has no outcome, though verdicts were recorded after its window`,
        )
  }
}

const repeatedText = (outcome: Pick<Outcome, (typeof REPEATED)[number]>): string =>
  JSON.stringify(REPEATED.map((field) => outcome[field]))
