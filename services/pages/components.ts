import type { VerdictRow } from '../../contracts/answers/verdict-row.ts'
import type { Series } from '../../contracts/domain/series.ts'
import { FEWEST_FOR_PERCENT, shareText } from '../../contracts/domain/statistics.ts'
import { MINUTE_MS } from '../../contracts/domain/timeframes.ts'
import type { Regime } from '../../contracts/domain/verdict.ts'
import { type Content, type Html, html } from './html.ts'
import { scrolling } from './layout.ts'

/** The sign is for the eye, the word for everybody. */
const REGIMES: Readonly<Record<Regime, readonly [sign: string, words: string]>> = {
  TRENDING_UP: ['↗', 'trending up'],
  TRENDING_DOWN: ['↘', 'trending down'],
  RANGING: ['→', 'ranging'],
  VOLATILE: ['↯', 'volatile'],
}

export const regimeText = (regime: Regime): Html =>
  html`<span aria-hidden="true">${REGIMES[regime][0]}</span> ${REGIMES[regime][1]}`

/** Words that have a colour: how a call, a race, a webhook, an attempt or a payment stands. */
const GOOD = new Set(['BUY', 'won', 'active', 'delivered', 'confirmed', 'final'])
const BAD = new Set(['SELL', 'lost', 'disabled', 'stopped', 'exhausted', 'uncollectable'])
const WAITING = new Set(['paused', 'failed', 'owed', 'settling', 'broadcast', 'unknown'])

export function tag(word: string): Html {
  const tone = GOOD.has(word) ? ' good' : BAD.has(word) ? ' bad' : WAITING.has(word) ? ' warn' : ''
  return html`<span class="tag${tone}">${word}</span>`
}

/** Stands wherever a confidence is shown: it says nothing of where the price ends. */
export const CONFIDENCE_IS =
  'Confidence: how probable it is that the upper barrier (BUY) or the lower one (SELL) comes before the other.'

/** An instant, to the minute, in UTC. @param iso ISO 8601 */
export const time = (iso: string, form: 'minute' | 'second' | 'day' | 'clock' = 'minute'): Html => {
  const [from, to] = { day: [0, 10], minute: [0, 16], second: [0, 19], clock: [11, 16] }[form]
  return html`<time datetime="${iso}" title="${iso.slice(0, 19).replace('T', ' ')} UTC">${iso.slice(from, to).replace('T', ' ')}</time>`
}

/** How long before an instant another one was. @example ageText('2026-01-01T00:00:00Z', '2026-01-01T02:30:00Z') // '2 h ago' */
export function ageText(iso: string, now: string): string {
  const minutes = Math.max(0, Math.floor((Date.parse(now) - Date.parse(iso)) / MINUTE_MS))
  if (minutes < 1) return 'just now'
  if (minutes < 60) return `${minutes} min ago`
  return minutes < 48 * 60 ? `${Math.floor(minutes / 60)} h ago` : `${Math.floor(minutes / 1_440)} days ago`
}

/** A price as people read it. One that is only expected has four digits: more would say more than is known. */
export const price = (value: number, digits: 4 | 6 = 6): string =>
  value.toLocaleString('en', { maximumSignificantDigits: digits, useGrouping: value >= 1_000 })

export const signedPercent = (share: number): string =>
  `${share < 0 ? '−' : '+'}${Math.abs(100 * share).toLocaleString('en', { maximumSignificantDigits: 2 })} %`

/** How far a price may go: in four of five cases it ends between these. @param at the price that it is counted from */
export const rangeText = (range: VerdictRow['expected_range'], at: number): string =>
  range === null ? '—' : `${price(at * (1 + range.p10), 4)} to ${price(at * (1 + range.p90), 4)}`

export const rangePercent = (range: NonNullable<VerdictRow['expected_range']>): string =>
  `${signedPercent(range.p10)} to ${signedPercent(range.p90)}`

export const sum = <Row>(rows: readonly Row[], value: (row: Row) => number): number =>
  rows.reduce((all, row) => all + value(row), 0)

export const whole = (value: number): string => value.toLocaleString('en')
/** A share that more races will change: "7 of 13 so far", and in percent from 100 races on. */
export const soFar = (part: number, of: number): string =>
  of === 0 ? '—' : `${shareText(part / of, of)}${of < FEWEST_FOR_PERCENT ? ' so far' : ''}`
