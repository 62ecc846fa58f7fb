import { z } from 'zod'
import {
  type AttemptAnswer,
  type attemptsAnswerSchema,
  type eventsAnswerSchema,
  type SubscriptionAnswer,
  type subscriptionsAnswerSchema,
  testAnswerSchema,
} from '../../../contracts/answers/webhook.ts'
import { EXCHANGES } from '../../../contracts/domain/series.ts'
import { countText } from '../../../contracts/domain/statistics.ts'
import { CADENCES, SIGNAL_TYPES, type SignalType } from '../../../contracts/domain/subscription.ts'
import { TIMEFRAMES } from '../../../contracts/domain/timeframes.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { copyable, facts, note, pager, type Tone, table, tag, tiles, time, whole } from '../components.ts'
import { action, choices, type FormState, input, refusalNote, select } from '../forms.ts'
import { type Html, html } from '../html.ts'
import type { Page } from '../layout.ts'

export type Webhooks = z.infer<typeof subscriptionsAnswerSchema>
export type Attempts = z.infer<typeof attemptsAnswerSchema>
export type Missed = z.infer<typeof eventsAnswerSchema>
export type TestAnswer = z.infer<typeof testAnswerSchema>

/** A secret, or the result of a test, shown once. */
export const webhookNote = z.object({
  secret: z.object({ text: z.string(), about: z.string() }).optional(),
  tested: testAnswerSchema.optional(),
})

export interface WebhookView extends z.infer<typeof webhookNote> {
  readonly webhook: SubscriptionAnswer
  readonly attempts: Attempts
  readonly after?: string | undefined
  /** Shows only the attempts with this result. */
  readonly result?: string | undefined
  readonly state: FormState
}

export const webhookPath = (id: string, ...rest: readonly string[]): string =>
  ['/webhooks', ...[id, ...rest].map(encodeURIComponent)].join('/')

const STATE_TONES: Readonly<Record<SubscriptionAnswer['state'], Tone>> = {
  active: 'ok',
  paused: 'warn',
  disabled: 'failed',
  stopped: 'failed',
}
const RESULT_TONES: Readonly<Record<AttemptAnswer['result'], Tone>> = {
  delivered: 'ok',
  failed: 'warn',
  exhausted: 'failed',
  skipped: '',
}
const STATUSES = { all: 'all', active: 'those that go on, or are paused', disabled: 'those that need you' }
const RESULTS = {
  '': 'all',
  delivered: 'delivered',
  failed: 'failed, to be tried again',
  exhausted: 'given up',
  skipped: 'skipped by a move of the cursor',
}
const SIGNAL_WORDS: Readonly<Record<SignalType, string>> = {
  trade_call: 'Trade calls',
  regime_shift: 'Shifts of the regime',
  scan_digest: 'Digests of a scan',
}
const signalsText = (events: SubscriptionAnswer['events']): string =>
  events.map((event) => SIGNAL_WORDS[event]).join(', ')
const instant = (iso: string | null, zone = ''): Html =>
  iso === null ? html`—` : html`${time(iso, 'second')}${zone}`
const shortened = (url: string): string => (url.length > 60 ? `${url.slice(0, 57)}…` : url)
const OWN = { at: '/webhooks', isPrivate: true } as const
const PATH = html`<a href="/webhooks">Webhooks</a>`

/** For visitors who are not signed in. */
export const aboutWebhooks: Html = html`<h1>Webhooks</h1>
<p class="lead">A webhook sends signals to an address of yours as they are recorded: each BUY and SELL, changes of the regime, and digests of a scan.</p>
<ul>
<li>You choose coins, timeframes and signals.</li>
<li>Each delivery is signed and numbered, and tried again for two days; what was not taken you can fetch.</li>
<li>To your own program: <a href="/docs/webhooks">how they work</a>, and <a href="/docs/webhook-receivers">receivers in Python and TypeScript</a>.</li>
</ul>
`

/** The columns of every list of webhooks. */
const ENDPOINT = {
  Address: ({ id, url }: SubscriptionAnswer) => html`<a href="${webhookPath(id)}">${shortened(url)}</a>`,
  State: ({ state }: SubscriptionAnswer) => tag(state, STATE_TONES[state]),
}

