import { createHash } from 'node:crypto'
import type { ProofEvent, Verification } from '../../../contracts/verification.ts'

const STYLE = `
:root { color-scheme: light dark; --line: light-dark(#d8dce2, #3a4049); --soft: light-dark(#f4f6f8, #1d2127); --dim: light-dark(#5b6470, #9aa4b0) }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 0 auto; padding: 2rem 1rem }
h1 { font-size: 1.6rem; margin: 0 0 .25rem } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem } p { margin: .25rem 0 }
table { border-collapse: collapse; width: 100% } th, td { text-align: left; vertical-align: top; padding: .35rem .75rem .35rem 0; border-top: 1px solid var(--line) }
th { font-weight: 500; color: var(--dim); white-space: nowrap; width: 1% } td, code, pre { overflow-wrap: anywhere }
code, pre { font: .85rem/1.45 ui-monospace, monospace } pre { background: var(--soft); border: 1px solid var(--line); border-radius: 6px; padding: .75rem; white-space: pre-wrap }
.dim { color: var(--dim) }`

/** Admits the style of the page by its hash, and nothing else. */
export const VERIFICATION_PAGE_POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Text that is safe in an element and in a quoted attribute. */
export const escapeHtml = (text: string): string => text.replaceAll(/[&<>"']/g, (sign) => ESCAPES[sign] ?? '')

/** A value of event data as text: times are told by the names of their fields. */
function shown(name: string, value: unknown): string {
  if (typeof value === 'number' && TIMES.has(name)) return new Date(value).toISOString()
  if (typeof value === 'string') return value
  return JSON.stringify(value) ?? ''
}
const TIMES: ReadonlySet<string> = new Set([
  'barClose',
  'validUntil',
  'regimeSince',
  'anchorBar',
  'decidedAt',
])

const row = (name: string, text: string): string =>
  `<tr><th scope="row">${escapeHtml(name)}</th><td>${escapeHtml(text)}</td></tr>`

const table = (rows: readonly (readonly [string, string])[]): string =>
  `<table>${rows.map(([name, text]) => row(name, text)).join('')}</table>`

const dataRows = (event: ProofEvent, names: readonly string[]) =>
  names.map((name) => [name, shown(name, event.data[name])] as const)

const placeRows = (event: ProofEvent, hash: string) =>
  [
    ['event', `${event.type} ${event.id}`],
    ['recorded at', event.at],
    ['stream', `${event.stream}, revision ${event.revision}`],
    ['position', event.position],
    ['SHA-256', hash],
  ] as const

const RACES: Readonly<Record<string, string>> = {
  up: 'the upper barrier was reached first',
  down: 'the lower barrier was reached first',
  both: 'one bar touched both barriers, so it counts as lost for either side',
  timeout: 'neither barrier was reached within the window',
  incomplete: 'bars of the window are missing, so it cannot be told',
}

function outcomePart({ outcome, window_closes_at: closes }: Verification): string {
  if (outcome === null) {
    return `<p>Not known yet: its window closes at ${escapeHtml(closes)}, market time, and it is labelled after that.</p>`
  }
  const { event, hash } = outcome
  const race = shown('race', event.data.race)
  return `<p>${escapeHtml(`${race}: ${RACES[race] ?? race}`)}.</p>${table([
    ...dataRows(event, ['entryPrice', 'exitPrice', 'decidedAt', 'highest', 'lowest']),
    ...placeRows(event, hash),
  ])}`
}

/** A verification for people: plain HTML without scripts and without anything from elsewhere. */
export function verificationPage(verification: Verification): string {
  const { event, hash, notice } = verification
  const text = (name: string): string => shown(name, event.data[name])
  const title = `${text('call')} ${text('coin')} ${text('timeframe')} on ${text('exchange')}`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${escapeHtml(title)}</h1>
<p>at the bar that closed ${escapeHtml(text('barClose'))}, with a confidence of ${escapeHtml(text('confidence'))} %</p>
<p class="dim">${escapeHtml(notice)}</p>
<h2>What was recorded</h2>
${table([
  ...dataRows(event, [
    'regime',
    'price',
    'probability',
    'barrier',
    'validUntil',
    'reasoning',
    'modelVersion',
  ]),
  ...placeRows(event, hash),
])}
<h2>What became of it</h2>
${outcomePart(verification)}
<h2>How to check it</h2>
<p>The SHA-256 is over <code>{data, id, schema, type}</code> of the event as JSON without spaces, the keys of every object sorted. Ask for <code>?format=json</code> to have it byte for byte:</p>
<pre>${escapeHtml(JSON.stringify(verification, null, 2))}</pre>
</main>
</body>
</html>
`
}
