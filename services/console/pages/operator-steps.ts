import type { Component } from '../../http/readiness.ts'
import { type Html, html } from './html.ts'

const link = (anchor: string, text: string): Html => html`<a href="/docs/${anchor}">${text}</a>`

/** The next step for a part that is not well, by the beginning of its name. */
const STEPS: readonly (readonly [string, Html])[] = [
  [
    'store',
    html`Nothing is recorded or sold without the log. Look at its disk, or at the server it runs on. ${link('running#what-do-i-do-when-the-log-cannot-be-read-or-something-does-not-verify-after-a-crash', 'When the log cannot be read')}`,
  ],
  [
    'projection ',
    html`One that catches up comes by itself. One that has stopped met an event that it cannot fold: start the newest release, and run <code>npm run signal doctor</code>. ${link('running#is-it-well', 'Is it well?')}`,
  ],
  ['bus', html`Look at NATS. Nothing is lost meanwhile: what it does not tell is found in the log, later.`],
  ['cache', html`Look at Redis. Rate limits hold for each process alone meanwhile.`],
  [
    'market',
    html`Look at the venues below. A feed that fell silent is connected anew by itself; series that are closed are tried again. ${link('live-venues', 'Venues')}`,
  ],
  [
    'venue ',
    html`It is asked again by itself, ever more seldom. Where it refuses this address or region, leave it out with <code>EXCHANGES</code>. ${link('live-venues', 'Venues')}`,
  ],
  [
    'engines',
    html`Start a process with the role <code>engine</code>, or look at those that are silent. Callers have the newest recorded verdicts meanwhile.`,
  ],
  [
    'settler',
    html`Where its gas is short, send ETH to its wallet; where the node or facilitator is away, look at that. What is owed is settled when it is back. ${link('payments-operator', 'Payments')}`,
  ],
  [
    'dispatcher',
    html`What waits is sent in order once it goes on. ${link('running#what-do-i-do-when-a-queue-grows-or-webhooks-fall-behind', 'When webhooks fall behind')}`,
  ],
  [
    'transparency log',
    html`Verdicts are recorded all the same, and signed when it is back. ${link('proof', 'Proof')}`,
  ],
  ['leases', html`This process holds work that it does not do: restart it, and another one takes over.`],
  ['demo chain', html`Restart the process; it is play money.`],
]

/** The next step for a part. @example nextStepOf({ name: 'bus', state: 'failed', … }) */
export const nextStepOf = ({ name }: Pick<Component, 'name'>): Html =>
  STEPS.find(([beginning]) => name.startsWith(beginning))?.[1] ??
  html`Run <code>npm run signal doctor</code>. ${link('running#is-it-well', 'Is it well?')}`