/** The first webhooks of an account, for its page. */
export const endpointsPart = ({ webhooks, next }: Webhooks): Html => html`<h2 id="endpoints">Endpoints</h2>
${
  webhooks.length === 0
    ? html`<p>None yet: <a href="/webhooks">what a webhook is</a>.</p>`
    : table('Where signals are sent', webhooks, {
        ...ENDPOINT,
        '#To be tried again': (one) => whole(one.retries_open),
        'Last taken, UTC': (one) => instant(one.last_success_at),
        Test: ({ id }) => action(`${webhookPath(id)}/test`, 'Send a test', { label: `Send a test to ${id}` }),
      })
}
<p class="noprint"><a href="/webhooks">${next === null ? 'Manage webhooks' : 'All webhooks'}</a></p>`

/** All webhooks of the account, with the state of each. */
export function webhooksPage(
  { webhooks, next, needs_review: needsReview }: Webhooks,
  { after, status }: { readonly after: string | undefined; readonly status: string },
): Page {
  const none = html`<p>${status === 'all' ? html`There is none yet. <a href="/docs/webhook-receivers">Receivers in Python and TypeScript</a> are ready to run.` : html`There is none of these. <a href="/webhooks">Show all</a>`}</p>`
  const rows = table('In the order of their creation', webhooks, {
    ...ENDPOINT,
    Sends: ({ events }) => signalsText(events),
    '#Delivered': ({ counts }) => whole(counts.delivered),
    '#Given up': ({ counts }) => whole(counts.exhausted),
    '#Waiting': (one) => whole(one.retries_open),
    'Last taken, UTC': (one) => instant(one.last_success_at),
  })
  const body = html`<h1>Webhooks</h1>
<p class="lead">Where signals are sent, and whether they arrive. <a class="button main" href="/webhooks/new">New webhook</a></p>
${needsReview > 0 && note(html`<p><strong>${needsReview} need you:</strong> nothing is sent there any more. Open them to see why, and resume.</p>`, 'warn')}
<form method="get" action="/webhooks" class="row noprint">${select({ typed: { status } }, 'status', Object.entries(STATUSES), { label: 'Which' })}<button type="submit">Show</button></form>
${webhooks.length === 0 ? none : rows}
${pager('/webhooks', after, next, { others: { status } })}`
  return { title: 'Webhooks', ...OWN, body }
}

