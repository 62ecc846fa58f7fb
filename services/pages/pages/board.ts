import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import type { BoardAnswer, BoardRow } from '../../../contracts/answers/board.ts'
import type { SpeechAnswerRow } from '../../../contracts/answers/track-record.ts'
import { PLAN_LIMITS } from '../../../contracts/domain/plans.ts'
import { seriesName } from '../../../contracts/domain/series.ts'
import { countText } from '../../../contracts/domain/statistics.ts'
import { CALLS } from '../../../contracts/domain/verdict.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { unreachableText } from '../../../contracts/errors/unreachable-venue.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { PRICES, type Product } from '../../../contracts/tools/prices.ts'
import { WHERE_CALLS_ARE_MADE } from '../../../contracts/tools/tool-catalogue.ts'
import type { TrackRecordPage, TrackRecordQuery } from '../../analyst/index.ts'
import { acceptsHtmlFirst } from '../../http/accept.ts'
import { memoizeFor } from '../../http/memoize-for.ts'
import { bodyOf, operation } from '../../http/openapi.ts'
import type { HealthRoutesOptions } from '../../http/routes/health.ts'
import { boardFilters, type HistoryRoutesOptions } from '../../http/routes/history.ts'
import { RecentMap } from '../../runtime/cache/recent-map.ts'
import { sparkline } from '../charts.ts'
import {
  ageText,
  CONFIDENCE_IS,
  copyable,
  note,
  pager,
  price,
  proofLink,
  rangeText,
  regimeText,
  seriesLink,
  seriesPath,
  soFar,
  table,
  tag,
  tiles,
  time,
  whole,
} from '../components.ts'
import { select } from '../forms.ts'
import { type Html, html } from '../html.ts'
import { type Page, type PageFrame, page, sendPublicPage } from '../layout.ts'
import { totalsOf } from './track-record.ts'

export interface BoardPagesOptions extends Pick<HistoryRoutesOptions, 'board' | 'seriesHistory'> {
  readonly trackRecord: (query: TrackRecordQuery) => TrackRecordPage
  /** Whether calls are made at each timeframe. */
  readonly speech: () => readonly SpeechAnswerRow[]
  readonly frame: () => PageFrame
  readonly hasSignIn: boolean
  readonly unreachable?: HealthRoutesOptions['unreachable']
  /** The JSON answer at `/` for programs. */
  readonly describe: () => object
}

const SORTS = { confidence: 'Confidence', newest: 'Newest bar', coin: 'Coin' } as const
/** A form sends empty fields. */
const querySchema = z.preprocess(
  (query) => Object.fromEntries(Object.entries(query as object).filter(([, value]) => value !== '')),
  z.object({
    ...boardFilters,
    sort: z.enum(Object.keys(SORTS) as [keyof typeof SORTS]).default('confidence'),
    after: z.coerce.number().int().min(0).max(LIMITS.boardRows).default(0),
  }),
)
type BoardPageQuery = z.infer<typeof querySchema>

const schema = {
  ...operation('service', 'describeService', 'What is served, in short; the board, to browsers'),
  response: bodyOf({
    'application/json': z.object({
      service: z.string(),
      version: z.string(),
      market: z.string(),
      notice: z.string(),
      endpoints: z.record(z.string(), z.string()).describe('What is served, by method and path'),
    }),
    'text/html': z.string(),
  }),
}

const PAGE_ROWS = 50
/** Seconds after which the page reads itself again. */
const REFRESH = 2
/** Verdicts that the small line of a row is drawn from. */
const SPARK_ROWS = 40
const CACHED_MS = 30_000

