import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import type { BoardAnswer } from '../../../contracts/answers/board.ts'
import type { HistoryRow, SeriesHistory } from '../../../contracts/answers/history.ts'
import type { MarketsAnswer } from '../../../contracts/answers/markets.ts'
import type { SpeechAnswerRow, TrackRecordAnswer } from '../../../contracts/answers/track-record.ts'
import { type Series, seriesName } from '../../../contracts/domain/series.ts'
import { countText } from '../../../contracts/domain/statistics.ts'
import { timeframeMs } from '../../../contracts/domain/timeframes.ts'
import { likelierBarrier } from '../../../contracts/domain/verdict.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { didYouMean, nearestName } from '../../../contracts/infra/input-faults.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { seriesParams } from '../../http/routes/history.ts'
import { errorOf, type PageClient } from '../api-client.ts'
import { CHART_LIBRARY, SERIES_SCRIPT } from '../assets.ts'
import {
  address,
  ageText,
  CONFIDENCE_IS,
  facts,
  note,
  pager,
  percent,
  price,
  proofLink,
  rangePercent,
  rangeText,
  regimeText,
  seriesPath,
  table,
  tag,
  tiles,
  time,
} from '../components.ts'
import type { Refusal } from '../forms.ts'
import { type Html, html } from '../html.ts'
import { type Page, type PageFrame, page, sendPage, sendPublicPage } from '../layout.ts'
import { ownForm } from '../session.ts'

export interface PagesOptions {
  readonly client: PageClient
  readonly frame: () => PageFrame
}

const PATH = '/series/:exchange/:coin/:timeframe'
const schema = { params: seriesParams, querystring: z.object({ after: z.string().max(64).optional() }) }

/** The key of the request that a form makes: sent twice, it is counted once. */
const formSchema = z.object({ request: z.string().min(1).max(LIMITS.idempotencyKeyCharacters) })

/** Verdicts of one page of the table. */
const TABLE_ROWS = 50
/** Seconds after which the page reads itself again. */
const REFRESH = 5

/** `GET /series/:exchange/:coin/:timeframe`: one series for people. `POST` asks for its open call, which is counted. */
export const seriesPages: FastifyPluginAsyncZod<PagesOptions> = async (app, { client, frame }) => {
  async function view(request: FastifyRequest, series: Series, after?: string): Promise<SeriesView> {
    const query = { after, limit: TABLE_ROWS }
    const history = await client.read<SeriesHistory>(request, `/api${seriesPath(series)}`, query)
    if (history.rows.length === 0 && history.withheld === 0) await requireMarket(client, request, series)
    const record = await client.ask<TrackRecordAnswer>(request, { path: '/api/track-record?limit=1' })
    return { history, after, speech: record.isOk ? record.body.speech : [] }
  }

  app.get(PATH, { schema }, async (request, reply) => {
    const shown = seriesPage(await view(request, request.params, request.query.after))
    return sendPublicPage(request, reply.header('cache-control', 'no-cache'), page(frame(), shown))
  })

  app.post(PATH, { schema }, async (request, reply) => {
    const { request: idempotencyKey } = formSchema.parse(ownForm(request, frame().publicUrl))
    const call = { name: 'get_trade_call', arguments: { ...request.params } }
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: call }
    const asked = { method: 'POST', path: '/mcp', body, idempotencyKey } as const
    const answer = await client.ask<RpcAnswer>(request, asked)
    if (!answer.isOk) throw errorOf(answer.refusal)
    const shown = await view(request, request.params)
    return sendPage(reply, frame(), seriesPage({ ...shown, asked: askedOf(answer.body) }))
  })
}