/** One webhook: its state, its deliveries, and all that can be done with it. */
export function webhookPage({ webhook, attempts, secret, tested, state, after, result }: WebhookView): Page {
  const { id, counts, warnings, failures_in_a_row: failures } = webhook
  const path = webhookPath(id)
  const body = html`<p class="dim">${PATH}</p>
<h1>${shortened(webhook.url)}</h1>
<p>${tag(webhook.state, STATE_TONES[webhook.state])} since ${time(webhook.state_since)} UTC${webhook.reason !== null && html`: ${webhook.reason}`}</p>
${secret && note(html`<p><strong>${secret.about}</strong> It is shown this once: your receiver needs it to check what comes.</p>${copyable(secret.text, 'The secret')}`, 'good')}
${tested && testedNote(tested)}
${refusalNote(state.refusal)}
${warnings.length > 0 && note(html`${warnings.map((warning) => html`<p>${warning}</p>`)}`, 'warn')}
${tiles([
  ['Delivered', whole(counts.delivered), html`last ${instant(webhook.last_success_at, ' UTC')}`],
  ['To be tried again', whole(webhook.retries_open), html`next ${instant(webhook.next_attempt_at, ' UTC')}`],
  ['Given up', whole(counts.exhausted), `${countText(failures, 'failure')} in a row`],
])}
<div class="row noprint">
${action(`${path}/test`, 'Send a test')}
${webhook.failing_since !== null && action(`${path}/resume`, 'Try now', { tone: 'main' })}
${webhook.state === 'active' ? action(`${path}/pause`, 'Pause') : webhook.state !== 'stopped' && html`${action(`${path}/resume`, 'Resume where it stopped', { tone: 'main' })}${action(`${path}/resume`, 'Resume from now', { fields: { from: 'now' } })}`}
${action(`${path}/rotate`, 'Rotate the secret', { question: 'Make a new secret? The present one signs beside it for a day.' })}
<a href="${path}/missed">Pull what was missed</a>
${action(`${path}/delete`, 'Delete', { tone: 'bad', question: 'Delete this webhook? Nothing is sent any more, and it cannot be undone.' })}
</div>
<h2 id="deliveries">Deliveries</h2>
<form method="get" action="${path}#deliveries" class="row noprint">${select({ typed: { result } }, 'result', Object.entries(RESULTS), { label: 'Attempts that ended' })}<button type="submit">Show</button></form>
${attemptsPart(path, attempts, result)}
${pager(path, after, attempts.next, { others: { result }, at: '#deliveries' })}
<h2 id="recover">Given up</h2>
<p>What was given up is tried again, with the same ids and bodies.</p>
<form method="post" action="${path}/recover#recover" class="row">
${input(state, 'since', { label: 'Since, in UTC', type: 'datetime-local', isRequired: true })}
<button type="submit">Try again</button></form>
<h2 id="endpoint">Address, rate and order</h2>
<p>What waits goes to a new address too. The secret stays.</p>
<form method="post" action="${path}/change#endpoint" class="row">
${input(state, 'url', { label: 'Another address', type: 'url', hint: 'it stays without one', maxLength: 2_048 })}
${sendingParts(state, webhook)}
<button type="submit">Change</button></form>
${filterPart(webhook)}
<p class="dim noprint">The same over HTTP: <code>GET /api/webhooks/${id}</code>, <a href="/openapi.json">all of it</a>.</p>`
  return { title: `Webhook to ${shortened(webhook.url)}`, ...OWN, body }
}

function testedNote({ accepted, outcome, status, latency_ms: ms, detail }: TestAnswer): Html {
  const said = status === null ? outcome.replaceAll('_', ' ') : `status ${status}`
  const answer = html`<pre tabindex="0" role="region" aria-label="What was answered">${detail}</pre>`
  const text = html`<p><strong>${accepted ? 'The test arrived' : 'The test did not arrive'}: ${said}</strong>, after ${Math.round(ms)} ms.</p>${detail !== '' && answer}`
  return note(text, accepted ? 'good' : 'bad')
}

function attemptsPart(path: string, { attempts, next }: Attempts, result: string | undefined): Html {
  if (attempts.length === 0) {
    if (next !== null) return html`<p>None among the newest; go further.</p>`
    if (result === undefined) return html`<p>No attempt was made yet.</p>`
    return html`<p>There is no such attempt. <a href="${path}#deliveries">Show all</a></p>`
  }
  return table('Newest first', attempts, {
    'When, UTC': ({ at }) => time(at, 'second'),
    '#No.': ({ sequence }) => sequence,
    Result: (one) => tag(one.result, RESULT_TONES[one.result]),
    Answer: ({ status, reason }) => status ?? reason,
    '#Try': ({ attempt }) => attempt,
    '#Took': (one) => `${Math.round(one.duration_ms)} ms`,
    'Again at, UTC': (one) => instant(one.next_at),
  })
}

const digestText = ({ cadence, top_n, exchange, timeframe }: SubscriptionAnswer): string =>
  cadence === null ? 'none' : `${top_n} of ${exchange} ${timeframe}, every ${cadence}`

const filterPart = (webhook: SubscriptionAnswer): Html => html`<h2>Filter</h2>
${facts([
  ['Address', webhook.url],
  ['Signals', signalsText(webhook.events)],
  ['Timeframes', webhook.timeframes?.join(', ') ?? 'all'],
  ['Coins', webhook.assets?.join(', ') ?? 'all'],
  ['Exchanges', webhook.exchanges?.join(', ') ?? 'all'],
  ['Least confidence, strength', `${webhook.min_confidence} %, ${webhook.min_strength}`],
  ['Only changes', webhook.only_changes ? 'yes' : 'no'],
  ['Digest', digestText(webhook)],
  ['Id', html`<code>${webhook.id}</code>`],
])}`

