import type { BoardAnswer, BoardRow } from '../../../contracts/board.ts'
import { PLAN_LIMITS } from '../../../contracts/plans.ts'
import { PRICES, type Product } from '../../../contracts/prices.ts'
import { type Series, seriesName } from '../../../contracts/series.ts'
import { WHERE_CALLS_ARE_MADE } from '../../../contracts/tools/tool-catalogue.ts'
import { CALLS, type Call } from '../../../contracts/verdict.ts'
import {
  address,
  CONFIDENCE_IS,
  callTag,
  copyable,
  note,
  pager,
  price,
  proofLink,
  REGIME_WORDS,
  rangeText,
  regimeSign,
  regimeText,
  resultTag,
  seriesLink,
  seriesPath,
  soFar,
  table,
  tiles,
  time,
  whole,
} from '../components.ts'
import { type Html, html } from '../html.ts'
import type { Page } from '../layout.ts'
import { scrolling } from '../layout.ts'
import { SPARK } from './series-chart.ts'

/** The filters of a visitor of the board, as in the address. */
export interface BoardFilters {
  readonly exchange?: string | undefined
  readonly coin?: string | undefined
  readonly timeframe?: string | undefined
  readonly call?: Call | undefined
}

/** How good the calls were: over all timeframes that call, those whose windows do not overlap. */
export interface Headline {
  readonly wins: number
  readonly reached: number
  /** Windows with a range, and those at whose end the price was within it. */
  readonly forecasts: number
  readonly within: number
  /** Mean after costs, basis points. */
  readonly netBps: number | null
}

export interface BoardLook {
  readonly answer: BoardAnswer
  readonly filters: BoardFilters
  /** Coins to leave out at the beginning of the table of all series. */
  readonly skip: number
  readonly headline: Headline | undefined
  /** Timeframes at which calls are withdrawn. */
  readonly withdrawn: readonly string[]
  /** Venues that do not answer, a sentence for each. */
  readonly unreachable: readonly string[]
  readonly publicUrl: string
  readonly hasSignIn: boolean
}

/** Calls that stand in the first table, and coins in the one of all series. */
const CALL_ROWS = 12
const DECIDED_ROWS = 8
export const GRID_COINS = 40

/** The first page: what every series says now. */
export function boardPage(look: BoardLook): Page {
  const { filters } = look
  const parts = boardParts(look)
  return {
    title: '',
    at: '/',
    live: address('/board/live', { ...filters, skip: look.skip || undefined }),
    body: html`<h1>How far prices may go, and which call is made</h1>
<p class="lead">For every coin and timeframe at every closed bar: the range that four of five prices end in, and BUY, SELL or HOLD. Each is recorded and checked against what came of it.</p>
<noscript><p class="dim">As of the moment this page was made; load it again for what is newer.</p></noscript>
${Object.values(parts.first)}
${filterForm(look)}
${Object.values(parts.grid)}
${firstCall(look)}`,
  }
}

/** The parts that change, by their ids. */
export function changingParts(look: BoardLook): Readonly<Record<string, string>> {
  const { first, grid, cells } = boardParts(look)
  // Cells stand for their table, so long as it has the same ones.
  const layout = Object.keys(cells).join()
  const frame = Object.keys(grid).map((id) => [`${id} ${layout}`, ''])
  return Object.fromEntries(
    [...Object.entries({ ...first, ...cells }), ...frame].map(([id, markup]) => [id, String(markup)]),
  )
}

function boardParts(look: BoardLook) {
  const cells = cellsOf(look)
  return {
    first: { summary: summary(look), calls: callsPart(look), decided: decidedPart(look) },
    grid: { board: gridPart(look, cells) },
    cells,
  }
}

