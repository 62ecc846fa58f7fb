import type { PaymentAnswer } from '../../../contracts/payment-answers.ts'
import type { OperatorSubscription } from '../../../contracts/webhook-answers.ts'
import type { Component, Readiness } from '../readiness.ts'
import { type FormState, input, refusalNote } from './forms.ts'
import { type Html, html } from './html.ts'
import type { Page } from './layout.ts'
import { facts, type Tone, table, tag, tiles, time, whole } from './parts.ts'

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

export interface OperatorLook {
  readonly readiness: Readiness
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

/** How the service is doing, worst first, and what needs somebody. */
export function operatorPage({ readiness, payments, reviewed, looked }: OperatorLook): Page {
  const order = ['failed', 'degraded', 'ok']
  const parts = readiness.components.toSorted((a, b) => order.indexOf(a.state) - order.indexOf(b.state))
  const unwell = parts.filter(({ state }) => state !== 'ok')
  const open = payments?.filter(({ state }) => !['final', 'refunded'].includes(state)) ?? []
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
    payments === undefined ? '—' : whole(open.length),
    payments === undefined ? 'nothing is sold' : 'among the newest',
  ],
  [
    'Endpoints to review',
    reviewed === undefined ? '—' : whole(reviewed.length),
    `of ${whole(looked)} looked at`,
  ],
])}
<h2>Parts</h2>
${table('Worst first; what to do stands in the documentation of running', ['Part', 'State', 'What it says'], parts.map(partRow))}
${parts.map(morePart)}
${
  payments !== undefined &&
  html`<h2>Money</h2>${
    payments.length === 0
      ? html`<p>No payment yet.</p>`
      : table(
          'The newest claims',
          ['Claimed', 'For', { name: 'USDC', isNumber: true }, 'State', 'Why', 'Payer'],
          payments.map((one) => [
            time(one.claimed_at, 'second'),
            one.product,
            one.amount_usdc,
            tag(one.state),
            one.reason ?? '',
            html`<code>${one.payer}</code>`,
          ]),
        )
  }`
}
${
  reviewed !== undefined &&
  html`<h2>Endpoints</h2>${
    reviewed.length === 0
      ? html`<p>None needs review.</p>`
      : table(
          'Degraded, given up or stopped',
          ['Origin', 'State', 'Since', 'Why', { name: 'Failures in a row', isNumber: true }, 'Id'],
          reviewed.map((one) => [
            one.origin ?? 'erased',
            tag(one.state, 'warn'),
            time(one.state_since),
            one.reason ?? '',
            one.failures_in_a_row,
            html`<code>${one.id}</code>`,
          ]),
        )
  }`
}
<p class="dim noprint">Graphs: Grafana, where it runs (<a href="/docs/running">how</a>, usually port 3000). As data: <code>/readyz</code>, <code>/operator/payments</code>, <code>/operator/webhooks</code>, <code>/metrics</code>.</p>`,
  }
}

const partRow = ({ name, state, detail, isRequired }: Component) => [
  html`${name}${isRequired && html` <small>required</small>`}`,
  tag(state, TONES[state]),
  html`<span class="wide">${detail}</span>`,
]

function morePart({ name, more }: Component): Html {
  if (more === undefined) return html``
  const rows = Object.entries(more).map(
    ([key, value]) =>
      [
        key.replaceAll('_', ' '),
        typeof value === 'object' ? html`<code>${JSON.stringify(value)}</code>` : String(value),
      ] as const,
  )
  return html`<details><summary>${name}</summary>${facts(rows)}</details>`
}
