import type { ProofEvent, Verification } from '../../../contracts/verification.ts'
import { escapeHtml, PAGE_STYLE, stylePolicy } from './page.ts'

/** Admits the style of the page by its hash, and nothing else. */
export const VERIFICATION_PAGE_POLICY = stylePolicy(PAGE_STYLE)

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
<style>${PAGE_STYLE}</style>
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