function summary({ answer, headline }: BoardLook): Html {
  const { calls, series, matching, rows } = answer
  const fresh = rows.filter(({ is_fresh }) => is_fresh).length
  const newest = rows.reduce((last, { bar_close }) => (bar_close > last ? bar_close : last), '')
  const isWhole = rows.length === matching
  const { wins = 0, reached = 0, within = 0, forecasts = 0 } = headline ?? {}
  return html`<div id="summary">${tiles([
    [
      'Prices within their range',
      soFar(within, forecasts),
      forecasts === 0
        ? html`none decided yet; <a href="/track-record#ranges">track record</a>`
        : html`of ${whole(forecasts)} windows; four of five are expected`,
    ],
    [
      answer.market === 'live' ? 'Shown calls, windows closed' : 'Calls now',
      html`${whole(calls.BUY + calls.SELL)}`,
      html`${whole(calls.BUY)} BUY, ${whole(calls.SELL)} SELL, ${whole(calls.HOLD)} HOLD`,
    ],
    [
      'Series followed',
      whole(series),
      html`${isWhole ? `${whole(fresh)} of ${whole(matching)} fresh` : `${whole(matching)} match`}${newest !== '' && html`; newest bar ${time(newest)}`}`,
    ],
    [
      'Calls that were right',
      soFar(wins, reached),
      reached === 0
        ? html`none decided yet; <a href="/track-record">track record</a>`
        : html`of ${whole(reached)} whose race a barrier decided; <a href="/track-record">measured how?</a>`,
    ],
    [
      'Market time',
      answer.market_time.slice(11, 16),
      html`${answer.market_time.slice(0, 10)} UTC, <span id="live" class="live" role="status">as loaded</span>`,
    ],
  ])}</div>`
}

const spark = (series: Series): Html =>
  html`<img class="spark" src="${seriesPath(series)}/spark.svg" width="${SPARK.width}" height="${SPARK.height}" alt="" loading="lazy">`

function callsPart({ answer, hasSignIn, withdrawn, unreachable }: BoardLook): Html {
  const calls = answer.rows.flatMap(({ verdict, ...row }) =>
    verdict === null || verdict.call === 'HOLD' ? [] : { ...row, ...verdict },
  )
  const heading = answer.market === 'live' ? 'Calls whose window has closed' : 'Calls now'
  const caption = `${whole(calls.length)} ${calls.length === 1 ? 'series calls' : 'series call'} BUY or SELL, the most confident first. ${CONFIDENCE_IS}`
  return html`<section id="calls"><h2>${heading}</h2>
${unreachable.map((sentence) => note(html`<p>${sentence}</p>`, 'warn'))}
${
  calls.length === 0
    ? html`<p>${answer.series === 0 ? (unreachable.length > 0 ? 'No series has a verdict yet.' : 'No series has a verdict yet: the history of the market is being read. This takes seconds on a simulated market, minutes on a live one, and this page fills by itself.') : 'None at the moment: every series that was asked for holds.'}</p>`
    : table(caption, calls.slice(0, CALL_ROWS), {
        Series: (row) => seriesLink(row, html`${row.coin} ${row.timeframe}`),
        'Last bars': spark,
        '#Price': (row) => price(row.price),
        '#Price range, 4 of 5': (row) => rangeText(row.expected_range, row.price),
        Call: ({ call }) => callTag(call),
        '#Confidence': ({ confidence }) => `${confidence} %`,
        Regime: ({ regime }) => regimeText(regime),
        'Bar closed': (row) => time(row.bar_close),
        'Decided by': (row) => time(row.valid_until),
        ...(answer.exchanges.length > 1 && { Exchange: ({ exchange }: Series) => exchange }),
        Proof: (row) => proofLink(row.verdict_id, `${row.coin} ${row.timeframe}`),
      })
}
${withdrawn.length > 0 && note(html`<p>Calls at ${withdrawn.join(', ')} are withdrawn: of late they ranked no better than chance, so every verdict there is HOLD until they do again. <a href="/track-record">Track record</a></p>`, 'warn')}
<p class="dim">${WHERE_CALLS_ARE_MADE}</p>
${calls.length > CALL_ROWS && html`<p class="dim">${whole(calls.length - CALL_ROWS)} more stand in the table of all series.</p>`}
${answer.market === 'live' && html`<p class="dim">Calls whose window is open are what callers ask for: ${hasSignIn && html`<a href="/account">sign in</a> and `}open a series, or ask over MCP or HTTP.</p>`}</section>`
}

