import type { BackupDrill } from '../../contracts/drill-events.ts'
import type { EventType } from '../../contracts/event-catalogue.ts'
import type { Exchange } from '../../contracts/exchanges.ts'
import type { JsonObject } from '../../contracts/json.ts'
import type { IncidentKind } from '../../contracts/status-answer.ts'
import { DAY_MS, timeframeMs } from '../../contracts/timeframes.ts'
import type { MissingReason, VerdictsMissing } from '../../contracts/verdicts-missing.ts'
import type { Projection, Rows } from '../projection.ts'

/** Something that the record lacks, or that was recorded later than it happened. */
export interface Incident extends JsonObject {
  /** When it was recorded, ISO 8601. */
  readonly at: string
  /** Market time, Unix milliseconds; null where it has none, or has not ended. */
  readonly from: number | null
  readonly to: number | null
  /** Events that were lost, where that is known. */
  readonly events: number | null
  /** Model and timeframe, as in `barrier-3 1h`. */
  readonly subject: string | null
}

/** The newest incidents of a kind, oldest first, and how many there were in all. Key: {@link incidentsKey}. */
export interface IncidentsRow extends JsonObject {
  readonly count: number
  readonly newest: readonly Incident[]
}

/** Bars of an exchange without a verdict. Key: {@link gapsKey}. */
export interface GapsRow extends JsonObject {
  readonly exchange: Exchange
  readonly reasons: { readonly [Reason in MissingReason]?: number }
  /** By UTC day of the close of the bars; the newest {@link DAYS_KEPT} days. */
  readonly days: Readonly<Record<string, number>>
}

/** The newest restore on trial. Key: {@link NEWEST_DRILL}. */
export interface DrillRow extends BackupDrill, JsonObject {
  readonly at: string
}

export const NEWEST_DRILL = 'drill'
export const GAPS_PREFIX = 'gaps/'
export const gapsKey = (exchange: Exchange): string => `${GAPS_PREFIX}${exchange}`
export const incidentsKey = (kind: IncidentKind): string => `incidents/${kind}`

const INCIDENTS_KEPT = 20
const DAYS_KEPT = 90

type LossRow = IncidentsRow | GapsRow | DrillRow

/** Gaps and incidents of the record, and the newest restore on trial: what everybody may know of them. */
export const losses: Projection<LossRow> = {
  name: 'losses',
  version: 1,
  changes: 'rows',
  events: [
    'VerdictsMissing',
    'LogEndLost',
    'MarketClockRun',
    'SpeechWithdrawn',
    'SpeechRestored',
    'BackupDrilled',
  ] satisfies EventType[],
  fold(rows, event) {
    const { at } = event
    if (event.type === 'VerdictsMissing') foldGap(rows, event.data)
    if (event.type === 'BackupDrilled') rows.put(NEWEST_DRILL, { ...event.data, at })
    if (event.type === 'LogEndLost') {
      const { endsAt, notedPosition } = event.data
      const events = notedPosition === null ? null : Math.max(0, notedPosition - endsAt)
      addIncident(rows, 'log_end_lost', { at, from: null, to: null, events, subject: null })
    }
    if (event.type === 'MarketClockRun')
      addIncident(rows, 'market_run', { at, ...event.data, events: null, subject: null })
    if (event.type !== 'SpeechWithdrawn' && event.type !== 'SpeechRestored') return
    const { modelVersion, timeframe, from } = event.data
    const subject = `${modelVersion} ${timeframe}`
    if (event.type === 'SpeechWithdrawn')
      return addIncident(rows, 'calls_withdrawn', { at, from, to: null, events: null, subject })
    const { count, newest } = incidentsOf(rows, 'calls_withdrawn')
    const ended = newest.map((one) =>
      one.subject === subject && one.to === null ? { ...one, to: from } : one,
    )
    rows.put(incidentsKey('calls_withdrawn'), { count, newest: ended })
  },
}

const incidentsOf = (rows: Rows<LossRow>, kind: IncidentKind): IncidentsRow =>
  (rows.get(incidentsKey(kind)) as IncidentsRow | undefined) ?? { count: 0, newest: [] }

function addIncident(rows: Rows<LossRow>, kind: IncidentKind, incident: Incident): void {
  const { count, newest } = incidentsOf(rows, kind)
  rows.put(incidentsKey(kind), { count: count + 1, newest: [...newest, incident].slice(-INCIDENTS_KEPT) })
}

function foldGap(rows: Rows<LossRow>, gap: VerdictsMissing): void {
  const { exchange, reason, bars } = gap
  const before = rows.get(gapsKey(exchange)) as GapsRow | undefined
  const days = { ...before?.days }
  for (const [day, count] of barsByDay(gap)) days[day] = (days[day] ?? 0) + count
  const kept = Object.entries(days)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .slice(-DAYS_KEPT)
  rows.put(gapsKey(exchange), {
    exchange,
    reasons: { ...before?.reasons, [reason]: (before?.reasons[reason] ?? 0) + bars },
    days: Object.fromEntries(kept),
  })
}

/** Bars of a gap by the day of their close, of its newest days: a gap may be years long. */
function* barsByDay({ from, to, bars, timeframe }: VerdictsMissing): Generator<readonly [string, number]> {
  const step = bars === 1 ? timeframeMs(timeframe) : (to - from) / (bars - 1)
  const before = (instant: number): number =>
    Math.min(bars, Math.max(0, Math.ceil((instant - from) / Math.max(1, step))))
  const last = Math.floor(to / DAY_MS)
  for (let day = Math.max(Math.floor(from / DAY_MS), last - DAYS_KEPT + 1); day <= last; day++) {
    const count = before((day + 1) * DAY_MS) - before(day * DAY_MS)
    if (count > 0) yield [new Date(day * DAY_MS).toISOString().slice(0, 10), count]
  }
}
