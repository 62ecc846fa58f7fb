import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { resultOf } from '../../../contracts/answers/board.ts'
import { verdictRow } from '../../../contracts/answers/verdict-row.ts'
import {
  type ProofEvent,
  type Verification,
  type VerificationAnswer,
  verificationAnswerSchema,
} from '../../../contracts/answers/verification.ts'
import type { Outcome } from '../../../contracts/domain/outcome.ts'
import { likelierBarrier, type Verdict } from '../../../contracts/domain/verdict.ts'
import type { MarketKind } from '../../../contracts/events/event-catalogue.ts'
import { acceptsHtmlFirst } from '../../http/accept.ts'
import { bodyOf, operation } from '../../http/openapi.ts'
import { signalOfLeaving } from '../../http/request-signal.ts'
import { FOR_EVER } from '../../http/send-public.ts'
import { PROOF_SCRIPT } from '../assets.ts'
import { facts, percent, price, regimeText, seriesLink, signedPercent, time } from '../components.ts'
import { type Content, type Html, html } from '../html.ts'
import { type Page, type PageFrame, sendPage } from '../layout.ts'

export interface VerifyRoutesOptions {
  readonly frame: () => PageFrame
  readonly market: MarketKind
  /** @throws ServiceError `not_found` */
  readonly verify: (verdictId: string, signal: AbortSignal) => Promise<Verification>
}

const schema = {
  ...operation('verdicts', 'verifyVerdict', 'A verdict as it was recorded, with its hash and its outcome'),
  description: 'JSON, or a page for those who prefer one. Open to every holder of the id.',
  params: z.strictObject({ verdict_id: z.uuid().describe('The `verdict_id` of an answer or a row') }),
  querystring: z.object({
    format: z.enum(['html', 'json']).optional().describe('Without it the Accept header decides'),
  }),
  response: bodyOf({ 'application/json': verificationAnswerSchema, 'text/html': z.string() }),
}

/** `GET /verify/:verdict_id`: the recorded verdict, its hash and its outcome, open to every holder of the id. */
export const verifyRoutes: FastifyPluginAsyncZod<VerifyRoutesOptions> = async (app, options) => {
  const { market, verify, frame } = options
  app.get('/verify/:verdict_id', { schema }, async (request, reply) => {
    const verification = await verify(request.params.verdict_id.toLowerCase(), signalOfLeaving(reply))
    const { event, outcome } = verification
    const labelled = outcome && (outcome.event.data as unknown as Outcome)
    const recorded = event.data as unknown as Verdict
    const { cursor: _cursor, ...verdict } = verdictRow(recorded, '', event.at, labelled)
    const answer = { ...verification, market, verdict }
    const { format } = request.query
    const isPage = format === undefined ? acceptsHtmlFirst(request) : format === 'html'
    // A verdict with its outcome never changes. A page links files that a release replaces.
    const isFinal = outcome !== null && !isPage
    reply.headers({ 'cache-control': isFinal ? FOR_EVER : 'no-store', vary: 'accept' })
    if (!isPage) return answer
    const hasLog = app.hasRoute({ method: 'GET', url: '/log/proof/:verdict_id' })
    return sendPage(reply, frame(), verificationPage(answer, hasLog))
  })
}

const MARKETS: Readonly<Record<MarketKind, string>> = {
  simulated: 'This market is simulated: its prices are made up, and nothing can be traded at them.',
  recorded: 'This market was replayed from recorded prices.',
  live: 'This market was live.',
}
const RACES: Readonly<Record<Outcome['race'], string>> = {
  up: 'the upper barrier was reached first',
  down: 'the lower barrier was reached first',
  both: 'one bar touched both barriers, so it counts as lost for either side',
  timeout: 'neither barrier was reached within the window',
  incomplete: 'bars of the window are missing, so it cannot be told',
}
const RESULTS = { won: 'Won: ', lost: 'Lost: ', undecided: '' } as const