function decidedPart({ answer }: BoardLook): Html {
  const past = answer.rows
    .flatMap(({ decided_call: decided, ...row }) => (decided === null ? [] : { ...row, ...decided }))
    .toSorted((a, b) => (a.valid_until < b.valid_until ? 1 : -1))
    .slice(0, DECIDED_ROWS)
  if (past.length === 0) return html`<section id="decided"></section>`
  return html`<section id="decided"><h2>Decided last</h2>${table(
    `Calls whose window closed last, and what became of them. ${CONFIDENCE_IS}`,
    past,
    {
      Series: (row) => seriesLink(row, html`${row.coin} ${row.timeframe}`),
      'Last bars': spark,
      Call: ({ call }) => callTag(call),
      Result: ({ result }) => resultTag(result),
      '#Confidence': ({ confidence }) => `${confidence} %`,
      'Bar closed': (row) => time(row.bar_close),
      'Window closed': (row) => time(row.valid_until),
      Proof: (row) => proofLink(row.verdict_id, `${row.coin} ${row.timeframe}, decided`),
    },
  )}</section>`
}

const option = (value: string, chosen: string | undefined, text = value): Html =>
  html`<option value="${value}"${value === chosen && html` selected`}>${text}</option>`

function filterForm({ answer, filters }: BoardLook): Html {
  const choice = (name: string, label: string, values: readonly string[], chosen: string | undefined) =>
    html`<div class="field"><label for="f-${name}">${label}</label><select id="f-${name}" name="${name}">${option('', chosen, 'all')}${values.map((value) => option(value, chosen))}</select></div>`
  const isFiltered = Object.values(filters).some((value) => value !== undefined)
  return html`<h2 id="series">All series</h2>
<form action="/#series" method="get" class="row noprint">
${answer.exchanges.length > 1 && choice('exchange', 'Exchange', answer.exchanges, filters.exchange)}
${choice('coin', 'Coin', answer.coins, filters.coin)}
${choice('timeframe', 'Timeframe', answer.timeframes, filters.timeframe)}
${choice('call', 'Call', CALLS, filters.call)}
<button type="submit">Show</button>${isFiltered && html`<a href="/#series">all</a>`}
</form>`
}

const cellId = (row: BoardRow): string => `c-${seriesName(row)}`

function cellsOf({ answer, skip }: BoardLook): Readonly<Record<string, Html>> {
  const coins = new Set(marketsOf(answer.rows).slice(skip, skip + GRID_COINS))
  return Object.fromEntries(
    answer.rows.filter((row) => coins.has(marketOf(row))).map((row) => [cellId(row), cell(row)]),
  )
}

const marketOf = ({ exchange, coin }: BoardRow): string => `${exchange} ${coin}`
const marketsOf = (rows: readonly BoardRow[]): string[] => [...new Set(rows.map(marketOf))].toSorted()

function cell(row: BoardRow): Html {
  const { verdict, regime, is_fresh: isFresh } = row
  const said =
    verdict === null ? '' : verdict.call === 'HOLD' ? 'hold' : `${verdict.call} ${verdict.confidence}`
  const words = [
    `${row.coin} ${row.timeframe}`,
    verdict === null ? 'open call not shown' : `${verdict.call} ${verdict.confidence} %`,
    REGIME_WORDS[regime],
    isFresh ? '' : 'not fresh',
  ]
  const tone = verdict === null || verdict.call === 'HOLD' ? '' : verdict.call.toLowerCase()
  const about = words.filter((word) => word !== '').join(', ')
  return html`<td id="${cellId(row)}" class="${tone}${!isFresh && ' late'}"><a href="${seriesPath(row)}" title="${about}; bar closed ${row.bar_close.slice(0, 16).replace('T', ' ')}" aria-label="${about}">${regimeSign(regime)} ${said}</a></td>`
}

