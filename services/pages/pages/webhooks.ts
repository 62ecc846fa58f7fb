import type { z } from 'zod'
import type {
  AttemptAnswer,
  attemptsAnswerSchema,
  eventsAnswerSchema,
  SubscriptionAnswer,
  subscriptionsAnswerSchema,
  testAnswerSchema,
} from '../../../contracts/webhook-answers.ts'
import { copyable, facts, note, pager, type Tone, table, tag, tiles, time, whole } from '../components.ts'
import { action, type FormState, input, refusalNote, select } from '../forms.ts'
import { type Html, html } from '../html.ts'
import type { Page } from '../layout.ts'
import { resultForm, SIGNAL_WORDS, sendingParts } from './webhook-form.ts'

export type Webhooks = z.infer<typeof subscriptionsAnswerSchema>
export type Attempts = z.infer<typeof attemptsAnswerSchema>
export type Missed = z.infer<typeof eventsAnswerSchema>
export type TestAnswer = z.infer<typeof testAnswerSchema>

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
const instant = (iso: string | null): Html | string => (iso === null ? '—' : time(iso, 'second'))

export const webhookPath = (id: string, ...rest: readonly string[]): string =>
  ['/webhooks', ...[id, ...rest].map(encodeURIComponent)].join('/')

const OWN = { at: '/webhooks', isPrivate: true } as const
const pathTo = (id: string): Html =>
  html`<p class="dim"><a href="/webhooks">Webhooks</a> / <a href="${webhookPath(id)}">this one</a></p>`

/** For who is not signed in. */
export const aboutWebhooks: Html = html`<h1>Webhooks</h1>
<p class="lead">A webhook sends signals to an address of yours as they are recorded: each BUY and SELL, changes of the regime, and digests of a scan.</p>
<ul>
<li>You choose coins, timeframes and signals.</li>
<li>Each delivery is signed and numbered, and tried again for two days; what was not taken you can fetch.</li>
<li>To your own program: <a href="/docs/webhooks">how they work</a>, and <a href="/docs/webhook-receivers">receivers in Python and TypeScript</a>.</li>
</ul>
`

/** All webhooks of the account, with how each is doing. */
export function webhooksPage(
  { webhooks, next, needs_review: needsReview }: Webhooks,
  { after, status }: { readonly after?: string | undefined; readonly status: string },
): Page {
  return {
    title: 'Webhooks',
    ...OWN,
    body: html`<h1>Webhooks</h1>
<p class="lead">Where signals are sent, and whether they arrive. <a class="button main" href="/webhooks/new">New webhook</a></p>
${needsReview > 0 && note(html`<p><strong>${needsReview} need you:</strong> nothing is sent there any more. Open them to see why, and resume.</p>`, 'warn')}
<form method="get" action="/webhooks" class="row noprint">${select({ typed: { status } }, 'status', STATUSES, { label: 'Which' })}<button type="submit">Show</button></form>
${
  webhooks.length === 0 && status !== 'all'
    ? html`<p>There is none of these. <a href="/webhooks">Show all</a></p>`
    : webhooks.length === 0
      ? html`<p>There is none yet. <a href="/docs/webhook-receivers">Receivers in Python and TypeScript</a> are ready to run.</p>`
      : table('In the order of their creation', webhooks, {
          ...ENDPOINT,
          Sends: ({ events }) => signalsText(events),
          '#Delivered': ({ counts }) => whole(counts.delivered),
          '#Given up': ({ counts }) => whole(counts.exhausted),
          '#Waiting': (one) => whole(one.retries_open),
          'Last taken, UTC': (one) => instant(one.last_success_at),
        })
}
${pager('/webhooks', after, next, { others: { status } })}`,
  }
}

const STATUSES = [
  ['all', 'all'],
  ['active', 'those that go on, or are paused'],
  ['disabled', 'those that need you'],
] as const