/** A verification for people. @param hasLog whether the log has a proof file */
function verificationPage(answer: VerificationAnswer, hasLog: boolean): Page {
  const { event, hash, market, notice, verdict } = answer
  const series = `${verdict.coin} ${verdict.timeframe} on ${verdict.exchange}`
  const body = html`<p class="dim">${seriesLink(verdict, series)}</p>
<h1>${verdict.call} ${series}</h1>
<p>at the bar that closed ${time(verdict.bar_close)} UTC, with a confidence of ${verdict.confidence} % that the ${likelierBarrier(verdict.probability)} barrier comes first</p>
<p><strong>${MARKETS[market]} ${answer.recorded_note ?? 'The verdict was recorded before the first bar of its window had closed.'}</strong></p>
<p class="dim">${notice}</p>
<h2>What was recorded</h2>
${facts([
  ['Regime', regimeText(verdict.regime)],
  ['Price', price(verdict.price)],
  ['Probability', `${percent(verdict.probability, 2)} that the upper barrier comes first`],
  ['Barriers', `±${percent(verdict.barrier, 2)}`],
  ['Window closes', html`${time(verdict.valid_until)} UTC`],
  ['Reasoning', verdict.reasoning],
  ['Model', verdict.model_version],
  ...eventRows(event, hash),
])}
<h2>What became of it</h2>
${outcomePart(answer)}
<h2>How to check it</h2>
${hasLog && proofPart(answer)}<p>The SHA-256 is over <code>{data, id, schema, type}</code> of the event as JSON without spaces, the keys of every object sorted. Ask for <code>?format=json</code> to have it byte for byte:</p>
<pre tabindex="0" role="region" aria-label="All of it as JSON">${JSON.stringify(answer, null, 2)}</pre>`
  return { title: `${verdict.call} ${series}`, at: '/', body, ...(hasLog && { script: PROOF_SCRIPT.path }) }
}

const eventRows = (event: ProofEvent, hash: string): (readonly [string, Content])[] => [
  ['Event', `${event.type} ${event.id}`],
  ['Recorded', html`${time(event.at, 'second')} UTC`],
  ['Stream', `${event.stream}, revision ${event.revision}`],
  ['Position', event.position],
  ['SHA-256', hash],
]

function outcomePart({ outcome, verdict, window_closes_at: closes }: VerificationAnswer): Html {
  const { call, race, entry_price: entry, exit_price: exit, decided_at: decided } = verdict
  if (outcome === null || race === null)
    return html`<p>Not known yet: its window closes at ${time(closes)} UTC, market time, and it is labelled after that.</p>`
  const { highest, lowest } = outcome.event.data
  const share = (value: unknown) => (typeof value === 'number' ? signedPercent(value) : '—')
  const change = entry === null || exit === null ? '' : ` (${signedPercent(exit / entry - 1)})`
  return html`<p>${RESULTS[resultOf({ call, race })]}${RACES[race]}.</p>${facts([
    ['Entered at', entry === null ? '—' : price(entry)],
    ['Left at', exit === null ? '—' : `${price(exit)}${change}`],
    ['Decided', decided === null ? 'by no bar' : html`${time(decided)} UTC`],
    ['Highest until then', share(highest)],
    ['Lowest until then', share(lowest)],
    ...eventRows(outcome.event, outcome.hash),
  ])}`
}

/** The proof, which the browser checks if it runs scripts, and how to check it offline. */
const proofPart = ({ event, hash, outcome }: VerificationAnswer): Html => {
  const file = `/log/proof/${event.id}`
  return html`<p role="status" data-proof="${file}" data-hash="${hash}"></p>
<p><a href="${file}">The proof file</a> shows that the log holds it${outcome !== null && html`, <a href="${file}?of=outcome">that of its outcome</a> that this holds it, too`}. Keep it: it is checked offline, without this service, with a key from <a href="/log/vkeys">/log/vkeys</a> (<a href="/docs/proof#how-do-i-check-one-verdict-offline">how</a>):</p>
<pre tabindex="0" role="region" aria-label="How to check it offline">signal verify --proof ${event.id}.tlog-proof --vkey "$VKEY"</pre>
<p>That others are shown the same log is what <a href="/docs/proof#how-do-i-audit-the-whole-log">an audit</a> is for.</p>
`
}
