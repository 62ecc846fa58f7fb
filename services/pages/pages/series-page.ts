import type { Candle } from '../../../contracts/candle.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import type { HistoryRow, SeriesHistory } from '../../../contracts/series-history.ts'
import type { Timeframe } from '../../../contracts/timeframes.ts'
import type { SpeechAnswerRow } from '../../../contracts/track-record-row.ts'
import { likelierBarrier } from '../../../contracts/verdict.ts'
import type { Refusal } from '../api-client.ts'
import {
  address,
  CONFIDENCE_IS,
  callTag,
  expectedPrice,
  facts,
  note,
  pager,
  price,
  proofLink,
  rangePercent,
  rangeText,
  regimeText,
  resultTag,
  seriesPath,
  table,
  tag,
  tiles,
  time,
  valueText,
} from '../components.ts'
import { type Html, html } from '../html.ts'
import { type Page, scrolling } from '../layout.ts'
import { seriesChart } from './series-chart.ts'

export interface SeriesLook {
  readonly history: SeriesHistory
  readonly zoom: Zoom
  /** Bars of the same time and of before, oldest first; none where they are not available. */
  readonly bars: readonly Candle[]
  /** Whether the model speaks at this timeframe. */
  readonly speech?: readonly SpeechAnswerRow[] | undefined
  /** Cursor of the page, as in the address. */
  readonly after: string | undefined
  /** The answer of the call that the visitor made. */
  readonly asked?:
    | { readonly body?: JsonObject | undefined; readonly refusal?: Refusal | undefined }
    | undefined
}

/** Numbers of bars that a page can show. */
export const ZOOMS = ['60', '120', '300'] as const
export type Zoom = (typeof ZOOMS)[number]

/** One series: what it says, what it said, and what became of that. */
export function seriesPage({ history, bars, zoom, after, asked, speech = [] }: SeriesLook): Page {
  const { series, rows, withheld, next, market } = history
  const name = `${series.coin} ${series.timeframe} on ${series.exchange}`
  const [newest] = rows
  return {
    title: name,
    description: `Verdicts of ${name}, with the regime, what became of each, and proof of both.`,
    at: '/',
    body: html`<p class="dim"><a href="/">Board</a></p>
<h1>${name}</h1>
${regimeNow(history)}
${noCallsNote(series.timeframe, speech)}
${newest === undefined ? html`<p>${withheld > 0 ? 'No window of this series has closed yet.' : html`There is no verdict of this series yet: the first comes when its next bar closes. <a href="/#series">All series</a>`}</p>` : newestPart(newest, history, after)}
${(market === 'live' || asked !== undefined) && askPart(history, asked)}
${picturePart({ history, bars, zoom, after })}
${newest !== undefined && factorsPart(newest)}
${historyPart(history)}
${pager(seriesPath(series), after, next, { others: { bars: zoom } })}
<p class="dim noprint">As data: <a href="${address(`/api${seriesPath(series)}`, { after })}">JSON</a>, <a href="${address('/api/verdicts', { ...series, format: 'csv' })}">all decided verdicts as CSV</a>, <a href="${address('/api/regime-shifts', { ...series })}">shifts of the regime</a>.</p>`,
  }
}

function picturePart({ history, bars, zoom, after }: SeriesLook): Html | undefined {
  const { series, rows } = history
  if (rows.length === 0 && bars.length === 0) return undefined
  const legend =
    rows.length === 0
      ? 'Grey: bars before the first verdict. Below: volume.'
      : html`Bands: the regime. Triangles: BUY (up) and SELL (down), hollow where the call was lost; each leads to its proof. Dotted: the barriers of the newest calls. Cone: the price expected after the newest bar, in four of five cases and in every second. ${bars.length > 0 ? 'Below: volume. Grey: bars before the first verdict.' : 'Line: closes.'} The same in the table below.`
  return html`<h2>Price, regimes and calls</h2>
<figure class="wide">${scrolling('Picture of the series', seriesChart(series, rows.toReversed(), bars))}
<figcaption>${legend}</figcaption></figure>
<p class="zoom noprint">Bars: ${ZOOMS.map((one) => html`<a href="${address(seriesPath(series), { after, bars: one })}"${one === zoom && html` aria-current="true"`}>${one}</a> `)}</p>`
}

