import type { OutcomeLabelled, ServiceEvent, VerdictRecorded } from '../../../contracts/event-catalogue.ts'
import type { EventOf } from '../../../contracts/event-definition.ts'
import { isoTime } from '../../../contracts/iso-time.ts'
import { canonicalJson } from '../../../contracts/json.ts'
import type { ModelAnnounced } from '../../../contracts/proof-events.ts'
import { type Series, seriesName } from '../../../contracts/series.ts'
import { TIMEFRAMES, timeframeMs } from '../../../contracts/timeframes.ts'
import { barsMissed, type Verdict, WINDOW_BARS } from '../../../contracts/verdict.ts'
import { ENTRY_KINDS, type Entry } from '../tree/entry.ts'
import type { AuditState } from './audited-history.ts'
import type { Findings } from './finding.ts'
import { COPIED, type Judged, judged, Outcomes } from './labelled.ts'
import { Timeliness } from './timeliness.ts'

interface SeriesState {
  readonly series: Series
  /** Close of the last bar with a verdict that is shown. */
  covered: number | undefined
  /** Verdicts that wait for their outcome, oldest first. */
  readonly open: Judged[]
  readonly outcomes: Outcomes
  /** Without verdicts, oldest first. */
  readonly stretches: Stretch[]
  /** Bars of a window, by the model: the newest, and those that were before it. */
  readonly windows: Map<string, readonly number[]>
}

/** Closes of the first and the last bar of a stretch without verdicts. */
export interface Stretch {
  readonly from: number
  readonly to: number
}

/** The part of a series that is compared with bars. */
export interface AuditedSeries {
  readonly series: Series
  readonly outcomes: Outcomes
  readonly stretches: readonly Stretch[]
  /** Close of the last bar with a verdict. */
  readonly covered: number
}

export interface ContentsSummary {
  readonly verdicts: number
  readonly outcomes: number
  /** Verdicts whose window is open. */
  readonly hidden: number
  readonly models: number
  /** Newest market time that the log speaks of, Unix milliseconds. */
  readonly horizon: number
  readonly market: string | undefined
  readonly series: readonly AuditedSeries[]
  /** Verdicts that count for nothing since they are said to be late. */
  readonly late: number
  /** Bars without a verdict in front of one that is shown. */
  readonly missing: number
  /** Entries before this one were there an hour before the newest. */
  readonly settled: number
}

/** Contents of one window may be shown while those of another are fetched. */
const GRACE_MS = 15 * 60_000

/** Bars that no window has, also of later releases. */
export const MOST_WINDOW_BARS = 64
/** Longer than the window of any timeframe, with a margin for clocks that are wrong. */
const NO_WINDOW_MS = (MOST_WINDOW_BARS + 1) * Math.max(...TIMEFRAMES.map(timeframeMs))
/**
 * Verdicts that a series may record after a window whose outcome is still missing. A live market goes bar by bar, and an
 * outcome is appended no later than with the bar after the next; other markets advance many bars at a time.
 */
const VERDICTS_AHEAD = { live: 3, others: 256 } as const

/** Facts that an audit has from elsewhere than the log. */
export interface AuditContext {
  readonly origin: string
  /** The state that the former audit kept. */
  readonly seen: AuditState | undefined
  /** Unix milliseconds. */
  readonly now: number
}

/** Checks the contents of a log against one another. */
export class AuditedContents {
  readonly #findings: Findings
  readonly #context: AuditContext
  readonly #states = new Map<string, SeriesState>()
  readonly #models = new Map<string, string>()
  readonly #hidden: { readonly index: number; readonly opensAt: number }[] = []
  readonly #hiddenTimes = new Set<number>()
  readonly #counts = { verdicts: 0, outcomes: 0, late: 0, missing: 0 }
  readonly #timeliness: Timeliness
  #horizon = 0
  #market: string | undefined

  constructor(findings: Findings, context: AuditContext) {
    this.#findings = findings
    this.#context = context
    this.#timeliness = new Timeliness(findings, context.seen)
  }