/** `GET /`: the board for people, a description for programs. Visitors of the same page share it. */
export const boardPages: FastifyPluginAsyncZod<BoardPagesOptions> = async (app, options) => {
  const { board, frame, hasSignIn } = options
  const closing = new AbortController()
  app.addHook('preClose', async () => closing.abort())
  const lifetime = { ttlMs: CACHED_MS, now: () => performance.now() }
  const pages = new RecentMap<string, Promise<string>>(LIMITS.boardPages, lifetime)
  const sparks = new RecentMap<string, Promise<Html>>(LIMITS.boardSparks, lifetime)
  const headline = memoizeFor(CACHED_MS, () => headlineOf(options))

  /** The line of a row; one that cannot be read is read again for the next page. */
  const drawSpark = async (series: BoardRow, name: string): Promise<Html> => {
    try {
      const { rows } = await options.seriesHistory({ series, limit: SPARK_ROWS }, closing.signal)
      return sparkline(rows.toReversed().map((one) => one.price))
    } catch (error) {
      sparks.delete(name)
      app.log.warn({ error, series: name }, 'board: prices of a series cannot be read; its row has no line')
      return html``
    }
  }

  app.get('/', { schema }, async (request, reply) => {
    reply.header('vary', 'accept')
    if (!acceptsHtmlFirst(request)) return options.describe()
    const { data: query, error } = querySchema.safeParse(request.query)
    if (error !== undefined) throw refusalOf(error)
    const { version, answer } = board.read({ ...query, skip: 0, limit: LIMITS.boardRows })
    const unreachable = (options.unreachable?.() ?? []).map(unreachableText)
    const shown = { answer, query, unreachable, headline: headline(), hasSignIn }
    const draw = async () => {
      const rows = sorted(answer.rows, query.sort).slice(query.after, query.after + PAGE_ROWS)
      const lineOf = (row: BoardRow) => cached(sparks, seriesName(row), (name) => drawSpark(row, name))
      const drawn = await Promise.all(rows.map(async (row) => ({ ...row, line: await lineOf(row) })))
      return page(frame(), boardPage({ ...shown, rows: drawn, publicUrl: frame().publicUrl }))
    }
    const key = JSON.stringify([version, query, unreachable, shown.headline])
    return sendPublicPage(request, reply.header('cache-control', 'no-cache'), await cached(pages, key, draw))
  })
}

function cached<Value extends {}>(
  map: RecentMap<string, Value>,
  key: string,
  compute: (key: string) => Value,
): Value {
  const known = map.get(key)
  if (known !== undefined) return known
  const value = compute(key)
  map.set(key, value)
  return value
}

const refusalOf = ({ issues: [issue] }: z.ZodError): ServiceError =>
  new ServiceError('invalid_request', { message: `${issue?.path.join('.')}: ${issue?.message}` })

/** How good calls and ranges were over all timeframes, and the timeframes at which calls are withdrawn. */
function headlineOf({ trackRecord, speech }: BoardPagesOptions) {
  const { rows } = trackRecord({ groupBy: 'timeframe', limit: LIMITS.trackRecordRows })
  const withdrawn = speech().flatMap(({ state, timeframe }) => (state === 'withdrawn' ? timeframe : []))
  return { ...totalsOf(rows), withdrawn: [...new Set(withdrawn)] }
}

/** The board sorts by confidence itself. */
function sorted(rows: readonly BoardRow[], sort: keyof typeof SORTS): readonly BoardRow[] {
  if (sort === 'coin') return rows.toSorted((a, b) => a.coin.localeCompare(b.coin, 'en'))
  if (sort === 'newest') return rows.toSorted((a, b) => b.bar_close.localeCompare(a.bar_close, 'en'))
  return rows
}

interface BoardView {
  readonly answer: BoardAnswer
  readonly query: BoardPageQuery
  /** Rows of this page, each with its small line. */
  readonly rows: readonly (BoardRow & { readonly line: Html })[]
  readonly headline: ReturnType<typeof headlineOf>
  /** Venues that do not answer, a sentence for each. */
  readonly unreachable: readonly string[]
  readonly publicUrl: string
  readonly hasSignIn: boolean
}

/** The first page: what every series says now. */
function boardPage(view: BoardView): Page {
  const { answer, query, unreachable } = view
  const { withdrawn } = view.headline
  const chosen = [query.coin, query.timeframe, query.exchange, query.call].filter(Boolean).join(' ')
  return {
    title: `Board: ${chosen || countText(answer.calls.BUY + answer.calls.SELL, 'call')}`,
    at: '/',
    refresh: REFRESH,
    body: html`<h1>How far prices may go, and which call is made</h1>
<p class="lead">At every closed bar: the range that four of five prices end in, and BUY, SELL or HOLD. Each is recorded before its outcome is known.</p>
<noscript><p class="dim">As of the moment this page was made; load it again for what is newer.</p></noscript>
${filterForm(view)}
<div id="board" data-fresh>
${unreachable.map((sentence) => note(html`<p>${sentence}</p>`, 'warn'))}
${rowsPart(view)}
${summary(view)}
${withdrawn.length > 0 && note(html`<p>Calls at ${withdrawn.join(', ')} are withdrawn: of late they ranked no better than chance, so every verdict there is HOLD until they do again. <a href="/track-record">Track record</a></p>`, 'warn')}
<p class="dim">${WHERE_CALLS_ARE_MADE}</p>
</div>
${firstCall(view)}`,
  }
}