function gridPart(look: BoardLook, cells: Readonly<Record<string, Html>>): Html {
  const { answer, filters, skip } = look
  if (answer.rows.length === 0) {
    const isEmpty = answer.series === 0
    return html`<section id="board">${note(isEmpty ? html`<p>Nothing is followed yet.</p>` : html`<p>No series fits. <a href="/#series">Show all of them.</a></p>`)}</section>`
  }
  const markets = marketsOf(answer.rows)
  const timeframes = answer.timeframes.filter((one) => answer.rows.some(({ timeframe }) => timeframe === one))
  const isOneExchange = answer.exchanges.length === 1
  const byName = new Map(answer.rows.map((row) => [`${marketOf(row)} ${row.timeframe}`, row]))
  const rows = markets.slice(skip, skip + GRID_COINS).map((market) => {
    const [exchange, coin] = market.split(' ')
    const all = timeframes.map((timeframe) => {
      const row = byName.get(`${market} ${timeframe}`)
      return row === undefined ? html`<td></td>` : cells[cellId(row)]
    })
    return html`<tr><th scope="row">${coin}${!isOneExchange && html` <span class="dim">${exchange}</span>`}</th>${all}</tr>\n`
  })
  const next = skip + GRID_COINS < markets.length ? skip + GRID_COINS : null
  return html`<section id="board">${scrolling(
    'All series',
    html`<table class="grid"><caption>Each cell: the regime (${(['TRENDING_UP', 'TRENDING_DOWN', 'RANGING', 'VOLATILE'] as const).map((regime, index) => html`${index > 0 && ', '}${regimeText(regime)}`)}), then the call with its confidence in percent. ${CONFIDENCE_IS} Struck through: no fresh bar.</caption>
<thead><tr><th scope="col">Coin</th>${timeframes.map((timeframe) => html`<th scope="col">${timeframe}</th>`)}</tr></thead><tbody>
${rows}</tbody></table>`,
  )}${pager('/', skip || undefined, next, { name: 'skip', others: { ...filters }, at: '#series' })}</section>`
}

const dollars = (product: Product): string => `${Number(PRICES[product]) / 1_000_000} USD`

function firstCall({ publicUrl, answer }: BoardLook): Html {
  const coin = answer.coins.includes('BTC') ? 'BTC' : (answer.coins[0] ?? 'BTC')
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'get_trade_call', arguments: { coin, timeframe: '1h' } },
  })
  const command = `curl ${publicUrl}/mcp -H 'content-type: application/json' -d '${body}'`
  const { free, starter, pro } = PLAN_LIMITS
  return html`<h2 id="ask">Ask it yourself</h2>
<div class="split"><div>
<p>No key, no account. This asks for a call:</p>
${copyable(command, 'A first call with curl')}
<p>For Claude, Cursor and other agents the address is <code>${publicUrl}/mcp</code>: <a href="/docs/mcp">how to connect</a>. A <a href="/webhooks">webhook</a> pushes calls to you; <a href="/docs/examples/bot.py">a bot in Python</a> is ready to run.</p>
</div><div>
<h3>What it costs</h3>
<ul>
<li>Free: ${whole(free.callsPerWindow)} calls a month, ${free.callsPerDay} a day at most; by e-mail you get a key of your own.</li>
<li>Starter: ${whole(starter.callsPerWindow)} calls for ${dollars('plans/starter')} in 30 days; Pro: ${whole(pro.callsPerWindow)} for ${dollars('plans/pro')}.</li>
<li>Without an account: ${dollars('get_trade_call')} a call in USDC, <a href="/docs/paying">by x402</a>.</li>
</ul>
<p><a href="/docs/prices">All prices</a> · <a href="/account">Sign in</a></p>
</div></div>`
}