function newestPart(row: HistoryRow, { market, withheld }: SeriesHistory, after: string | undefined): Html {
  const state = outcomeTag(row)
  return html`<p class="lead">${row.reasoning}</p>
${tiles([
  [
    'Price range, 4 of 5',
    rangeText(row.expected_range, row.price),
    row.expected_range === null
      ? 'no forecast: the market stands still'
      : html`at the end of the window, ${rangePercent(row.expected_range)}`,
  ],
  [
    'Volatility',
    row.expected_volatility === null ? '—' : percentOf(row.expected_volatility),
    'standard deviation of the return over the window',
  ],
  [
    after === undefined ? (market === 'live' ? 'Newest decided' : 'Says now') : 'Newest on this page',
    callTag(row.call),
    html`at ${price(row.price)}, bar closed ${time(row.bar_close)}`,
  ],
  [
    'Confidence',
    `${row.confidence} %`,
    html`that the ${likelierBarrier(row.probability)} barrier comes first; a coin has 50 %. Strength ${row.strength} of 100`,
  ],
  ['Regime', regimeText(row.regime), html`since ${time(row.regime_since)}`],
  [
    'Outcome',
    state,
    html`${row.is_open ? 'decided by' : 'window closed'} ${time(row.valid_until)}; ${proofLink(row.verdict_id, 'the newest verdict')}`,
  ],
])}
${rangeWords(row)}
${withheld > 0 && html`<p class="dim">${withheld} newer ${withheld === 1 ? 'verdict is' : 'verdicts are'} open and not shown: callers ask for them.</p>`}`
}

const percentOf = (fraction: number): string =>
  `${(100 * fraction).toLocaleString('en', { maximumSignificantDigits: 2 })} %`

/** How far the price may go, in plain words. */
function rangeWords({ expected_range: range, price: at }: HistoryRow): Html {
  if (range === null) return html``
  const middle = `${expectedPrice(at * (1 + range.p25))} to ${expectedPrice(at * (1 + range.p75))}`
  return html`<p>By the end of its window the price is expected at ${rangeText(range, at)} in four of five cases, and at ${middle} in every second. That is how far, not which way. <a href="/track-record#ranges">How often that held</a></p>`
}

/** Why no calls are made at the timeframe of the page; nothing where they are. */
function noCallsNote(timeframe: Timeframe, speech: readonly SpeechAnswerRow[]): Html | undefined {
  const of = speech.find((one) => one.timeframe === timeframe)
  if (of === undefined || of.state === 'calls') return undefined
  const others = speech.filter(({ state }) => state === 'calls').map((one) => one.timeframe)
  const text = html`<p>No calls at ${timeframe}: ${of.reason ?? 'not known'}.${others.length > 0 && html` Calls are made at ${others.join(', ')}.`} <a href="/docs/model">Why</a></p>`
  return of.state === 'withdrawn' ? note(text, 'warn') : html`<div class="dim">${text}</div>`
}

function regimeNow({ market, withheld, newest_regime: now }: SeriesHistory): Html | undefined {
  if (market !== 'live' || withheld === 0 || now === null) return undefined
  return html`<p>Regime now: <strong>${regimeText(now.regime)}</strong> since ${time(now.since)}, as of the bar closed ${time(now.bar_close)}.</p>`
}

function askPart({ series }: SeriesHistory, asked: SeriesLook['asked']): Html {
  const answer = asked?.body
  return html`<h2 id="ask">The open call</h2>
${asked?.refusal !== undefined && note(html`<p>${asked.refusal.message}</p><p>${asked.refusal.next_step}</p>`, 'bad')}
${
  answer !== undefined &&
  note(
    html`<p>${callTag(answer.call as HistoryRow['call'])} with ${valueText(answer.confidence)} % confidence; ${regimeText(answer.regime as HistoryRow['regime'])}.</p><p>${valueText(answer.reasoning)}</p>`,
    'good',
  )
}
<form method="post" action="${seriesPath(series)}#ask"><button type="submit" class="main">Show the open call</button> <span class="dim">It is counted as one call, HOLD included.</span></form>`
}