/** The columns of every list of webhooks. */
const ENDPOINT = {
  Address: ({ id, url }: SubscriptionAnswer) => html`<a href="${webhookPath(id)}">${shortened(url)}</a>`,
  State: ({ state }: SubscriptionAnswer) => tag(state, STATE_TONES[state]),
}

/** The first webhooks of an account, where its other affairs are. */
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

const signalsText = (events: SubscriptionAnswer['events']): string =>
  events.map((event) => SIGNAL_WORDS[event]).join(', ')

const shortened = (url: string): string => (url.length > 60 ? `${url.slice(0, 57)}…` : url)

export interface WebhookView {
  readonly webhook: SubscriptionAnswer
  readonly attempts: Attempts
  readonly after: string | undefined
  /** How the attempts that are shown ended; undefined for all. */
  readonly result: string | undefined
  /** A secret, the one time that it is shown, and why. */
  readonly secret?: { readonly text: string; readonly about: string } | undefined
  readonly tested?: TestAnswer | undefined
  readonly state: FormState
}

/** One webhook: how it is doing, what was sent, and all that can be done with it. */
export function webhookPage(view: WebhookView): Page {
  const { webhook, attempts, secret, tested, state, after, result } = view
  const path = webhookPath(webhook.id)
  return {
    title: `Webhook to ${shortened(webhook.url)}`,
    ...OWN,
    body: html`<p class="dim"><a href="/webhooks">Webhooks</a></p>
<h1>${shortened(webhook.url)}</h1>
<p>${tag(webhook.state, STATE_TONES[webhook.state])} since ${time(webhook.state_since)} UTC${webhook.reason !== null && html`: ${webhook.reason}`}</p>
${secret !== undefined && note(html`<p><strong>${secret.about}</strong> It is shown this once: your receiver needs it to check what comes.</p>${copyable(secret.text, 'The secret')}`, 'good')}
${tested !== undefined && testedNote(tested)}
${refusalNote(state.refusal)}
${
  webhook.warnings.length > 0 &&
  note(
    webhook.warnings.map((warning) => html`<p>${warning}</p>`),
    'warn',
  )
}
${tiles([
  ['Delivered', whole(webhook.counts.delivered), html`last ${instant(webhook.last_success_at)}`],
  ['To be tried again', whole(webhook.retries_open), html`next ${instant(webhook.next_attempt_at)}`],
  [
    'Given up',
    whole(webhook.counts.exhausted),
    html`${whole(webhook.failures_in_a_row)} ${webhook.failures_in_a_row === 1 ? 'failure' : 'failures'} in a row`,
  ],
])}
<div class="row noprint">
${action(`${path}/test`, 'Send a test')}
${webhook.failing_since !== null && action(`${path}/resume`, 'Try now', { tone: 'main' })}
${webhook.state === 'active' ? action(`${path}/pause`, 'Pause') : webhook.state === 'stopped' ? '' : html`${action(`${path}/resume`, 'Resume where it stopped', { tone: 'main' })}${action(`${path}/resume`, 'Resume from now', { fields: { from: 'now' } })}`}
${action(`${path}/rotate`, 'Rotate the secret', { question: 'Make a new secret? The present one signs beside it for a day.' })}
<a href="${path}/missed">Pull what was missed</a>
${action(`${path}/delete`, 'Delete', { tone: 'bad', question: 'Delete this webhook? Nothing is sent any more, and it cannot be undone.' })}
</div>
<h2 id="deliveries">Deliveries</h2>
${resultForm(path, result)}
${attemptsPart(webhook.id, attempts, result)}
${pager(path, after, attempts.next, { others: { result }, at: '#deliveries' })}
${recoverPart(webhook, state)}
${endpointPart(webhook, state)}
${filterPart(webhook)}
<p class="dim noprint">The same over HTTP: <code>GET /api/webhooks/${webhook.id}</code>, <a href="/openapi.json">all of it</a>.</p>`,
  }
}

