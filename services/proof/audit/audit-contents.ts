import type {
  OutcomeLabelled,
  ServiceEvent,
  VerdictRecorded,
  VerdictsMissing,
} from '../../../contracts/event-catalogue.ts'
import type { EventOf } from '../../../contracts/event-definition.ts'
import { isoTime } from '../../../contracts/iso-time.ts'
import { canonicalJson } from '../../../contracts/json.ts'
import type { Outcome } from '../../../contracts/outcome.ts'
import type { ModelAnnounced, MonitoringChanged } from '../../../contracts/proof-events.ts'
import { type Series, seriesName } from '../../../contracts/series.ts'
import { timeframeMs } from '../../../contracts/timeframes.ts'
import { type Verdict, WINDOW_BARS } from '../../../contracts/verdict.ts'
import { ENTRY_KINDS, type Entry } from '../tree/entry.ts'
import type { Findings } from './finding.ts'

/** What an outcome has to agree with. */
export type Judged = Pick<
  Verdict,
  | 'verdictId'
  | 'barClose'
  | 'validUntil'
  | 'modelVersion'
  | 'call'
  | 'probability'
  | 'barrier'
  | 'forecast'
  | 'recordedLate'
>

/** An outcome with the verdict that it is about, to be recomputed. */
export interface Pair {
  readonly index: number
  readonly verdict: Judged
  readonly outcome: Outcome
}

interface SeriesState {
  readonly series: Series
  /** Close of the last bar that is accounted for. */
  covered: number | undefined
  /** Verdicts that wait for their outcome, oldest first. */
  readonly open: Judged[]
  readonly pairs: Pair[]
}

export interface AuditedContents {
  /** Takes the contents in the order of the entries; undefined where one is not shown. */
  take(index: number, entry: Entry, event: ServiceEvent | undefined): void
  /** After the last: what is found at the end only. */
  end(): ContentsSummary
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
  /** Series that are followed and have not said anything for longer than their window. */
  readonly silent: readonly string[]
  readonly pairs: ReadonlyMap<string, { readonly series: Series; readonly pairs: readonly Pair[] }>
}

/** Contents of one window may be shown while those of another are fetched. */
const GRACE_MS = 15 * 60_000
/** Bars that a series may be late. */
const GRACE_BARS = 2

