import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import * as answers from '../../../contracts/answers/webhook.ts'
import { EXCHANGES } from '../../../contracts/domain/series.ts'
import { countText } from '../../../contracts/domain/statistics.ts'
import { CADENCES, type SignalType } from '../../../contracts/domain/subscription.ts'
import { TIMEFRAMES } from '../../../contracts/domain/timeframes.ts'
import { DELIVERY_RESULTS } from '../../../contracts/events/delivery-events.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { subscriptionParams } from '../../http/webhook-service.ts'
import { copyable, facts, note, pager, table, tag, tiles, time, whole } from '../components.ts'
import {
  action,
  choices,
  EMPTY_FORM,
  type FormState,
  input,
  named,
  refusalNote,
  select,
  type Typed,
  textOf,
} from '../forms.ts'
import { type Html, html } from '../html.ts'
import { type Page, sendPage } from '../layout.ts'
import { leaveNote, noteOf, ownForm } from '../session.ts'
import type { PagesOptions } from './series.ts'
import { askToSignIn } from './sign-in.ts'

type Webhook = answers.SubscriptionAnswer
export type Webhooks = z.infer<typeof answers.subscriptionsAnswerSchema>
type Attempts = z.infer<typeof answers.attemptsAnswerSchema>
type Missed = z.infer<typeof answers.eventsAnswerSchema>
type Tested = z.infer<typeof answers.testAnswerSchema>

const ROWS = 25
/** Characters of an endpoint's answer that a cookie has room for. */
const SHOWN_CHARACTERS = 400
/** A secret, or the result of a test, shown once. */
const noteSchema = z.object({ secret: z.string().optional(), tested: answers.testAnswerSchema.optional() })

/** A button of a webhook: its request, and the note that the answer leaves. */
interface Button {
  readonly request: `${'POST' | 'DELETE' | 'PATCH'} ${string}`
  readonly body?: (form: Typed) => object
  readonly noted?: (answer: never) => z.infer<typeof noteSchema>
}

const BUTTONS: Readonly<Record<string, Button>> = {
  pause: { request: 'POST /pause' },
  resume: { request: 'POST /resume', body: (form) => ({ from: textOf(form, 'from') || 'cursor' }) },
  change: { request: 'PATCH ', body: (form) => bodyOf(form) },
  delete: { request: 'DELETE ' },
  rotate: { request: 'POST /rotate-secret', noted: ({ secret }: { secret: string }) => ({ secret }) },
  test: {
    request: 'POST /test',
    noted: (tested: Tested) => ({ tested: { ...tested, detail: tested.detail.slice(0, SHOWN_CHARACTERS) } }),
  },
  // The form is in UTC.
  recover: { request: 'POST /recover', body: ({ since }) => ({ since: String(since).replace(/Z?$/, 'Z') }) },
}

/** The fields of the interface, as they were typed. A field that is undefined is not sent. */
function bodyOf(typed: Typed): object {
  const word = (name: string) => textOf(typed, name).trim() || undefined
  const list = (name: string) =>
    [typed[name] ?? []]
      .flat()
      .join(' ')
      .match(/[^\s,]+/g) ?? undefined
  // The interface refuses what is no number.
  const number = (name: string) => (Number.isNaN(Number(word(name))) ? word(name) : Number(word(name)))
  const fields = (read: (name: string) => unknown, ...names: readonly string[]) =>
    Object.fromEntries(names.map((name) => [name, read(name)]))
  return {
    ...fields(word, 'url', 'timeframe', 'exchange', 'cadence'),
    ...fields(list, 'events', 'timeframes', 'assets'),
    ...fields(number, 'min_confidence', 'min_strength', 'top_n'),
    max_per_second: number('max_per_second') ?? null,
    // A form leaves out a box that is not ticked, which means no.
    only_changes: word('only_changes') === 'true' || undefined,
    in_order: word('in_order') === 'true',
  }
}

/** A form sends empty fields. */
const text = z.preprocess((typed) => typed || undefined, z.string().trim().max(256).optional())
const params = { params: subscriptionParams }
const querySchema = z.strictObject({ after: text, result: text })
/** Shown beside a webhook: a page of attempts, those with one result alone, a note, and a refused form. */
type Shown = z.infer<typeof querySchema> & z.infer<typeof noteSchema> & { readonly state?: FormState }