/** Refuses a series that no market has, with the nearest name. */
async function requireMarket(client: PageClient, request: FastifyRequest, series: Series): Promise<void> {
  const { exchange, coin, timeframe } = series
  const path = address('/api/markets', { exchange, coin })
  const markets = await client.ask<MarketsAnswer>(request, { path })
  const offered = markets.isOk ? markets.body.rows.flatMap((row) => row.timeframes) : []
  if (!markets.isOk || offered.some((one) => one.timeframe === timeframe)) return
  const { coins } = await client.read<BoardAnswer>(request, '/api/board', { limit: 1 })
  throw new ServiceError('not_found', {
    message: `There is no series ${coin} ${timeframe} on ${exchange}${didYouMean(nearestName(coin, coins))}`,
    nextStep: 'The board lists all series.',
  })
}

type OpenCall = Pick<HistoryRow, 'call' | 'confidence' | 'regime' | 'reasoning'>

interface RpcAnswer {
  readonly result?: { readonly structuredContent?: OpenCall | Refusal }
  readonly error?: { readonly message: string; readonly data?: { readonly next_step?: string } }
}

/** The open call, or the refusal: by the tool, or by the protocol if the key is not valid. */
type Asked = OpenCall | Pick<Refusal, 'message' | 'next_step'>

const askedOf = ({ result, error }: RpcAnswer): Asked =>
  result?.structuredContent ?? { message: error?.message ?? '', next_step: error?.data?.next_step ?? '' }

/** A page of verdicts, its cursor, at which timeframes calls are made, and the answer of a call that the visitor made. */
export interface SeriesView {
  readonly history: SeriesHistory
  readonly after: string | undefined
  readonly speech: readonly SpeechAnswerRow[]
  readonly asked?: Asked
}

/** One series: its newest verdict, its chart, and what became of its verdicts. */
export function seriesPage({ history, after, asked, speech }: SeriesView): Page {
  const { series, rows, withheld, next, market } = history
  const name = `${series.coin} ${series.timeframe} on ${series.exchange}`
  const [newest] = rows
  return {
    title: after === undefined ? name : `${name}, older verdicts`,
    description: `Verdicts of ${name}, with the regime, the outcome of each, and proof of both.`,
    at: '/',
    script: SERIES_SCRIPT.path,
    ...(after === undefined && asked === undefined && { refresh: REFRESH }),
    body: html`<p class="dim"><a href="/">Board</a></p>
<h1>${name}</h1>
<div id="now" data-fresh>${regimeNow(history)}
${noCallsNote(series, speech)}
${newest === undefined ? html`<p>${withheld > 0 ? 'No window of this series has closed yet.' : html`This series has no verdict yet: the first comes when its next bar closes. <a href="/#series">All series</a>`}</p>` : html`<p class="lead">${newest.reasoning}</p>`}</div>
${(market === 'live' || asked !== undefined) && askPart(history, asked)}
${chartPart(series, after)}
${newest !== undefined && html`<div id="newest" data-fresh>${newestPart(newest, history, after)}${factorsPart(newest)}</div>`}
<div id="history" data-fresh>${rows.length > 0 && html`<h2>History</h2>${historyTable(rows)}`}
${pager(seriesPath(series), after, next)}</div>
<p class="dim noprint">As data: <a href="${address(`/api${seriesPath(series)}`, { after })}">JSON</a>, <a href="${address('/api/verdicts', { ...series, format: 'csv' })}">all decided verdicts as CSV</a>, <a href="${address('/api/regime-shifts', { ...series })}">shifts of the regime</a>. The chart is drawn with <a href="https://www.tradingview.com/">TradingView</a> Lightweight Charts™, Copyright © TradingView, Inc.</p>`,
  }
}

const minuteText = (iso: string): string => iso.slice(0, 16).replace('T', ' ')