const endpointPart = (
  webhook: SubscriptionAnswer,
  state: FormState,
): Html => html`<h2 id="endpoint">Address, rate and order</h2>
<p>What waits goes to a new address too. The secret stays.</p>
<form method="post" action="${webhookPath(webhook.id)}/change#endpoint" class="row">
${input(state, 'url', { label: 'Another address', type: 'url', hint: 'it stays without one', maxLength: 2_048 })}
${sendingParts(state, webhook)}
<button type="submit">Change</button></form>`

const filterPart = (webhook: SubscriptionAnswer): Html => html`<h2>Filter</h2>
${facts([
  ['Address', webhook.url],
  ['Signals', signalsText(webhook.events)],
  ['Timeframes', webhook.timeframes?.join(', ') ?? 'all'],
  ['Coins', webhook.assets?.join(', ') ?? 'all'],
  ['Exchanges', webhook.exchanges?.join(', ') ?? 'all'],
  ['Least confidence, strength', `${webhook.min_confidence} %, ${webhook.min_strength}`],
  ['Only changes', webhook.only_changes ? 'yes' : 'no'],
  ...(webhook.cadence === null
    ? []
    : [
        [
          'Digest',
          `${webhook.top_n} of ${webhook.exchange} ${webhook.timeframe}, every ${webhook.cadence}`,
        ] as const,
      ]),
  ['Id', html`<code>${webhook.id}</code>`],
])}`

function testedNote({ accepted, outcome, status, latency_ms: ms, detail }: TestAnswer): Html {
  const said = status === null ? outcome.replaceAll('_', ' ') : `status ${status}`
  return note(
    html`<p><strong>${accepted ? 'The test arrived' : 'The test did not arrive'}: ${said}</strong>, after ${Math.round(ms)} ms.</p>${detail !== '' && html`<pre tabindex="0" role="region" aria-label="What was answered">${detail}</pre>`}`,
    accepted ? 'good' : 'bad',
  )
}

function attemptsPart(id: string, { attempts, next }: Attempts, sought: string | undefined): Html {
  if (attempts.length === 0 && next === null)
    return sought !== undefined
      ? html`<p>There is no such attempt. <a href="${webhookPath(id)}#deliveries">Show all</a></p>`
      : html`<p>No attempt was made yet.</p>`
  if (attempts.length === 0) return html`<p>None among the newest; go further.</p>`
  return table('Newest first', attempts, {
    'When, UTC': ({ at }) => time(at, 'second'),
    '#No.': ({ sequence }) => sequence,
    Result: ({ result }) => tag(result, RESULT_TONES[result]),
    Answer: ({ status, reason }) => status ?? reason,
    '#Try': ({ attempt }) => attempt,
    '#Took': (one) => `${Math.round(one.duration_ms)} ms`,
    'Again at, UTC': (one) => instant(one.next_at),
  })
}

const recoverPart = (
  webhook: SubscriptionAnswer,
  state: FormState,
): Html => html`<h2 id="recover">Given up</h2>
<p>What was given up is tried again, with the same ids and bodies.</p>
<form method="post" action="${webhookPath(webhook.id)}/recover#recover" class="row">
${input(state, 'since', { label: 'Since, in UTC', type: 'datetime-local', isRequired: true })}
<button type="submit">Try again</button></form>`

/** Deliveries after a number. */
export function missedPage(id: string, { events, next }: Missed, after: string): Page {
  return {
    title: 'Missed signals',
    ...OWN,
    body: html`${pathTo(id)}
<h1>Pull what was missed</h1>
<p class="lead">All signals after a number that were tried, with the bodies they are sent with, whether they arrived or not.</p>
<form method="get" class="row">${input({ typed: { after } }, 'after', { label: 'After number', maxLength: 64, isCode: true })}<button type="submit">Show</button></form>
${events.length === 0 ? html`<p>There is nothing after it that can be pulled now.</p>` : events.map((event) => html`<h3>${event.sequence}: ${SIGNAL_WORDS[event.event]}, ${time(event.created_at, 'second')}</h3>${copyable(JSON.stringify(event, null, 2), `Signal ${event.sequence}`)}`)}
${pager(webhookPath(id, 'missed'), undefined, next)}`,
  }
}