/** `/webhooks`: create webhooks, see their state and deliveries, and do all that the interface offers. */
export const webhookPageRoutes: FastifyPluginAsyncZod<PagesOptions> = async (app, options) => {
  const { client, frame } = options
  askToSignIn(app, options, ABOUT)

  const send = (reply: FastifyReply, page: Page, { refusal }: FormState = EMPTY_FORM) =>
    sendPage(reply.code(refusal?.status ?? 200), frame(), page)

  async function sendWebhook(request: FastifyRequest, reply: FastifyReply, id: string, shown: Shown) {
    const query = { after: shown.after, result: shown.result, limit: ROWS }
    const webhook = await client.read<Webhook>(request, `/api${pathOf(id)}`)
    const attempts = await client.read<Attempts>(request, `/api${pathOf(id)}/deliveries`, query)
    const noted = noteOf(request, noteSchema, reply)
    return send(reply, webhookPage(webhook, attempts, { ...shown, ...noted }), shown.state)
  }

  const listed = { querystring: z.strictObject({ after: text, status: text }) }
  app.get('/webhooks', { schema: listed }, async (request, reply) => {
    const { after, status = 'all' } = request.query
    const webhooks = await client.read<Webhooks>(request, '/api/webhooks', { status, limit: ROWS, after })
    return send(reply, webhooksPage(webhooks, after, status))
  })

  app.get('/webhooks/new', async (request, reply) => {
    await client.read(request, '/api/webhooks', { limit: 1 })
    return send(reply, newWebhookPage(EMPTY_FORM))
  })

  app.get('/webhooks/:id', { schema: { ...params, querystring: querySchema } }, (request, reply) =>
    sendWebhook(request, reply, request.params.id, request.query),
  )

  const onward = { ...params, querystring: querySchema.pick({ after: true }) }
  app.get('/webhooks/:id/missed', { schema: onward }, async (request, reply) => {
    const { id } = request.params
    const { after = '0' } = request.query
    const missed = await client.read<Missed>(request, `/api${pathOf(id)}/events`, { after, limit: ROWS })
    return send(reply, missedPage(id, missed, after))
  })

  app.post('/webhooks', async (request, reply) => {
    const typed = ownForm(request, frame().publicUrl)
    const asked = { method: 'POST', path: '/api/webhooks', body: bodyOf(typed) } as const
    const made = await client.ask<Webhook & { secret: string }>(request, asked)
    if (made.isOk) return leaveNote(reply, { secret: made.body.secret }).redirect(pathOf(made.body.id), 303)
    const state = { typed, refusal: named(made.refusal, 'url_refused', 'url') }
    return send(reply, newWebhookPage(state), state)
  })

  for (const [name, { request: asked, body, noted }] of Object.entries(BUTTONS)) {
    const [method, to] = asked.split(' ') as ['POST', string]
    app.post(`/webhooks/:id/${name}`, { schema: params }, async (request, reply) => {
      const typed = ownForm(request, frame().publicUrl)
      const { id } = request.params
      const path = `/api${pathOf(id)}${to}`
      const answer = await client.ask<never>(request, { method, path, ...(body && { body: body(typed) }) })
      if (!answer.isOk) return sendWebhook(request, reply, id, { state: { typed, refusal: answer.refusal } })
      if (noted !== undefined) leaveNote(reply, noted(answer.body))
      return reply.redirect(name === 'delete' ? '/webhooks' : pathOf(id), 303)
    })
  }
}

const pathOf = (id: string): string => `/webhooks/${id}`

const STATUSES = { all: 'all', active: 'those that go on, or are paused', disabled: 'those that need you' }
const SIGNAL_WORDS: Readonly<Record<SignalType, string>> = {
  trade_call: 'Trade calls',
  regime_shift: 'Shifts of the regime',
  scan_digest: 'Digests of a scan',
}
const signalsText = ({ events }: Webhook): string => events.map((event) => SIGNAL_WORDS[event]).join(', ')
const instant = (iso: string | null, zone = '') => (iso === null ? '—' : html`${time(iso, 'second')}${zone}`)
const shortened = (url: string): string => (url.length > 60 ? `${url.slice(0, 57)}…` : url)
const OWN = { at: '/webhooks', isPrivate: true } as const
const HOME = html`<a href="/webhooks">Webhooks</a>`

/** For visitors who are not signed in. */
const ABOUT = html`<h1>Webhooks</h1>
<p class="lead">A webhook sends signals to an address of yours as they are recorded: each BUY and SELL, changes of the regime, and digests of a scan.</p>
<ul>
<li>You choose coins, timeframes and signals.</li>
<li>Each delivery is signed and numbered, and tried again for two days; what was not taken you can fetch.</li>
<li>To your own program: <a href="/docs/webhooks">how they work</a>, and <a href="/docs/webhook-receivers">receivers in Python and TypeScript</a>.</li>
</ul>
`

/** The columns of every list of webhooks. */
const ENDPOINT = {
  Address: ({ id, url }: Webhook) => html`<a href="${pathOf(id)}">${shortened(url)}</a>`,
  State: ({ state }: Webhook) => tag(state),
  '#To be tried again': (one: Webhook) => whole(one.retries_open),
  'Last taken, UTC': (one: Webhook) => instant(one.last_success_at),
}