export const percent = (share: number, digits = 1): string => `${(100 * share).toFixed(digits)} %`

export const seriesPath = ({ exchange, coin, timeframe }: Series): string =>
  `/series/${encodeURIComponent(exchange)}/${encodeURIComponent(coin)}/${encodeURIComponent(timeframe)}`
export const seriesLink = (series: Series, text: Content): Html =>
  html`<a href="${seriesPath(series)}">${text}</a>`
export const proofLink = (verdictId: string, about: string): Html =>
  html`<a href="/verify/${verdictId}" aria-label="Proof of ${about}">proof</a>`

/**
 * A table that scrolls by itself where it is too wide.
 *
 * @param columns by heading the cell of a row; a heading that begins with `#` is of numbers, and the first one heads a row
 * @param options `empty` is shown where there are no rows; of the form `cards`, a row becomes a card on a narrow screen
 */
export function table<Row>(
  caption: string,
  rows: readonly Row[],
  columns: Readonly<Record<string, (row: Row) => Content>>,
  { form = 'tight', empty }: { readonly form?: 'tight' | 'cards'; readonly empty?: Html } = {},
): Html {
  if (empty !== undefined && rows.length === 0) return empty
  const all = Object.entries(columns).map(([heading, cell]) => {
    const name = heading.replace(/^#/, '')
    const label = form === 'cards' && html` data-name="${name}"`
    return { name, cell, side: name !== heading && html` class="num"`, label }
  })
  const heads = all.map(({ name, side }) => html`<th scope="col"${side}>${name}</th>`)
  const cells = (row: Row) =>
    all.map(({ cell, side, label }, index) =>
      index === 0
        ? html`<th scope="row"${side}>${cell(row)}</th>`
        : html`<td${side}${label}>${cell(row)}</td>`,
    )
  return scrolling(
    caption,
    html`<table class="${form}"><caption>${caption}</caption><thead><tr>${heads}</tr></thead><tbody>
${rows.map((row) => html`<tr>${cells(row)}</tr>\n`)}</tbody></table>`,
  )
}

export const facts = (rows: readonly (readonly [string, Content])[]): Html =>
  html`<table class="facts">${rows.map(([name, value]) => html`<tr><th scope="row">${name}</th><td>${value}</td></tr>`)}</table>`

/** Figures side by side; each with a name above and an explanation below. */
export const tiles = (all: readonly (readonly [string, Content, Content])[]): Html =>
  html`<dl class="tiles">${all.map(([name, value, about]) => html`<div><dt>${name}</dt><dd>${value}</dd><dd>${about}</dd></div>`)}</dl>`

export const copyable = (text: string, label: string): Html =>
  html`<div class="copy"><pre tabindex="0" role="region" aria-label="${label}">${text}</pre></div>`

export const note = (content: Content, tone: '' | 'good' | 'bad' | 'warn' = ''): Html =>
  html`<div class="note ${tone}"${tone === 'bad' && html` role="alert"`}${tone === 'good' && html` role="status"`}>${content}</div>`

type Cursor = string | number | undefined | null
export type Parameters = Readonly<Record<string, Cursor>>

/**
 * Links to the first page and the next one of a list.
 *
 * @param here cursor of the page that is shown, and `next` that of the next one
 * @param options the parameter that holds the cursor, those beside it, and the place on the page
 */
export function pager(
  path: string,
  here: Cursor,
  next: Cursor,
  { name = 'after', others = {}, at = '' }: { name?: string; others?: Parameters; at?: string } = {},
): Html | undefined {
  const link = (cursor: Cursor) => `${address(path, { ...others, [name]: cursor })}${at}`
  if (here === undefined && next === null) return undefined
  return html`<p class="row noprint">${here !== undefined && html`<a href="${link(undefined)}">To the beginning</a>`}${next !== null && html`<a href="${link(next)}" rel="next">Further</a>`}</p>`
}

/** An address with parameters, those left out that are undefined or empty. */
export function address(path: string, parameters: Parameters): string {
  const given = Object.entries(parameters).flatMap(([name, value]) =>
    (value ?? '') === '' ? [] : [[name, String(value)]],
  )
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given).toString()}`
}
