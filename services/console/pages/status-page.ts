import type { IncidentKind, StatusAnswer } from '../../../contracts/status-answer.ts'
import type { MissingReason } from '../../../contracts/verdicts-missing.ts'
import { type Content, type Html, html } from './html.ts'
import type { Page } from './layout.ts'
import { copyable, facts, table, tiles, time, whole } from './parts.ts'

const KINDS: Readonly<Record<IncidentKind, string>> = {
  log_end_lost: 'the log lost its newest events',
  market_run: 'the simulated market was run through a stretch of time',
  calls_withdrawn: 'calls at a timeframe were withdrawn',
}
const REASONS: Readonly<Record<MissingReason, string>> = {
  no_engine: 'no process followed the market',
  series_closed: 'the series was closed because of a fault',
  no_bars: 'the venue sent no bars',
  not_followed: 'nobody asked for the series',
}
/** Rows of the days of one exchange. */
const DAYS = 14

const inHours = (count: number): string => count.toLocaleString('en', { maximumFractionDigits: 1 })
const NONE = '—'
const orNone = (iso: string | null): Content => (iso === null ? NONE : time(iso))
/** Between two instants. */
const hours = (from: string | null, to: string | null): string =>
  from === null || to === null ? NONE : inHours((Date.parse(to) - Date.parse(from)) / 3_600_000)

/** Gaps by cause, and by day. */
function gapsPart(gaps: StatusAnswer['gaps']): Html {
  if (gaps.length === 0) return html`<p>Every bar that was followed has a verdict.</p>`
  const causes = gaps.flatMap(({ exchange, reasons }) =>
    Object.entries(reasons).map(([reason, bars]) => ({ exchange, reason: reason as MissingReason, bars })),
  )
  const days = gaps.flatMap(({ exchange, days: own }) =>
    own.slice(0, DAYS).map((day) => ({ exchange, ...day })),
  )
  return html`${table('Length of the gaps', gaps, {
    exchange: ({ exchange }) => exchange,
    '#hours, summed over series': (gap) => inHours(gap.series_hours),
    '#hours of the longest': ({ longest }) => inHours(longest.hours),
    from: ({ longest }) => time(longest.from),
    to: ({ longest }) => time(longest.to),
  })}${table('Bars without a verdict, by cause', causes, {
    exchange: ({ exchange }) => exchange,
    cause: ({ reason }) => REASONS[reason],
    '#bars': ({ bars }) => whole(bars),
  })}${table('Bars without a verdict, by day', days, {
    exchange: ({ exchange }) => exchange,
    day: ({ date }) => time(date, 'day'),
    '#bars': ({ bars }) => whole(bars),
  })}`
}

function incidentsPart(incidents: StatusAnswer['incidents']): Html {
  const all = incidents.flatMap(({ kind, newest }) => newest.map((one) => ({ kind, ...one })))
  if (all.length === 0) return html`<p>None is recorded.</p>`
  return table('Incidents and runs of the clock, the newest of each kind', all, {
    recorded: ({ at }) => time(at),
    what: ({ kind, subject, events }) =>
      [KINDS[kind], subject, events !== null && `${whole(events)} events`].filter(Boolean).join(': '),
    from: ({ from }) => orNone(from),
    to: ({ to }) => orNone(to),
    '#hours': ({ from, to }) => hours(from, to),
  })
}

const drillPart = (drill: StatusAnswer['drill']): Html =>
  drill === null
    ? html`<p>No backup has been restored on trial yet.</p>`
    : facts([
        ['backup taken', time(drill.backup_taken_at)],
        ['restored on trial', time(drill.at)],
        ['seconds', whole(drill.seconds)],
        ['events', whole(drill.events)],
        ['bytes', whole(drill.bytes)],
        ['entries of the transparency log', whole(drill.tree_size)],
        ['their root, as it was signed', html`<code>${drill.root}</code>`],
      ])

const backupPart = (backup: StatusAnswer['backup']): Html =>
  backup === null
    ? html`<p>No backup is noted beside the log of the process that answers.</p>`
    : facts([
        ['newest backup', time(backup.taken_at)],
        ['hours ago', inHours(backup.age_hours)],
        ['up to position', whole(backup.position)],
      ])

const versionsOf = ({ versions }: StatusAnswer['service']): Content =>
  versions !== null &&
  versions.map(({ version, processes }) => `${version ?? 'an older one'}: ${processes}`).join(', ')

/** The public status for people. */
export function statusPage({ note: signed, ...status }: StatusAnswer): Page {
  const { service, gaps, incidents, backup, drill } = status
  const sum = (counts: readonly number[]): string => whole(counts.reduce((total, one) => total + one, 0))
  const body = html`<h1>Status of the record</h1>
<p class="dim">${status.notice} As of ${time(status.as_of, 'second')} UTC.</p>
${tiles([
  ['bars without a verdict', sum(gaps.map(({ bars }) => bars)), 'since the log began'],
  ['incidents', sum(incidents.map(({ count }) => count)), 'since the log began'],
  ['last backup', backup === null ? 'never' : time(backup.taken_at, 'day'), 'of the log in a folder'],
  ['last restore on trial', drill === null ? 'never' : time(drill.at, 'day'), 'of the newest backup'],
  ['version', service.version, service.versions !== null && html`processes: ${versionsOf(service)}`],
])}
<h2>Gaps</h2>
${gapsPart(gaps)}
<h2>Incidents and runs of the clock</h2>
${incidentsPart(incidents)}
<h2>Backup</h2>
${backupPart(backup)}
${drillPart(drill)}
<h2>How to check it</h2>
<p><a href="/api/status">The same as JSON</a>. <a href="/docs/running#what-was-lost-and-who-can-see-it">What each figure means</a>.</p>
${
  signed === null
    ? html`<p>This process does not have the keys of the log, and has not signed this.</p>`
    : html`<p>Signed with the keys of the transparency log (<a href="/log/vkeys">/log/vkeys</a>):</p>${copyable(signed, 'The status as a signed note')}`
}`
  return { title: 'Status', description: 'Gaps and incidents of the record, signed by its own log.', body }
}