/** The first webhooks of an account, for its page. */
export const endpointsPart = ({ webhooks, next }: Webhooks): Html => {
  const columns = {
    ...ENDPOINT,
    Test: ({ id }: Webhook) => action(`${pathOf(id)}/test`, 'Send a test', { label: `Send a test to ${id}` }),
  }
  const empty = html`<p>None yet: <a href="/webhooks">what a webhook is</a>.</p>`
  return html`<h2 id="endpoints">Endpoints</h2>
${table('Where signals are sent', webhooks, columns, { empty })}
<p class="noprint"><a href="/webhooks">${next === null ? 'Manage webhooks' : 'All webhooks'}</a></p>`
}

/** All webhooks of the account, with the state of each. */
function webhooksPage(list: Webhooks, after: string | undefined, status: string): Page {
  const { webhooks, next, needs_review: review } = list
  const empty = html`<p>${status === 'all' ? html`There is none yet. <a href="/docs/webhook-receivers">Receivers in Python and TypeScript</a> are ready to run.` : html`There is none of these. <a href="/webhooks">Show all</a>`}</p>`
  const columns = {
    ...ENDPOINT,
    Sends: signalsText,
    '#Delivered': ({ counts }: Webhook) => whole(counts.delivered),
    '#Given up': ({ counts }: Webhook) => whole(counts.exhausted),
  }
  const body = html`<h1>Webhooks</h1>
<p class="lead">Where signals are sent, and whether they arrive. <a class="button main" href="/webhooks/new">New webhook</a></p>
${review > 0 && note(html`<p><strong>${review} need you:</strong> nothing is sent there any more. Open them to see why, and resume.</p>`, 'warn')}
<form method="get" action="/webhooks" class="row noprint">${select({ typed: { status } }, 'status', Object.entries(STATUSES), 'Which')}<button type="submit">Show</button></form>
${table('In the order of their creation', webhooks, columns, { empty })}
${pager('/webhooks', after, next, { others: { status } })}`
  return { title: 'Webhooks', ...OWN, body }
}

/** One webhook: its state, its deliveries, and all that can be done with it. */
function webhookPage(webhook: Webhook, attempts: Attempts, shown: Shown): Page {
  const { secret, tested, state = EMPTY_FORM, after, result } = shown
  const { id, counts, warnings, failures_in_a_row: failures } = webhook
  const path = pathOf(id)
  const body = html`<p class="dim">${HOME}</p>
<h1>${shortened(webhook.url)}</h1>
<p>${tag(webhook.state)} since ${time(webhook.state_since)} UTC${webhook.reason !== null && html`: ${webhook.reason}`}</p>
${secret && note(html`<p><strong>This is its secret.</strong> It is shown this once: your receiver needs it to check what comes.</p>${copyable(secret, 'The secret')}`, 'good')}
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
<form method="get" action="${path}#deliveries" class="row noprint">${select({ typed: { result } }, 'result', [['', 'all'], ...DELIVERY_RESULTS], 'Attempts that ended')}<button type="submit">Show</button></form>
${attemptsTable(path, attempts, result)}
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
<h2>Filter</h2>
${filterFacts(webhook)}
<p class="dim noprint">The same over HTTP: <code>GET /api/webhooks/${id}</code>, <a href="/openapi.json">all of it</a>.</p>`
  return { title: `Webhook to ${shortened(webhook.url)}`, ...OWN, body }
}

function testedNote({ accepted, outcome, status, latency_ms: ms, detail }: Tested): Html {
  const said = status === null ? outcome.replaceAll('_', ' ') : `status ${status}`
  const answer = html`<pre tabindex="0" role="region" aria-label="What was answered">${detail}</pre>`
  const result = html`<p><strong>${accepted ? 'The test arrived' : 'The test did not arrive'}: ${said}</strong>, after ${Math.round(ms)} ms.</p>${detail !== '' && answer}`
  return note(result, accepted ? 'good' : 'bad')
}

function attemptsTable(path: string, { attempts, next }: Attempts, result: string | undefined): Html {
  const none =
    result === undefined
      ? 'No attempt was made yet.'
      : html`There is no such attempt. <a href="${path}#deliveries">Show all</a>`
  const empty = html`<p>${next === null ? none : 'None among the newest; go further.'}</p>`
  return table(
    'Newest first',
    attempts,
    {
      'When, UTC': ({ at }) => time(at, 'second'),
      '#No.': ({ sequence }) => sequence,
      Result: (one) => tag(one.result),
      Answer: ({ status, reason }) => status ?? reason,
      '#Try': ({ attempt }) => attempt,
      '#Took': (one) => `${Math.round(one.duration_ms)} ms`,
      'Again at, UTC': (one) => instant(one.next_at),
    },
    { empty },
  )
}