/** The script draws here; the table of the page holds the same. */
function chartPart({ exchange, coin, timeframe }: Series, after: string | undefined): Html {
  const help = 'Arrow keys go from bar to bar, Enter opens the proof, plus and minus zoom'
  return html`<h2 class="hidden">Chart</h2>
<figure class="wide"><p id="chart-values" class="values"></p>
<div id="chart" class="chart" tabindex="0" role="group" aria-label="Chart of ${coin} ${timeframe} on ${exchange}. ${help}." data-library="${CHART_LIBRARY.path}" data-exchange="${exchange}" data-coin="${coin}" data-timeframe="${timeframe}" data-length="${timeframeMs(timeframe)}"${after !== undefined && html` data-after="${after}"`}></div>
<noscript><p>The chart needs scripts. The table below holds the same.</p></noscript>
<figcaption>Arrows: where BUY (up) and SELL (down) begin; a line leads to the end of each race, green where the call won, red where it lost. Shaded ahead: the expected range, in four of five cases and in every second. Dashed: the barriers of the newest verdict. Strip below: the regime. ${help}. Times are in UTC.</figcaption></figure>`
}

function newestPart(row: HistoryRow, history: SeriesHistory, after?: string): Html {
  const { market, market_time: now, withheld } = history
  const { expected_range: range, expected_volatility: volatility } = row
  const says = after !== undefined ? 'Newest on this page' : market === 'live' ? 'Newest decided' : 'Call now'
  const ends =
    range === null
      ? 'no forecast: the market stands still'
      : `at the end of the window: ${rangePercent(range)}`
  const closed = html`bar closed ${time(row.bar_close)} UTC, ${ageText(row.bar_close, now)}`
  const sure = `that the ${likelierBarrier(row.probability)} barrier comes first; a coin has 50 %. Strength ${row.strength} of 100`
  const over = html`window ${row.is_open ? 'closes' : 'closed'} ${time(row.valid_until)} UTC; ${proofLink(row.verdict_id, 'the newest verdict')}`
  const deviation = volatility === null ? '—' : percent(volatility, 2)
  return html`${tiles([
    ['Price range, 4 of 5 cases', rangeText(range, row.price), ends],
    ['Volatility', deviation, 'standard deviation of the return over the window'],
    [says, tag(row.call), html`at ${price(row.price)}, ${closed}`],
    ['Confidence', `${row.confidence} %`, sure],
    ['Regime', regimeText(row.regime), html`since ${time(row.regime_since)} UTC`],
    ['Outcome', outcomeTag(row), over],
  ])}
${range && html`<p>By the end of its window the price is expected at ${rangeText(range, row.price)} in four of five cases, and at ${price(row.price * (1 + range.p25), 4)} to ${price(row.price * (1 + range.p75), 4)} in every second. That is how far, not which way. <a href="/track-record#ranges">How often that held</a></p>`}
${withheld > 0 && html`<p class="dim">${countText(withheld, 'newer verdict')} ${withheld === 1 ? 'is' : 'are'} open and not shown: callers ask for them.</p>`}`
}

/** Why no calls are made at the timeframe of the page; nothing where they are. */
function noCallsNote({ timeframe }: Series, speech: readonly SpeechAnswerRow[]): Html | undefined {
  const of = speech.find((one) => one.timeframe === timeframe)
  if (of === undefined || of.state === 'calls') return undefined
  const others = speech.filter(({ state }) => state === 'calls').map((one) => one.timeframe)
  const text = html`<p>No calls at ${timeframe}: ${of.reason ?? 'not known'}.${others.length > 0 && html` Calls are made at ${others.join(', ')}.`} <a href="/docs/model">Why</a></p>`
  return of.state === 'withdrawn' ? note(text, 'warn') : html`<div class="dim">${text}</div>`
}

function regimeNow({ market, withheld, newest_regime: now }: SeriesHistory): Html | undefined {
  if (market !== 'live' || withheld === 0 || now === null) return undefined
  return html`<p>Regime now: <strong>${regimeText(now.regime)}</strong> since ${time(now.since)} UTC, as of the bar closed ${time(now.bar_close)} UTC.</p>`
}