  /**
   * Takes the contents in the order of the entries.
   *
   * @param event undefined where it is not shown
   */
  take(index: number, entry: Entry, event: ServiceEvent | undefined): void {
    if (index === 0 && event?.type !== 'LogBegun')
      this.#findings.add('second_log', 0, 'the log does not begin with the identity of its store')
    if (event !== undefined) return this.#takeEvent(index, event)
    this.#hidden.push({ index, opensAt: entry.opensAt })
    this.#hiddenTimes.add(entry.opensAt)
    if (entry.kind !== ENTRY_KINDS.VerdictRecorded && entry.opensAt === 0)
      this.#findings.add('withheld_content', index, `entry ${index} may be shown at any time, and is not`)
  }

  /** Call it after the last entry: makes the checks that need the whole log. */
  end(): ContentsSummary {
    this.#checkHidden()
    const states = [...this.#states.values()]
    for (const state of states) this.#checkUnlabelled(state)
    return {
      ...this.#counts,
      hidden: this.#hidden.length,
      models: this.#models.size,
      horizon: this.#horizon,
      market: this.#market,
      settled: this.#timeliness.settled(this.#horizon),
      series: states.map((state) => ({ ...state, covered: state.covered ?? 0 })),
    }
  }

  #stateOf(series: Series): SeriesState {
    const name = seriesName(series)
    const state = this.#states.get(name) ?? {
      series,
      covered: undefined,
      open: [],
      outcomes: new Outcomes(),
      stretches: [],
      windows: new Map(),
    }
    this.#states.set(name, state)
    return state
  }

  /** A verdict follows on the one before it in the log, or on one that is not shown yet; bars between them are counted. */
  #takePrevious(index: number, { series, covered, stretches }: SeriesState, verdict: Verdict): void {
    const { barClose, previous } = verdict
    const barMs = timeframeMs(series.timeframe)
    const said = previous?.barClose
    const missed = barsMissed(verdict)
    if (said !== undefined && missed > 0) stretches.push({ from: said + barMs, to: barClose - barMs })
    this.#counts.missing += missed
    if (said === covered) return
    const windowMs = WINDOW_BARS[series.timeframe] * barMs
    if (said !== undefined && said > (covered ?? 0) && this.#hiddenTimes.has(said + windowMs)) return
    const nameOf = (time: number | undefined) => (time === undefined ? 'none' : isoTime(time))
    this.#findings.add(
      'dropped_bar',
      index,
      `${seriesName(series)} at ${isoTime(barClose)} follows on ${nameOf(said)}; the verdict before it in the log is ${nameOf(covered)}`,
    )
  }

  /**
   * A verdict belongs to a bar of its timeframe, and its window is as long as that of its neighbours: an operator who chose the
   * length would choose the outcome. A release may change the length once, and never back.
   */
  #checkWindow(index: number, { series, windows }: SeriesState, verdict: Verdict): void {
    const { barClose, validUntil, modelVersion } = verdict
    const barMs = timeframeMs(series.timeframe)
    const name = `${seriesName(series)} at ${isoTime(barClose)}`
    if (barClose % barMs !== 0)
      this.#findings.add('edited_verdict', index, `${name}: no bar of ${series.timeframe} closes then`)
    const bars = (validUntil - barClose) / barMs
    const known = windows.get(modelVersion) ?? []
    const newest = known.at(-1)
    if (bars === newest) return
    windows.set(modelVersion, [...known.filter((one) => one !== bars), bars])
    if (known.includes(bars))
      this.#findings.add(
        'wrong_outcome',
        index,
        `${name}: its window has ${bars} bars, as others had before those with ${newest}`,
      )
  }

  #takeVerdict(index: number, { data }: EventOf<typeof VerdictRecorded>): void {
    this.#counts.verdicts += 1
    const state = this.#stateOf(data)
    const { barClose, modelVersion } = data
    const name = `${seriesName(data)} at ${isoTime(barClose)}`
    if (!this.#models.has(modelVersion))
      this.#findings.add(
        'unannounced_model',
        index,
        `${name} was computed with ${modelVersion}, which was not announced before`,
      )
    if (state.covered !== undefined && barClose <= state.covered) {
      this.#findings.add('edited_verdict', index, `${name} has a verdict for the second time`)
      return
    }
    if (data.recordedLate) this.#counts.late += 1
    this.#checkWindow(index, state, data)
    this.#takePrevious(index, state, data)
    state.covered = barClose
    state.open.push(judged(data))
    if (this.#market === 'live') this.#timeliness.takeVerdict(index, data, this.#horizon)
    this.#horizon = Math.max(this.#horizon, barClose)
  }

  #takeOutcome(index: number, { data }: EventOf<typeof OutcomeLabelled>): void {
    this.#counts.outcomes += 1
    const { open, outcomes } = this.#stateOf(data)
    const name = `${seriesName(data)} at ${isoTime(data.barClose)}`
    const at = open.findIndex(({ verdictId }) => verdictId === data.verdictId)
    const verdict = open[at]
    if (verdict === undefined)
      return this.#findings.add('wrong_outcome', index, `${name} is of no verdict that waits for one`)
    for (let passed = open.shift(); passed !== undefined && passed !== verdict; passed = open.shift())
      this.#findings.add(
        'wrong_outcome',
        index,
        `${seriesName(data)} at ${isoTime(passed.barClose)} has none, and the verdict after it has`,
      )
    const differing = COPIED.filter(
      (field) =>
        verdict[field] !== data[field] &&
        JSON.stringify(verdict[field]) !== JSON.stringify(data[field]) &&
        canonicalJson(verdict[field] ?? null) !== canonicalJson(data[field] ?? null),
    )
    if (differing.length > 0)
      return this.#findings.add(
        'wrong_outcome',
        index,
        `${name}: ${differing.join(', ')} differs from the verdict`,
      )
    if (!outcomes.add(index, data))
      return this.#findings.add('wrong_outcome', index, `${name} has a text where a number belongs`)
    // It was labelled when the window had closed.
    if (!data.recordedLate) this.#horizon = Math.max(this.#horizon, data.validUntil)
  }

  #takeModel(index: number, { data }: EventOf<typeof ModelAnnounced>): void {
    const known = this.#models.get(data.modelVersion)
    if (known !== undefined && known !== data.sha256)
      this.#findings.add(
        'unannounced_model',
        index,
        `${data.modelVersion} is another file than the one that was announced by this name`,
      )
    this.#models.set(data.modelVersion, known ?? data.sha256)
  }

  #takeEvent(index: number, event: ServiceEvent): void {
    switch (event.type) {
      case 'LogBegun':
        if (index > 0)
          this.#findings.add('second_log', index, 'a second store begins in the midst of the log')
        this.#market = event.data.market
        return
      case 'LogKeysPublished':
        if (event.data.origin !== this.#context.origin || event.data.leaves !== null)
          this.#findings.add(
            'second_log',
            index,
            `the log signed as ${event.data.leaves?.origin ?? event.data.origin}, and as ${event.data.origin} then: ${event.data.reason}`,
          )
        return
      case 'VerdictRecorded':
        return this.#takeVerdict(index, event)
      case 'OutcomeLabelled':
        return this.#takeOutcome(index, event)
      case 'ModelAnnounced':
        return this.#takeModel(index, event)
      default:
    }
  }

  #checkHidden(): void {
    for (const { index, opensAt } of this.#hidden) {
      if (this.#market === 'live' && opensAt > this.#context.now + NO_WINDOW_MS)
        this.#findings.add(
          'withheld_content',
          index,
          `entry ${index} is not to be shown before ${isoTime(opensAt)}: no window is that long`,
        )
      if (opensAt > 0 && opensAt + GRACE_MS < this.#horizon)
        this.#findings.add(
          'withheld_content',
          index,
          `entry ${index} was to be shown from ${isoTime(opensAt)} on`,
        )
    }
  }

  /** Finds verdicts whose outcome is still missing although later verdicts were recorded. */
  #checkUnlabelled({ series, open }: SeriesState): void {
    const ahead = this.#market === 'live' ? VERDICTS_AHEAD.live : VERDICTS_AHEAD.others
    const inTime = open.filter(({ recordedLate }) => !recordedLate)
    const reached = inTime.at(-ahead)
    if (reached === undefined) return
    for (const { barClose, validUntil } of open)
      if (validUntil + GRACE_MS < reached.barClose)
        this.#findings.add(
          'wrong_outcome',
          null,
          `${seriesName(series)} at ${isoTime(barClose)} has none, though its window closed at ${isoTime(validUntil)} and verdicts were recorded since`,
        )
  }
}