/** Deliveries after a number. */
export function missedPage(id: string, { events, next }: Missed, after: string): Page {
  const body = html`<p class="dim">${PATH} / <a href="${webhookPath(id)}">this one</a></p>
<h1>Pull what was missed</h1>
<p class="lead">All signals after a number that were tried, with the bodies they are sent with, whether they arrived or not.</p>
<form method="get" class="row">${input({ typed: { after } }, 'after', { label: 'After number', maxLength: 64, isCode: true })}<button type="submit">Show</button></form>
${events.length === 0 ? html`<p>There is nothing after it that can be pulled now.</p>` : events.map((event) => html`<h3>${event.sequence}: ${SIGNAL_WORDS[event.event]}, ${time(event.created_at, 'second')} UTC</h3>${copyable(JSON.stringify(event, null, 2), `Signal ${event.sequence}`)}`)}
${pager(webhookPath(id, 'missed'), undefined, next)}`
  return { title: 'Missed signals', ...OWN, body }
}

const same = (values: readonly string[]) => values.map((value) => [value, value] as const)
const orNone = (values: readonly string[]) => [['', '—'] as const, ...same(values)]
const SIGNALS = SIGNAL_TYPES.map((type) => [type, SIGNAL_WORDS[type]] as const)

/** Creates a webhook. */
export function newWebhookPage(state: FormState): Page {
  const number = (name: string, label: string, hint: string) =>
    input(state, name, { label, type: 'number', hint })
  const body = html`<p class="dim">${PATH}</p>
<h1>New webhook</h1>
<p class="lead">Signals are sent to your address as they are recorded, signed and numbered, and again until you take them; unless you choose an order, they may overtake one another. <a href="/docs/webhooks">How it works</a></p>
${refusalNote(state.refusal)}
<form method="post" action="/webhooks" class="stack">
${input(state, 'url', { label: 'Address', type: 'url', hint: 'HTTPS, port 443 or 8443, public; a service of your own takes others with --webhooks-allow-private.', maxLength: 2_048 })}
${choices(state, 'events', SIGNALS, { label: 'Tell me of', chosen: ['trade_call'] })}
${choices(state, 'timeframes', same(TIMEFRAMES), { label: 'Timeframes', hint: 'None ticked: all of them' })}
${input(state, 'assets', { label: 'Coins', hint: 'As BTC, ETH, or top:10 for the ten largest; empty: all', isCode: true })}
<div class="row">${number('min_confidence', 'Least confidence', 'percent; it lives in 50–60')}${number('min_strength', 'Least strength', '0–100')}</div>
${choices(state, 'only_changes', [['true', 'Only when a series turns BUY or SELL, not for each bar that stays so']], { label: 'Changes' })}
<details${[state.typed.events].flat().includes('scan_digest') && html` open`}><summary>Digest of a scan</summary>
<div class="row">${select(state, 'timeframe', orNone(TIMEFRAMES), { label: 'Timeframe' })}${select(state, 'exchange', orNone(EXCHANGES), { label: 'Exchange' })}${number('top_n', 'Rows', '1–100')}${select(state, 'cadence', orNone(CADENCES), { label: 'Every' })}</div></details>
<details${Boolean(state.typed.max_per_second) && html` open`}><summary>Rate and order</summary>${sendingParts(state)}</details>
<div class="row"><button type="submit" class="main">Create</button></div>
</form>`
  return { title: 'New webhook', ...OWN, body }
}

/** Rate and order of deliveries. @param chosen the present choices, if there are some */
const sendingParts = (state: FormState, chosen?: SubscriptionAnswer): Html => html`
${input(state, 'max_per_second', { label: 'Deliveries a second at most', type: 'number', hint: `1–${LIMITS.webhookPerSecond}; empty: as many as it takes`, value: String(chosen?.max_per_second ?? '') })}
${choices(state, 'sending', [['in_order', 'In order: the next once the one before was taken or given up']], { label: 'How they are sent', chosen: chosen?.in_order === true ? ['in_order'] : [] })}`
