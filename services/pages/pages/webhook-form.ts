import { EXCHANGES } from '../../../contracts/exchanges.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { CADENCES, SIGNAL_TYPES, type SignalType } from '../../../contracts/subscription.ts'
import { TIMEFRAMES } from '../../../contracts/timeframes.ts'
import type { SubscriptionAnswer } from '../../../contracts/webhook-answers.ts'
import { choices, type FormState, input, refusalNote, select, type Typed } from '../forms.ts'
import { type Html, html } from '../html.ts'
import type { Page } from '../layout.ts'

export const SIGNAL_WORDS: Readonly<Record<SignalType, string>> = {
  trade_call: 'Trade calls',
  regime_shift: 'Shifts of the regime',
  scan_digest: 'Digests of a scan',
}

const same = (values: readonly string[]) => values.map((value) => [value, value] as const)

/** Fields of a filter, as a subscription is made with them. */
const filterParts = (state: FormState): Html => html`
${choices(
  state,
  'events',
  SIGNAL_TYPES.map((type) => [type, SIGNAL_WORDS[type]] as const),
  { label: 'Tell me of', chosen: ['trade_call'] },
)}
${choices(state, 'timeframes', same(TIMEFRAMES), { label: 'Timeframes', hint: 'None ticked: all of them' })}
${input(state, 'assets', { label: 'Coins', hint: 'As BTC, ETH, or top:10 for the ten largest; empty: all', isCode: true })}
<div class="row">${input(state, 'min_confidence', { label: 'Least confidence', type: 'number', hint: 'percent; it lives in 50–60' })}${input(state, 'min_strength', { label: 'Least strength', type: 'number', hint: '0–100' })}</div>
${choices(state, 'only_changes', [['true', 'Only when a series turns BUY or SELL, not for each bar that stays so']], { label: 'Changes' })}
<details${[state.typed.events].flat().includes('scan_digest') && html` open`}><summary>Digest of a scan</summary>
<div class="row">${select(state, 'timeframe', [['', '—'], ...same(TIMEFRAMES)], { label: 'Timeframe' })}${select(state, 'exchange', [['', '—'], ...same(EXCHANGES)], { label: 'Exchange' })}${input(state, 'top_n', { label: 'Rows', type: 'number', hint: '1–100' })}${select(state, 'cadence', [['', '—'], ...same(CADENCES)], { label: 'Every' })}</div></details>`

/** A number of a form, and what is none as it was typed; undefined for an empty one. */
export function numberOf(typed = ''): number | string | undefined {
  const value = typed.trim()
  return value === '' ? undefined : /^-?\d+(?:\.\d+)?$/.test(value) ? Number(value) : value
}

/** The filter of a form in the fields of the interface, without the empty ones. */
export function filterOf(typed: Typed): JsonObject {
  const list = (name: string) => [typed[name] ?? []].flat().filter((one) => one !== '')
  const text = (name: string) => list(name)[0]
  const number = (name: string) => numberOf(text(name))
  const assets = (text('assets') ?? '').split(/[\s,]+/).filter((one) => one !== '')
  const fields = {
    events: list('events'),
    timeframes: list('timeframes').length > 0 ? list('timeframes') : undefined,
    assets: assets.length > 0 ? assets : undefined,
    min_confidence: number('min_confidence'),
    min_strength: number('min_strength'),
    only_changes: text('only_changes') === 'true' ? true : undefined,
    timeframe: text('timeframe'),
    exchange: text('exchange'),
    top_n: number('top_n'),
    cadence: text('cadence'),
  }
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as JsonObject
}

/** How deliveries are sent. @param chosen the present choices, where there are some */
export const sendingParts = (
  state: FormState,
  chosen: Partial<Pick<SubscriptionAnswer, 'max_per_second' | 'in_order'>> = {},
): Html => html`
${input(state, 'max_per_second', { label: 'Deliveries a second at most', type: 'number', hint: `1–${LIMITS.webhookPerSecond}; empty: as many as it takes`, value: String(chosen.max_per_second ?? '') })}
${choices(state, 'sending', [['in_order', 'In order: the next once the one before was taken or given up']], { label: 'How they are sent', chosen: chosen.in_order === true ? ['in_order'] : [] })}`

/** These choices in the fields of the interface. A box that is not ticked is left out of a form, and means no. */
export function sendingOf(typed: Typed): JsonObject {
  const ticked = [typed['sending'] ?? []].flat()
  return {
    max_per_second: numberOf([typed['max_per_second'] ?? ''].flat()[0]) ?? null,
    in_order: ticked.includes('in_order'),
  }
}

/** Shows the attempts that ended in one way, or all. */
export const resultForm = (path: string, result: string | undefined): Html =>
  html`<form method="get" action="${path}#deliveries" class="row noprint">${select({ typed: { result } }, 'result', RESULTS, { label: 'Attempts that ended' })}<button type="submit">Show</button></form>`

const RESULTS = [
  ['', 'all'],
  ['delivered', 'delivered'],
  ['failed', 'failed, to be tried again'],
  ['exhausted', 'given up'],
  ['skipped', 'skipped by a move of the cursor'],
] as const

/** Makes a webhook. */
export function newWebhookPage(state: FormState): Page {
  return {
    title: 'New webhook',
    at: '/webhooks',
    isPrivate: true,
    body: html`<p class="dim"><a href="/webhooks">Webhooks</a></p>
<h1>New webhook</h1>
<p class="lead">Signals are sent to your address as they are recorded, signed and numbered, and again until you take them; unless you choose an order, they may overtake one another. <a href="/docs/webhooks">How it works</a></p>
${refusalNote(state.refusal)}
<form method="post" action="/webhooks" class="stack">
${input(state, 'url', { label: 'Address', type: 'url', hint: 'HTTPS, port 443 or 8443, public; a service of your own takes others with --webhooks-allow-private.', maxLength: 2_048 })}
${filterParts(state)}
<details${sendingOf(state.typed).max_per_second !== null && html` open`}><summary>Rate and order</summary>${sendingParts(state)}</details>
<div class="row"><button type="submit" class="main">Create</button></div>
</form>`,
  }
}
