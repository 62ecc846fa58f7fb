import { CALLING_AUC } from '../../contracts/calling-timeframes.ts'
import { isoTime } from '../../contracts/iso-time.ts'
import type { JsonObject } from '../../contracts/json.ts'
import type { IncidentKind, StatusContent } from '../../contracts/status-answer.ts'
import { DAY_MS, HOUR_MS, timeframeMs } from '../../contracts/timeframes.ts'
import type { VerdictsMissing } from '../../contracts/verdicts-missing.ts'
import type { Projection, Rows } from '../projection.ts'

type Shown = Pick<StatusContent, 'gaps' | 'incidents' | 'drill'>
/** Bars of an exchange without a verdict, by their newest days. Key: {@link gapsKey}. */
export type GapsRow = Shown['gaps'][number] & JsonObject
/** The newest incidents of a kind. Key: {@link incidentsKey}. */
export type IncidentsRow = Shown['incidents'][number] & JsonObject
/** The newest restore on trial. Key: {@link NEWEST_DRILL}. */
export type DrillRow = NonNullable<Shown['drill']> & JsonObject
type LossRow = GapsRow | IncidentsRow | DrillRow

export const NEWEST_DRILL = 'drill'
export const GAPS_PREFIX = 'gaps/'
export const gapsKey = (exchange: string): string => `${GAPS_PREFIX}${exchange}`
export const incidentsKey = (kind: IncidentKind): string => `incidents/${kind}`

const INCIDENTS_KEPT = 20
const DAYS_KEPT = 90

/** Gaps and incidents of the record, and the newest restore on trial, as everybody is shown them. */
export const losses: Projection<LossRow> = {
  name: 'losses',
  version: 3,
  changes: 'shape',
  events: [
    'VerdictsMissing',
    'LogEndLost',
    'MarketClockRun',
    'SpeechWithdrawn',
    'SpeechRestored',
    'BackupDrilled',
  ],
  fold(rows, { at, ...event }) {
    if (event.type === 'VerdictsMissing') foldGap(rows, event.data)
    if (event.type === 'BackupDrilled') {
      const { takenAt, treeSize, ...drill } = event.data
      rows.put(NEWEST_DRILL, { at, backup_taken_at: takenAt, tree_size: treeSize, ...drill })
    }
    if (event.type === 'LogEndLost') {
      const { endsAt, notedPosition } = event.data
      const events = notedPosition === null ? null : Math.max(0, notedPosition - endsAt)
      addIncident(rows, 'log_end_lost', { at, events })
    }
    if (event.type === 'MarketClockRun') {
      const { from, to } = event.data
      addIncident(rows, 'market_run', { at, from: isoTime(from), to: isoTime(to) })
    }
    if (event.type !== 'SpeechWithdrawn' && event.type !== 'SpeechRestored') return
    // Only calls that are made can be withdrawn.
    if (CALLING_AUC[event.data.timeframe] === undefined) return
    const from = isoTime(event.data.from)
    const subject = `${event.data.modelVersion} ${event.data.timeframe}`
    if (event.type === 'SpeechWithdrawn') return addIncident(rows, 'calls_withdrawn', { at, from, subject })
    const row = incidentsOf(rows, 'calls_withdrawn')
    const newest = row.newest.map((one) =>
      one.subject === subject && one.to === null ? { ...one, to: from } : one,
    )
    rows.put(incidentsKey('calls_withdrawn'), { ...row, newest })
  },
}

const incidentsOf = (rows: Rows<LossRow>, kind: IncidentKind): IncidentsRow =>
  (rows.get(incidentsKey(kind)) as IncidentsRow | undefined) ?? { kind, count: 0, newest: [] }

type Incident = IncidentsRow['newest'][number]
const NOTHING = { from: null, to: null, events: null, subject: null }

function addIncident(
  rows: Rows<LossRow>,
  kind: IncidentKind,
  incident: Partial<Incident> & Pick<Incident, 'at'>,
): void {
  const { count, newest } = incidentsOf(rows, kind)
  const all = [{ ...NOTHING, ...incident }, ...newest].slice(0, INCIDENTS_KEPT)
  rows.put(incidentsKey(kind), { kind, count: count + 1, newest: all })
}

function foldGap(rows: Rows<LossRow>, gap: VerdictsMissing): void {
  const { exchange, reason, bars, from, to, timeframe } = gap
  const before = rows.get(gapsKey(exchange)) as GapsRow | undefined
  const days = new Map(before?.days.map(({ date, bars: count }) => [date, count]))
  const open = from - timeframeMs(timeframe)
  const stretch = { hours: (to - open) / HOUR_MS, from: isoTime(open), to: isoTime(to) }
  for (const [date, count] of barsByDay(gap)) days.set(date, (days.get(date) ?? 0) + count)
  rows.put(gapsKey(exchange), {
    exchange,
    bars: (before?.bars ?? 0) + bars,
    reasons: { ...before?.reasons, [reason]: (before?.reasons[reason] ?? 0) + bars },
    series_hours: (before?.series_hours ?? 0) + stretch.hours,
    longest: before === undefined || stretch.hours > before.longest.hours ? stretch : before.longest,
    days: Array.from(days, ([date, count]) => ({ date, bars: count }))
      .toSorted((one, other) => (one.date < other.date ? 1 : -1))
      .slice(0, DAYS_KEPT),
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
    if (count > 0) yield [isoTime(day * DAY_MS).slice(0, 10), count]
  }
}