function askPart({ series, market_time: now }: SeriesHistory, asked: Asked | undefined): Html {
  return html`<h2 id="ask">The open call</h2>
${asked && ('message' in asked ? note(html`<p>${asked.message}</p><p>${asked.next_step}</p>`, 'bad') : note(html`<p>${tag(asked.call)} with ${asked.confidence} % confidence; ${regimeText(asked.regime)}.</p><p>${asked.reasoning}</p>`, 'good'))}
<form method="post" action="${seriesPath(series)}#ask"><input type="hidden" name="request" value="${seriesName(series)}@${now}"><button type="submit" class="main">Show the open call</button> <span class="dim">It is counted as one call, HOLD included.</span></form>`
}

/** A bar to the right or, for a negative share, to the left. @param share from −1 to 1 */
function shareBar(share: number): Html {
  const length = Math.round(800 * Math.abs(share)) / 10
  return html`<svg width="160" height="14" viewBox="0 0 160 14" aria-hidden="true"><path class="axis" d="M80 0V14"/><rect class="${share < 0 ? 'neg' : 'pos'}" x="${share < 0 ? 80 - length : 80}" y="2" width="${length}" height="10"/></svg>`
}

function factorsPart(row: HistoryRow): Html {
  const most = Math.max(...row.factors.map(({ contribution }) => Math.abs(contribution)), 1e-9)
  const factors = row.factors.toSorted((a, b) => Math.abs(b.contribution) - Math.abs(a.contribution))
  const caption = `What spoke for BUY (right) and for SELL (left) at the bar closed ${minuteText(row.bar_close)} UTC; together they are its log-odds`
  const [upper, lower] = [price(row.price * (1 + row.barrier)), price(row.price * (1 - row.barrier))]
  return html`<h2>Why</h2>${table(caption, factors, {
    Factor: ({ name }) => name.replaceAll('_', ' '),
    Share: ({ contribution }) => shareBar(contribution / most),
    '#Log-odds': ({ contribution: one }) => `${one >= 0 ? '+' : '−'}${Math.abs(one).toFixed(4)}`,
    '#Measured': ({ value, status }) =>
      value === null ? (status === 'unavailable' ? 'not available' : '—') : Number(value.toPrecision(4)),
  })}
${facts([
  ['Model', html`<code>${row.model_version}</code>`],
  ['Probability', `${Number(row.probability.toPrecision(6))} that the upper barrier comes first`],
  ['Barriers', `${upper} above, ${lower} below: ±${percent(row.barrier, 2)}`],
  ['Inputs', html`<code>${row.inputs_hash}</code>`],
])}`
}

function outcomeTag({ call, outcome, is_open: isOpen }: HistoryRow): Html {
  if (outcome === null) return tag(isOpen ? 'open' : 'to be labelled')
  return call === 'HOLD' ? html`<span class="dim">no call</span>` : tag(outcome.result)
}

/** The barrier that came first, in words. */
const RACE_WORDS: Readonly<Record<string, string>> = {
  up: 'upper',
  down: 'lower',
  both: 'both in one bar',
  timeout: 'neither',
  incomplete: 'bars are missing',
}

function historyTable(rows: readonly HistoryRow[]): Html {
  const columns = {
    'Bar closed, UTC': (row: HistoryRow) => time(row.bar_close),
    Call: ({ call }: HistoryRow) => tag(call),
    '#Confidence': ({ confidence }: HistoryRow) => `${confidence} %`,
    Regime: ({ regime, shifted_from: from }: HistoryRow) =>
      html`${regimeText(regime)}${from !== '' && html` <small>was ${regimeText(from)}</small>`}`,
    '#Price': (row: HistoryRow) => price(row.price),
    Outcome: outcomeTag,
    'First barrier': ({ outcome }: HistoryRow) => outcome && RACE_WORDS[outcome.race],
    'Window closes, UTC': (row: HistoryRow) => time(row.valid_until),
    Proof: (row: HistoryRow) => proofLink(row.verdict_id, `the verdict of ${minuteText(row.bar_close)}`),
  }
  const caption = `${countText(rows.length, 'verdict')}, newest first. ${CONFIDENCE_IS}`
  return table(caption, rows, columns, { form: 'cards' })
}
