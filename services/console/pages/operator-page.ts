import type { JsonObject } from '../../../contracts/json.ts'
import type { PaymentAnswer } from '../../../contracts/payment-answers.ts'
import type { OperatorSubscription } from '../../../contracts/webhook-answers.ts'
import type { Component, Readiness } from '../../http/readiness.ts'
import { type FormState, input, refusalNote } from './forms.ts'
import { type Html, html } from './html.ts'
import type { Page } from './layout.ts'
import { nextStepOf } from './operator-steps.ts'
import { facts, note, PAYMENT_TONES, type Tone, table, tag, tiles, time, whole } from './parts.ts'
import { paymentPath } from './payment-page.ts'

/** Asks for the operator's token. @param hasToken whether one is set at all */
export function operatorSignInPage(state: FormState, hasToken: boolean): Page {
  return {
    title: 'Operator',
    isPrivate: true,
    body: html`<h1>Operator</h1>
${
  hasToken
    ? html`<p class="lead">Health, money, endpoints and venues, with <code>OPERATOR_TOKEN</code>.</p>${refusalNote(state.refusal)}
<form method="post" action="/operator" class="stack">${input(state, 'token', { label: 'Token of the operator', type: 'password', isRequired: true, autocomplete: 'current-password', maxLength: 512 })}<div><button type="submit" class="main">Open</button></div></form>`
    : html`<p class="lead">No <code>OPERATOR_TOKEN</code> is set, so this page opens by the owner’s socket only.</p><pre tabindex="0" role="region" aria-label="By the owner's socket">curl --unix-socket data/simulated/owner.sock http://localhost/readyz</pre>`
}
<p class="dim"><a href="/docs/running">Running the service</a></p>`,
  }
}

/** The claims of all payers together, in USDC. */
export interface MoneyLook {
  readonly claims: number
  /** How many of them are in each state. */
  readonly by_state: Readonly<Record<string, number>>
  readonly open: number
  /** Served, and the money not there: what is lent at this moment. */
  readonly unsettled_usdc: string
  /** Served, and the money never comes. */
  readonly debt_usdc: string
}

export interface OperatorLook {
  readonly readiness: Readiness
  /** Undefined where nothing is sold, or its read model is not here. */
  readonly money: MoneyLook | undefined
  readonly payments: readonly Omit<PaymentAnswer, 'next_step'>[] | undefined
  /** Subscriptions that are degraded, disabled or stopped, among those that were looked at. */
  readonly reviewed: readonly OperatorSubscription[] | undefined
  readonly looked: number
}

const TONES: Readonly<Record<Component['state'], Tone>> = { ok: 'ok', degraded: 'warn', failed: 'failed' }
const STATUS_TONES: Readonly<Record<Readiness['status'], Tone>> = {
  ready: 'ok',
  degraded: 'warn',
  unready: 'failed',
}
const ORDER = ['failed', 'degraded', 'ok']
const PROJECTION = 'projection '
const VENUE = 'venue '

/** How the service is doing: first what needs somebody, then money, venues, and how far everything has come. */
export function operatorPage(look: OperatorLook): Page {
  const { readiness, money, reviewed, looked } = look
  const parts = readiness.components.toSorted((a, b) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state))
  const unwell = parts.filter(({ state }) => state !== 'ok')
  return {
    title: 'Operator',
    isPrivate: true,
    body: html`<h1>Operator</h1>
${tiles([
  [
    'State',
    tag(readiness.status, STATUS_TONES[readiness.status]),
    unwell.length === 0 ? 'every part is well' : `${unwell.length} of ${parts.length} parts are not well`,
  ],
  [
    'Payments under way',
    money === undefined ? '—' : whole(money.open),
    money === undefined ? 'nothing is sold here' : `${money.unsettled_usdc} USDC served and not settled`,
  ],
  ["Settler's gas", ...gasOf(parts)],
  [
    'Endpoints to review',
    reviewed === undefined ? '—' : whole(reviewed.length),
    `of ${whole(looked)} looked at`,
  ],
])}
<h2 id="to-do">What needs you</h2>
${
  unwell.length === 0
    ? note(html`<p>Nothing: every part is well.</p>`)
    : table('Worst first', unwell, {
        ...PART_COLUMNS,
        'What to do': (part) => html`<span class="wide">${nextStepOf(part)}</span>`,
      })
}
${moneyPart(look)}
${venuesPart(parts)}
${lagPart(parts)}
${endpointsPart(look)}
<h2 id="parts">All parts</h2>
${table(
  'Worst first',
  parts.filter(({ name }) => !name.startsWith(PROJECTION) && !name.startsWith(VENUE)),
  PART_COLUMNS,
)}
<details><summary>Everything that the parts tell of themselves</summary>${parts.map(morePart)}</details>
<p class="dim noprint">Graphs: Grafana, where it runs (<a href="/docs/running#is-it-well">how</a>, usually port 3000). As data: <code>/readyz</code>, <code>/operator/payments</code>, <code>/operator/webhooks</code>, <code>/metrics</code>. From a terminal: <code>npm run signal doctor</code>.</p>`,
  }
}

const WEI_PER_GWEI = 1_000_000_000n

/** The gas wallet's balance, as it was when it was last asked. */
function gasOf(parts: readonly Component[]): readonly [Html | string, string] {
  const settler = parts.find(({ name }) => name === 'settler')
  if (settler === undefined) return ['—', 'no settler runs in this process']
  const wei = settler.more?.gas_wei
  if (typeof wei !== 'string') return ['—', 'not asked yet, or a facilitator settles']
  const ether = Number(BigInt(wei) / WEI_PER_GWEI) / 1e9
  return [`${ether.toLocaleString('en', { maximumSignificantDigits: 4 })} ETH`, settler.detail]
}

function moneyPart({ money, payments }: OperatorLook): Html {
  if (payments === undefined) return html``
  return html`<h2 id="money">Money</h2>
${
  money !== undefined &&
  facts([
    ['Claims in all', whole(money.claims)],
    ['Not at their end', whole(money.open)],
    ['Exposure: served, not settled', `${money.unsettled_usdc} USDC`],
    ['Debts: served, never paid', `${money.debt_usdc} USDC`],
    [
      'Claims by state',
      Object.entries(money.by_state).map(
        ([state, count], index) => html`${index > 0 && ', '}${whole(count)} ${state}`,
      ),
    ],
  ])
}
${
  payments.length === 0
    ? html`<p>No payment yet. <a href="/docs/payments-operator">How payments are settled</a></p>`
    : table('The newest claims', payments, {
        Claimed: ({ id, claimed_at: at }) => html`<a href="${paymentPath(id)}">${time(at, 'second')}</a>`,
        For: ({ product }) => product,
        '#USDC': ({ amount_usdc: amount }) => amount,
        State: ({ state }) => tag(state, PAYMENT_TONES[state]),
        Why: ({ reason }) => reason?.replaceAll('_', ' '),
        Payer: ({ payer }) => html`<code title="${payer}">${payer.slice(0, 10)}…</code>`,
      })
}`
}

/** Seconds, minutes or hours, as people say them. */
const duration = (ms: unknown): string => {
  if (typeof ms !== 'number') return '—'
  if (ms < 120_000) return `${Math.round(ms / 1_000)} s`
  return ms < 7_200_000 ? `${Math.round(ms / 60_000)} min` : `${Math.round(ms / 3_600_000)} h`
}

const recordOf = (value: unknown): JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {}
const wordOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)
const countOf = (value: unknown): string => (typeof value === 'number' ? whole(value) : '—')

/** Venues as they answer, with what is followed there. */
function venuesPart(parts: readonly Component[]): Html {
  const market = parts.find(({ name }) => name === 'market')
  if (market === undefined) return html``
  const followed = recordOf(market.more?.series)
  const told = new Map(
    parts.filter(({ name }) => name.startsWith(VENUE)).map((part) => [part.name.slice(VENUE.length), part]),
  )
  const venues = [...new Set([...told.keys(), ...Object.keys(followed)])].toSorted().map((name) => {
    const counts = recordOf(followed[name])
    const venue = told.get(name)
    const state = venue?.state ?? (Number(counts.stale) + Number(counts.closed) > 0 ? 'degraded' : 'ok')
    return { name, counts, venue, state } as const
  })
  return html`<h2 id="venues">Venues</h2>
${
  venues.length === 0
    ? html`<p>No venue has said yet what it has.</p>`
    : table(`Market data: ${market.detail}`, venues, {
        Venue: ({ name }) => name,
        State: ({ state }) => tag(state, TONES[state]),
        '#Followed': ({ counts }) => countOf(counts.monitored),
        '#Fresh': ({ counts }) => countOf(counts.fresh),
        '#Stale': ({ counts }) => countOf(counts.stale),
        '#Closed': ({ counts }) => countOf(counts.closed),
        '#Loading': ({ counts }) => countOf(counts.loading),
        '#Newest bar': ({ venue }) => duration(venue?.more?.data_age_ms ?? market.more?.data_age_ms),
        'What it says': ({ venue }) => html`<span class="wide">${venue?.detail}</span>`,
      })
}`
}

/** How far everything has come that follows the log. */
function lagPart(parts: readonly Component[]): Html {
  const [market, settler, dispatcher] = ['market', 'settler', 'dispatcher'].map(
    (name) => parts.find((part) => part.name === name)?.more,
  )
  return html`<h2 id="lag">Lag and freshness</h2>
${facts([
  ['Newest bar closed', `${duration(market?.data_age_ms)} ago, in market time`],
  ['Dispatcher before the end of the log', duration(dispatcher?.pass_behind_ms)],
  [
    'Subscriptions behind, and for long',
    `${countOf(dispatcher?.behind)}, ${countOf(dispatcher?.long_behind)}`,
  ],
  ['Deliveries that wait for another try', countOf(dispatcher?.open_retries)],
  ['Oldest payment served and not settled', duration(settler?.oldest_unsettled_ms)],
])}
${table(
  'Read models, and where in the log they stand',
  parts.filter(({ name }) => name.startsWith(PROJECTION)),
  {
    'Read model': ({ name, isRequired }) =>
      html`${name.slice(PROJECTION.length).replaceAll('_', ' ')}${isRequired && REQUIRED}`,
    State: ({ state, more }) => tag(wordOf(more?.state) ?? state, TONES[state]),
    Position: ({ more }) => html`<code>${wordOf(more?.position)}</code>`,
    'What it says': ({ state, detail }) => html`<span class="wide">${state !== 'ok' && detail}</span>`,
  },
)}`
}

function endpointsPart({ reviewed }: OperatorLook): Html {
  if (reviewed === undefined) return html``
  return html`<h2 id="endpoints">Endpoints that need review</h2>
${
  reviewed.length === 0
    ? html`<p>None: all that were looked at take what they are sent, or were paused by their owners.</p>`
    : table('Degraded, given up or stopped; their owners have notices, and resume them', reviewed, {
        Origin: ({ origin }) => origin ?? 'erased',
        State: ({ state }) => tag(state, 'warn'),
        Since: ({ state_since: since }) => time(since),
        Why: ({ reason }) => reason,
        '#Failures in a row': (one) => one.failures_in_a_row,
        Id: ({ id }) => html`<code>${id}</code>`,
      })
}
<p class="dim noprint">Stop or allow one: <code>npm run signal webhooks</code>, <a href="/docs/running#what-do-i-do-when-a-queue-grows-or-webhooks-fall-behind">when a queue grows</a>.</p>`
}

const REQUIRED = html` <small>required</small>`
const PART_COLUMNS = {
  Part: ({ name, isRequired }: Component) => html`${name}${isRequired && REQUIRED}`,
  State: ({ state }: Component) => tag(state, TONES[state]),
  'What it says': ({ detail }: Component) => html`<span class="wide">${detail}</span>`,
}

function morePart({ name, more }: Component): Html {
  if (more === undefined) return html``
  const rows = Object.entries(more).map(
    ([key, value]) =>
      [
        key.replaceAll('_', ' '),
        typeof value === 'object' ? html`<code>${JSON.stringify(value)}</code>` : String(value),
      ] as const,
  )
  return html`<h3>${name}</h3>${facts(rows)}`
}