const FACTOR_WIDTH = 160

function factorsPart(row: HistoryRow): Html {
  const most = Math.max(...row.factors.map(({ contribution }) => Math.abs(contribution)), 1e-9)
  const bar = (contribution: number) => {
    const length = Math.round((10 * Math.abs(contribution) * FACTOR_WIDTH) / 2 / most) / 10
    const middle = FACTOR_WIDTH / 2
    return html`<svg width="${FACTOR_WIDTH}" height="14" viewBox="0 0 ${FACTOR_WIDTH} 14" aria-hidden="true"><path class="axis" d="M${middle} 0V14"/><rect class="${contribution < 0 ? 'neg' : 'pos'}" x="${contribution < 0 ? middle - length : middle}" y="2" width="${length}" height="10"/></svg>`
  }
  const factors = row.factors.toSorted((a, b) => Math.abs(b.contribution) - Math.abs(a.contribution))
  return html`<h2>Why</h2>${table(
    `What spoke for BUY (right) and for SELL (left) in the verdict of ${row.bar_close.slice(0, 16).replace('T', ' ')}; together they are its log-odds`,
    factors,
    {
      Factor: ({ name }) => name.replaceAll('_', ' '),
      Share: ({ contribution }) => bar(contribution),
      '#Log-odds': ({ contribution: one }) => `${one >= 0 ? '+' : '−'}${Math.abs(one).toFixed(4)}`,
      '#Measured': ({ value, status }) =>
        value === null ? (status === 'unavailable' ? 'not available' : '—') : Number(value.toPrecision(4)),
    },
  )}
${facts([
  ['Model', html`<code>${row.model_version}</code>`],
  ['Probability', html`${Number(row.probability.toPrecision(6))} that +1σ is reached before −1σ`],
  [
    'Barriers',
    html`${price(row.price * (1 + row.barrier))} above, ${price(row.price * (1 - row.barrier))} below: ±${(100 * row.barrier).toFixed(2)} %`,
  ],
  ['Inputs', html`<code>${row.inputs_hash}</code>`],
])}`
}

function outcomeTag({ call, outcome, is_open: isOpen }: HistoryRow): Html {
  if (outcome === null) return tag(isOpen ? 'open' : 'to be labelled')
  return call === 'HOLD' ? html`<span class="dim">no call</span>` : resultTag(outcome.result)
}

/** Rows that are shown unfolded. */
const UNFOLDED = 50

function historyPart({ rows }: SeriesHistory): Html {
  if (rows.length === 0) return html``
  const [shown, folded] = [rows.slice(0, UNFOLDED), rows.slice(UNFOLDED)]
  const caption = `${shown.length === 1 ? '1 verdict' : `${shown.length} verdicts, newest first`}. ${CONFIDENCE_IS}`
  return html`<h2>History</h2>${historyTable(caption, shown)}${folded.length > 0 && html`<details><summary>${folded.length} older ones</summary>${historyTable('Those before, newest first', folded)}</details>`}`
}

const historyTable = (caption: string, rows: readonly HistoryRow[]): Html =>
  table(caption, rows, {
    'Bar closed': (row) => time(row.bar_close),
    Call: ({ call }) => callTag(call),
    '#Confidence': ({ confidence }) => `${confidence} %`,
    Regime: ({ regime, shifted_from: from }) =>
      html`${regimeText(regime)}${from !== '' && html` <small>was ${regimeText(from)}</small>`}`,
    '#Price': (row) => price(row.price),
    Outcome: outcomeTag,
    Race: ({ outcome }) => outcome?.race,
    'Window closes': (row) => time(row.valid_until),
    Proof: (row) =>
      proofLink(row.verdict_id, `the verdict of ${row.bar_close.slice(0, 16).replace('T', ' ')}`),
  })