function filterFacts(webhook: Webhook): Html {
  const { cadence, top_n, exchange, timeframe } = webhook
  const digest = `${top_n} of ${exchange} ${timeframe}, every ${cadence}`
  return facts([
    ['Address', webhook.url],
    ['Signals', signalsText(webhook)],
    ['Timeframes', webhook.timeframes?.join(', ') ?? 'all'],
    ['Coins', webhook.assets?.join(', ') ?? 'all'],
    ['Exchanges', webhook.exchanges?.join(', ') ?? 'all'],
    ['Least confidence, strength', `${webhook.min_confidence} %, ${webhook.min_strength}`],
    ['Only changes', webhook.only_changes ? 'yes' : 'no'],
    ['Digest', cadence === null ? 'none' : digest],
    ['Id', html`<code>${webhook.id}</code>`],
  ])
}

/** Deliveries after a number. */
function missedPage(id: string, { events, next }: Missed, after: string): Page {
  const body = html`<p class="dim">${HOME} / <a href="${pathOf(id)}">this one</a></p>
<h1>Pull what was missed</h1>
<p class="lead">All signals after a number that were tried, with the bodies they are sent with, whether they arrived or not.</p>
<form method="get" class="row">${input({ typed: { after } }, 'after', { label: 'After number', maxLength: 64, isCode: true })}<button type="submit">Show</button></form>
${events.length === 0 ? html`<p>There is nothing after it that can be pulled now.</p>` : events.map((event) => html`<h3>${event.sequence}: ${SIGNAL_WORDS[event.event]}, ${time(event.created_at, 'second')} UTC</h3>${copyable(JSON.stringify(event, null, 2), `Signal ${event.sequence}`)}`)}
${pager(`${pathOf(id)}/missed`, undefined, next)}`
  return { title: 'Missed signals', ...OWN, body }
}

/** Creates a webhook. */
function newWebhookPage(state: FormState): Page {
  const number = (name: string, label: string, hint: string) =>
    input(state, name, { label, type: 'number', hint })
  const body = html`<p class="dim">${HOME}</p>
<h1>New webhook</h1>
<p class="lead">Signals are sent to your address as they are recorded, signed and numbered, and again until you take them; unless you choose an order, they may overtake one another. <a href="/docs/webhooks">How it works</a></p>
${refusalNote(state.refusal)}
<form method="post" action="/webhooks" class="stack">
${input(state, 'url', { label: 'Address', type: 'url', hint: 'HTTPS, port 443 or 8443, public; a service of your own takes others with --webhooks-allow-private.', maxLength: 2_048 })}
${choices(state, 'events', Object.entries(SIGNAL_WORDS), { label: 'Tell me of', chosen: ['trade_call'] })}
${choices(state, 'timeframes', TIMEFRAMES, { label: 'Timeframes', hint: 'None ticked: all of them' })}
${input(state, 'assets', { label: 'Coins', hint: 'As BTC, ETH, or top:10 for the ten largest; empty: all', isCode: true })}
<div class="row">${number('min_confidence', 'Least confidence', 'percent; it lives in 50–60')}${number('min_strength', 'Least strength', '0–100')}</div>
${choices(state, 'only_changes', [['true', 'Only when a series turns BUY or SELL, not for each bar that stays so']], { label: 'Changes' })}
<details${[state.typed.events].flat().includes('scan_digest') && html` open`}><summary>Digest of a scan</summary>
<div class="row">${select(state, 'timeframe', [['', '—'], ...TIMEFRAMES], 'Timeframe')}${select(state, 'exchange', [['', '—'], ...EXCHANGES], 'Exchange')}${number('top_n', 'Rows', '1–100')}${select(state, 'cadence', [['', '—'], ...CADENCES], 'Every')}</div></details>
<details${Boolean(state.typed.max_per_second) && html` open`}><summary>Rate and order</summary>${sendingParts(state)}</details>
<div class="row"><button type="submit" class="main">Create</button></div>
</form>`
  return { title: 'New webhook', ...OWN, body }
}

/** Rate and order of deliveries. @param webhook holds the present choices, if there are some */
const sendingParts = (state: FormState, webhook?: Webhook): Html => html`
${input(state, 'max_per_second', { label: 'Deliveries a second at most', type: 'number', hint: `1–${LIMITS.webhookPerSecond}; empty: as many as it takes`, value: String(webhook?.max_per_second ?? '') })}
${choices(state, 'in_order', [['true', 'In order: each delivery waits until the previous one is delivered or given up']], { label: 'How they are sent', chosen: [String(webhook?.in_order ?? false)] })}`
