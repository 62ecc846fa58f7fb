import type { MarketKind } from '../../../contracts/event-catalogue.ts'
import { likelierBarrier } from '../../../contracts/verdict.ts'
import type { ProofEvent, VerificationAnswer } from '../../../contracts/verification.ts'
import { PROOF_SCRIPT } from '../assets.ts'
import { facts, seriesLink, valueText } from '../components.ts'
import { type Html, html } from '../html.ts'
import type { Page } from '../layout.ts'

/** Sixteen digits are for programs. */
const rounded = (value: number): string => String(Number(value.toPrecision(6)))

const MARKETS: Readonly<Record<MarketKind, string>> = {
  simulated: 'This market is simulated: its prices are made up, and nothing can be traded at them.',
  recorded: 'This market was replayed from recorded prices.',
  live: 'This market was live.',
}

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

/** Whether the called side came first; nothing of what was no call or was not decided. */
function resultOf(call: string, race: string): string {
  if (call === 'HOLD' || (race !== 'up' && race !== 'down' && race !== 'both')) return ''
  return (call === 'BUY') === (race === 'up') && race !== 'both' ? 'Won: ' : 'Lost: '
}

function outcomePart({ outcome, verdict, window_closes_at: closes }: VerificationAnswer): Html {
  if (outcome === null) {
    return html`<p>Not known yet: its window closes at ${closes}, market time, and it is labelled after that.</p>`
  }
  const { event, hash } = outcome
  const { entryPrice, exitPrice, decidedAt, highest, lowest } = event.data
  const race = valueText(event.data.race)
  return html`<p>${resultOf(verdict.call, race)}${RACES[race] ?? race}.</p>${facts([
    ['race', race],
    ['entry_price', valueText(entryPrice)],
    ['exit_price', valueText(exitPrice)],
    ['decided_at', typeof decidedAt === 'number' ? new Date(decidedAt).toISOString() : ''],
    ['highest', valueText(highest)],
    ['lowest', valueText(lowest)],
    ...placeRows(event, hash),
  ])}`
}

/** The proof: checked by the browser where it runs scripts; how to check it offline is said in any case. */
function proofPart({ event, hash, outcome }: VerificationAnswer): Html {
  const file = `/log/proof/${event.id}`
  return html`<p role="status" data-proof="${file}" data-hash="${hash}"></p>
<p><a href="${file}">The proof file</a> shows that the log holds it${outcome !== null && html`, <a href="${file}?of=outcome">that of its outcome</a> that this holds it, too`}. Keep it: it is checked offline, without this service, with a key from <a href="/log/vkeys">/log/vkeys</a> (<a href="/docs/proof#how-do-i-check-one-verdict-offline">how</a>):</p>
<pre tabindex="0" role="region" aria-label="How to check it offline">signal verify --proof ${event.id}.tlog-proof --vkey "$VKEY"</pre>
<p>That others are shown the same log is what <a href="/docs/proof#how-do-i-audit-the-whole-log">an audit</a> is for.</p>
`
}

/** A verification for people. @param hasLog whether a proof file can be had of it */
export function verificationPage(answer: VerificationAnswer, hasLog: boolean): Page {
  const { event, hash, market, notice, verdict } = answer
  const title = `${verdict.call} ${verdict.coin} ${verdict.timeframe} on ${verdict.exchange}`
  const body = html`<p class="dim">${seriesLink(verdict, `${verdict.coin} ${verdict.timeframe} on ${verdict.exchange}`)}</p>
<h1>${title}</h1>
<p>at the bar that closed ${verdict.bar_close}, with a confidence of ${verdict.confidence} % that the ${likelierBarrier(verdict.probability)} barrier comes first</p>
<p><strong>${MARKETS[market]} ${answer.recorded_note ?? 'The verdict was recorded before the first bar of its window had closed.'}</strong></p>
<p class="dim">${notice}</p>
<h2>What was recorded</h2>
${facts([
  ['market', market],
  ['regime', verdict.regime],
  ['price', rounded(verdict.price)],
  ['probability', rounded(verdict.probability)],
  ['barrier', rounded(verdict.barrier)],
  ['valid_until', verdict.valid_until],
  ['reasoning', verdict.reasoning],
  ['model_version', verdict.model_version],
  ...placeRows(event, hash),
])}
<h2>What became of it</h2>
${outcomePart(answer)}
<h2>How to check it</h2>
${hasLog && proofPart(answer)}<p>The SHA-256 is over <code>{data, id, schema, type}</code> of the event as JSON without spaces, the keys of every object sorted. Ask for <code>?format=json</code> to have it byte for byte:</p>
<pre tabindex="0" role="region" aria-label="All of it as JSON">${JSON.stringify(answer, null, 2)}</pre>`
  return { title, at: '/', body, ...(hasLog && { script: PROOF_SCRIPT.path }) }
}