function filterForm({ answer, query }: BoardView): Html {
  const typed = { ...query, after: undefined }
  const filter = (name: string, label: string, values: readonly string[]) =>
    select({ typed }, name, [['', 'all'], ...values], label)
  const isFiltered = [typed.exchange, typed.coin, typed.timeframe, typed.call].some(Boolean)
  return html`<form id="series" action="/#series" method="get" class="row noprint" aria-label="Which series, and in which order">
${answer.exchanges.length > 1 && filter('exchange', 'Exchange', answer.exchanges)}
${filter('coin', 'Coin', answer.coins)}
${filter('timeframe', 'Timeframe', answer.timeframes)}
${filter('call', 'Call', CALLS)}
${select({ typed }, 'sort', Object.entries(SORTS), 'Sort by')}
<button type="submit">Show</button>${isFiltered && html`<a href="/#series">all</a>`}
</form>`
}

function rowsPart({ answer, query, rows, unreachable, hasSignIn }: BoardView): Html {
  const { series, matching, market, market_time: now } = answer
  if (series === 0) {
    return html`<p>No series has a verdict yet${unreachable.length === 0 && ': the history of the market is being read. This takes seconds on a simulated market, minutes on a live one, and this page fills by itself'}.</p>`
  }
  if (rows.length === 0) return note(html`<p>No series fits. <a href="/#series">Show all of them.</a></p>`)
  const { after, ...others } = query
  const next = after + PAGE_ROWS < matching ? after + PAGE_ROWS : null
  return html`${table(
    `${whole(after + 1)} to ${whole(after + rows.length)} of ${whole(matching)} series. ${CONFIDENCE_IS}`,
    rows,
    {
      Series: (row) => seriesLink(row, html`${row.coin} ${row.timeframe}`),
      ...(answer.exchanges.length > 1 && { Exchange: ({ exchange }: BoardRow) => exchange }),
      Call: (row) =>
        row.verdict === null
          ? html`<a href="${seriesPath(row)}#ask">${tag('open')}</a>`
          : html`<a class="plain" href="/verify/${row.verdict.verdict_id}" aria-label="${row.verdict.call}: proof of ${row.coin} ${row.timeframe}">${tag(row.verdict.call)}</a>`,
      '#Confidence': ({ verdict }) => (verdict === null ? '—' : `${verdict.confidence} %`),
      Regime: ({ regime }) => regimeText(regime),
      'Last bars': ({ line }) => line,
      '#Price': ({ verdict }) => (verdict === null ? '—' : price(verdict.price)),
      '#Range, 4 of 5 cases': ({ verdict }) =>
        verdict === null ? '—' : rangeText(verdict.expected_range, verdict.price),
      'Bar closed, UTC': (row) =>
        html`${time(row.bar_close, 'clock')} <small>${ageText(row.bar_close, now)}${!row.is_fresh && ', late'}</small>`,
      'Last decided': ({ decided_call: past, ...row }) =>
        past === null
          ? ''
          : html`${past.call} ${tag(past.result)} ${proofLink(past.verdict_id, `${row.coin} ${row.timeframe}, decided`)}`,
    },
    { form: 'cards' },
  )}${pager('/', after || undefined, next, { others, at: '#series' })}
${market === 'live' && html`<p class="dim">Calls whose window is open are what callers ask for: ${hasSignIn && html`<a href="/account">sign in</a> and `}open a series, or ask over MCP or HTTP.</p>`}`
}

function summary({ answer, headline: { wins, reached, within, forecasts } }: BoardView): Html {
  const { calls, matching, rows, series, market_time: now } = answer
  const fresh = rows.filter(({ is_fresh }) => is_fresh).length
  const which = matching === series ? 'all series' : 'the series above'
  const made = `${whole(calls.BUY)} BUY, ${whole(calls.SELL)} SELL, ${whole(calls.HOLD)} HOLD of ${which}`
  const of = (count: number, what: string): Html =>
    html`${count === 0 ? 'none decided yet' : `of ${whole(count)} ${what}`}; <a href="/track-record">track record</a>`
  const ranges = of(forecasts, 'windows, four of five expected')
  const right = of(reached, 'whose race a barrier decided')
  const day = html`${now.slice(0, 10)}, <span id="live" class="live" role="status">as loaded</span>`
  const name = answer.market === 'live' ? 'Shown calls, windows closed' : 'Calls now'
  return tiles([
    [name, whole(calls.BUY + calls.SELL), made],
    ['Series', whole(matching), `${whole(fresh)} of them fresh; ${whole(series)} are followed`],
    ['Prices within their range, all series', soFar(within, forecasts), ranges],
    ['Calls that were right, all series', soFar(wins, reached), right],
    ['Market time', `${now.slice(11, 16)} UTC`, day],
  ])
}

const dollars = (product: Product): string => `${Number(PRICES[product]) / 1_000_000} USD`

function firstCall({ publicUrl, answer }: BoardView): Html {
  const coin = answer.coins.includes('BTC') ? 'BTC' : (answer.coins[0] ?? 'BTC')
  const call = { name: 'get_trade_call', arguments: { coin, timeframe: '1h' } }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: call })
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