/** Checks what a log says against itself: this needs no word of anybody else. */
export function auditContents(
  findings: Findings,
  {
    origin,
    seen,
  }: {
    readonly origin: string
    readonly seen: { readonly size: number; readonly seenAt: number } | undefined
  },
): AuditedContents {
  const states = new Map<string, SeriesState>()
  const models = new Map<string, string>()
  const monitored = new Map<string, Set<string>>()
  const hidden: { readonly index: number; readonly opensAt: number }[] = []
  const hiddenTimes = new Set<number>()
  const counts = { verdicts: 0, outcomes: 0 }
  let horizon = 0
  let market: string | undefined

  function stateOf(series: Series): SeriesState {
    const name = seriesName(series)
    const state = states.get(name) ?? { series, covered: undefined, open: [], pairs: [] }
    states.set(name, state)
    return state
  }

  /** Bars between two that are accounted for; a verdict that is not shown yet may stand for one. */
  function checkGap(index: number, { series, covered }: SeriesState, next: number): void {
    if (covered === undefined) return
    const barMs = timeframeMs(series.timeframe)
    const windowMs = WINDOW_BARS[series.timeframe] * barMs
    let missing = 0
    for (let close = covered + barMs; close < next; close += barMs)
      if (!hiddenTimes.has(close + windowMs)) missing += 1
    if (missing === 0) return
    findings.add(
      'dropped_bar',
      index,
      `${seriesName(series)}: ${missing} bars between ${isoTime(covered)} and ${isoTime(next)} have neither a verdict nor a reason`,
    )
  }

  function takeVerdict(index: number, { data }: EventOf<typeof VerdictRecorded>): void {
    counts.verdicts += 1
    const state = stateOf(data)
    const { barClose, validUntil, modelVersion, recordedLate } = data
    const name = `${seriesName(data)} at ${isoTime(barClose)}`
    if (!models.has(modelVersion))
      findings.add(
        'unannounced_model',
        index,
        `${name} was computed with ${modelVersion}, which was not announced before`,
      )
    if (state.covered !== undefined && barClose <= state.covered) {
      findings.add('edited_verdict', index, `${name} has a verdict for the second time`)
      return
    }
    checkGap(index, state, barClose)
    state.covered = barClose
    state.open.push(data)
    if (market === 'live' && !recordedLate) {
      if (validUntil < horizon)
        findings.add(
          'backdated_verdict',
          index,
          `${name}: its window closed at ${isoTime(validUntil)}, and it stands behind what was known at ${isoTime(horizon)}`,
        )
      else if (seen !== undefined && index >= seen.size && validUntil <= seen.seenAt)
        findings.add(
          'backdated_verdict',
          index,
          `${name}: its window closed at ${isoTime(validUntil)}, and it was not there at ${isoTime(seen.seenAt)}`,
        )
    }
    horizon = Math.max(horizon, barClose)
  }

  function takeMissing(index: number, { data }: EventOf<typeof VerdictsMissing>): void {
    const state = stateOf(data)
    checkGap(index, state, data.from)
    if (state.covered === undefined || data.to > state.covered) state.covered = data.to
  }

  function takeOutcome(index: number, { data }: EventOf<typeof OutcomeLabelled>): void {
    counts.outcomes += 1
    const { open, pairs } = stateOf(data)
    const name = `${seriesName(data)} at ${isoTime(data.barClose)}`
    const at = open.findIndex(({ verdictId }) => verdictId === data.verdictId)
    const verdict = open[at]
    if (verdict === undefined)
      return findings.add('wrong_outcome', index, `${name} is of no verdict that waits for one`)
    for (const { barClose } of open.splice(0, at + 1).slice(0, -1))
      findings.add(
        'wrong_outcome',
        index,
        `${seriesName(data)} at ${isoTime(barClose)} has none, and the verdict behind it has`,
      )
    const differing = COPIED.filter((field) => canonicalJson(verdict[field]) !== canonicalJson(data[field]))
    if (differing.length > 0)
      return findings.add('wrong_outcome', index, `${name}: ${differing.join(', ')} differs from the verdict`)
    pairs.push({ index, verdict, outcome: data })
    // It was labelled when the window had closed.
    if (!data.recordedLate) horizon = Math.max(horizon, data.validUntil)
  }

  function takeModel(index: number, { data }: EventOf<typeof ModelAnnounced>): void {
    const known = models.get(data.modelVersion)
    if (known !== undefined && known !== data.sha256)
      findings.add(
        'unannounced_model',
        index,
        `${data.modelVersion} is another file than the one that was announced by this name`,
      )
    models.set(data.modelVersion, known ?? data.sha256)
  }

  function takeMonitored({ data: { exchange, monitored: coins } }: EventOf<typeof MonitoringChanged>): void {
    const names = coins.flatMap(({ coin, timeframes }) =>
      timeframes.map((timeframe) => seriesName({ exchange, coin, timeframe })),
    )
    monitored.set(exchange, new Set(names))
  }

  function takeEvent(index: number, event: ServiceEvent): void {
    switch (event.type) {
      case 'StoreInitialised':
        if (index > 0) findings.add('second_log', index, 'a second store begins in the midst of the log')
        market = event.data.market
        return
      case 'LogKeysPublished':
        if (event.data.origin !== origin || event.data.leaves !== null)
          findings.add(
            'second_log',
            index,
            `the log signed as ${event.data.leaves?.origin ?? event.data.origin}, and as ${event.data.origin} then: ${event.data.reason}`,
          )
        return
      case 'VerdictRecorded':
        return takeVerdict(index, event)
      case 'VerdictsMissing':
        return takeMissing(index, event)
      case 'OutcomeLabelled':
        return takeOutcome(index, event)
      case 'ModelAnnounced':
        return takeModel(index, event)
      case 'MonitoringChanged':
        return takeMonitored(event)
      default:
    }
  }

  return {
    take(index, entry, event) {
      if (index === 0 && event?.type !== 'StoreInitialised')
        findings.add('second_log', 0, 'the log does not begin with the identity of its store')
      if (event !== undefined) return takeEvent(index, event)
      hidden.push({ index, opensAt: entry.opensAt })
      hiddenTimes.add(entry.opensAt)
      if (entry.kind !== ENTRY_KINDS.VerdictRecorded && entry.opensAt === 0)
        findings.add('withheld_content', index, `entry ${index} may be shown at any time, and is not`)
    },
    end() {
      for (const { index, opensAt } of hidden)
        if (opensAt > 0 && opensAt + GRACE_MS < horizon)
          findings.add(
            'withheld_content',
            index,
            `entry ${index} was to be shown from ${isoTime(opensAt)} on`,
          )
      const silent = [...states].filter(([name, { series, covered = horizon }]) => {
        const barMs = timeframeMs(series.timeframe)
        const isFollowed = monitored.get(series.exchange)?.has(name) === true
        return isFollowed && covered + (1 + GRACE_BARS + WINDOW_BARS[series.timeframe]) * barMs < horizon
      })
      const pairs = new Map(
        [...states].map(([name, state]) => [name, { series: state.series, pairs: state.pairs }]),
      )
      return {
        ...counts,
        hidden: hidden.length,
        models: models.size,
        horizon,
        market,
        silent: silent.map(([name]) => name),
        pairs,
      }
    },
  }
}

/** What an outcome repeats of its verdict. */
const COPIED = [
  'barClose',
  'validUntil',
  'modelVersion',
  'call',
  'probability',
  'barrier',
  'forecast',
  'recordedLate',
] as const
