import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import type { BoardAnswer, BoardRow } from '../../../contracts/board.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { PLAN_LIMITS } from '../../../contracts/plans.ts'
import { PRICES, type Product } from '../../../contracts/prices.ts'
import { seriesName } from '../../../contracts/series.ts'
import { WHERE_CALLS_ARE_MADE } from '../../../contracts/tools/tool-catalogue.ts'
import type { SpeechAnswerRow } from '../../../contracts/track-record-row.ts'
import { unreachableText } from '../../../contracts/unreachable-venue.ts'
import { CALLS } from '../../../contracts/verdict.ts'
import type { TrackRecordPage, TrackRecordQuery } from '../../analyst/index.ts'
import { acceptsHtmlFirst } from '../../http/accept.ts'
import { bodyOf, operation } from '../../http/openapi.ts'
import type { HealthRoutesOptions } from '../../http/routes/health.ts'
import { boardFilters, type HistoryRoutesOptions } from '../../http/routes/history.ts'
import { RecentMap } from '../../runtime/cache/recent-map.ts'
import { sparkline } from '../charts.ts'
import {
  ageText,
  CONFIDENCE_IS,
  callTag,
  copyable,
  note,
  pager,
  price,
  proofLink,
  rangeText,
  regimeText,
  resultTag,
  seriesLink,
  seriesPath,
  soFar,
  table,
  tag,
  tiles,
  time,
  whole,
} from '../components.ts'
import { type Html, html } from '../html.ts'
import { type Page, type PageFrame, page } from '../layout.ts'
import { sendPublicPage } from '../send-page.ts'

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
const emptyIsNone = (value: unknown) => (value === '' ? undefined : value)
/** A form sends what was not chosen as empty. */
const querySchema = z.object({
  exchange: z.preprocess(emptyIsNone, boardFilters.exchange),
  coin: z.preprocess(emptyIsNone, boardFilters.coin),
  timeframe: z.preprocess(emptyIsNone, boardFilters.timeframe),
  call: z.preprocess(emptyIsNone, boardFilters.call),
  sort: z.enum(Object.keys(SORTS) as [keyof typeof SORTS]).default('confidence'),
  after: z.coerce.number().int().min(0).max(LIMITS.boardRows).default(0),
})
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
const KEPT_MS = 30_000

/** `GET /`: the board for people, a description for programs. A page is made once for all who look at the same. */
export const boardPages: FastifyPluginAsyncZod<BoardPagesOptions> = async (app, options) => {
  const { board, frame, hasSignIn } = options
  const closing = new AbortController()
  app.addHook('preClose', async () => closing.abort())
  const lifetime = { ttlMs: KEPT_MS, now: () => performance.now() }
  const made = new RecentMap<string, Promise<string>>(LIMITS.boardPages, lifetime)
  const sparks = new RecentMap<string, Promise<Html>>(LIMITS.boardSparks, lifetime)

  let newest: Headline | undefined
  function headline(): Headline {
    if (newest === undefined || performance.now() >= newest.until) newest = headlineOf(options)
    return newest
  }

  /** @throws ServiceError `store_unavailable` */
  async function drawSpark(series: BoardRow): Promise<Html> {
    const { rows } = await options.seriesHistory({ series, limit: SPARK_ROWS }, closing.signal)
    return sparkline(rows.toReversed().map((one) => one.price))
  }

  /** The line of a row; a line that cannot be read is tried again at the next look. */
  function sparkOf(row: BoardRow, request: FastifyRequest): Promise<Html> {
    const name = seriesName(row)
    const known = sparks.get(name)
    if (known !== undefined) return known
    const drawn = drawSpark(row).catch((error: unknown) => {
      sparks.delete(name)
      request.log.warn(
        { error, series: name },
        'the line of a row of the board cannot be read; it is left out',
      )
      return html``
    })
    sparks.set(name, drawn)
    return drawn
  }

  app.get('/', { schema }, async (request, reply) => {
    reply.header('vary', 'accept')
    if (!acceptsHtmlFirst(request)) return options.describe()
    const query = parse(request.query)
    const { version, answer } = board.read({ ...query, skip: 0, limit: LIMITS.boardRows })
    const unreachable = (options.unreachable?.() ?? []).map(unreachableText)
    const about = headline()
    const key = JSON.stringify([version, query, unreachable, about.until])
    let text = made.get(key)
    if (text === undefined) {
      text = draw({ answer, query, unreachable, headline: about }, request)
      made.set(key, text)
    }
    return sendPublicPage(request, reply.header('cache-control', 'no-cache'), await text)
  })

  async function draw(
    view: Pick<BoardView, 'answer' | 'query' | 'unreachable' | 'headline'>,
    request: FastifyRequest,
  ): Promise<string> {
    const { after, sort } = view.query
    const rows = sorted(view.answer.rows, sort).slice(after, after + PAGE_ROWS)
    const lines = await Promise.all(rows.map((row) => sparkOf(row, request)))
    const { publicUrl } = frame()
    return page(frame(), boardPage({ ...view, rows, lines, publicUrl, hasSignIn }))
  }
}

function parse(query: unknown): BoardPageQuery {
  const result = querySchema.safeParse(query)
  if (result.success) return result.data
  const [issue] = result.error.issues
  throw new ServiceError('invalid_request', { message: `${issue?.path.join('.')}: ${issue?.message}` })
}

/** How good calls and ranges were: over all timeframes that call, those whose windows do not overlap. */
interface Headline {
  readonly wins: number
  readonly reached: number
  /** Windows with a range, and those at whose end the price was within it. */
  readonly forecasts: number
  readonly within: number
  /** Timeframes at which calls are withdrawn. */
  readonly withdrawn: readonly string[]
  /** When it is counted anew, by the clock of this process; tells one from the next. */
  readonly until: number
}

function headlineOf({ trackRecord, speech }: BoardPagesOptions): Headline {
  const { rows } = trackRecord({ groupBy: 'timeframe', limit: LIMITS.trackRecordRows })
  const sum = (value: (row: (typeof rows)[number]) => number) =>
    rows.reduce((all, row) => all + value(row), 0)
  const withdrawn = speech().flatMap(({ state, timeframe }) => (state === 'withdrawn' ? timeframe : []))
  return {
    wins: sum((row) => row.non_overlapping.wins),
    reached: sum((row) => row.non_overlapping.reached),
    forecasts: sum(({ ranges }) => ranges.forecasts),
    within: sum(({ ranges }) => (ranges.coverage_80?.value ?? 0) * ranges.forecasts),
    withdrawn: [...new Set(withdrawn)],
    until: performance.now() + KEPT_MS,
  }
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
  /** Rows of this page, and the small line of each. */
  readonly rows: readonly BoardRow[]
  readonly lines: readonly Html[]
  readonly headline: Headline
  /** Venues that do not answer, a sentence for each. */
  readonly unreachable: readonly string[]
  readonly publicUrl: string
  readonly hasSignIn: boolean
}

/** The first page: what every series says now. */
function boardPage(view: BoardView): Page {
  const { answer, query, unreachable } = view
  const chosen = [query.coin, query.timeframe, query.exchange, query.call].filter((one) => one !== undefined)
  const calls = answer.calls.BUY + answer.calls.SELL
  return {
    title: `Board: ${chosen.length > 0 ? chosen.join(' ') : `${whole(calls)} ${calls === 1 ? 'call' : 'calls'}`}`,
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
${withdrawnNote(view)}
</div>
${firstCall(view)}`,
  }
}

const option = (value: string, chosen: string | undefined, text = value): Html =>
  html`<option value="${value}"${value === chosen && html` selected`}>${text}</option>`

function filterForm({ answer, query }: BoardView): Html {
  const choice = (name: string, label: string, values: readonly string[], chosen: string | undefined) =>
    html`<div class="field"><label for="f-${name}">${label}</label><select id="f-${name}" name="${name}">${option('', chosen, 'all')}${values.map((value) => option(value, chosen))}</select></div>`
  const { exchange, coin, timeframe, call, sort } = query
  const isFiltered = [exchange, coin, timeframe, call].some((value) => value !== undefined)
  return html`<form id="series" action="/#series" method="get" class="row noprint" aria-label="Which series, and in which order">
${answer.exchanges.length > 1 && choice('exchange', 'Exchange', answer.exchanges, exchange)}
${choice('coin', 'Coin', answer.coins, coin)}
${choice('timeframe', 'Timeframe', answer.timeframes, timeframe)}
${choice('call', 'Call', CALLS, call)}
<div class="field"><label for="f-sort">Sort by</label><select id="f-sort" name="sort">${Object.entries(SORTS).map(([value, text]) => option(value, sort, text))}</select></div>
<button type="submit">Show</button>${isFiltered && html`<a href="/#series">all</a>`}
</form>`
}

function rowsPart({ answer, query, rows, lines, unreachable, hasSignIn }: BoardView): Html {
  const { series, matching, market, market_time: now } = answer
  if (series === 0) {
    return html`<p>No series has a verdict yet${unreachable.length === 0 && ': the history of the market is being read. This takes seconds on a simulated market, minutes on a live one, and this page fills by itself'}.</p>`
  }
  if (rows.length === 0) return note(html`<p>No series fits. <a href="/#series">Show all of them.</a></p>`)
  const { after, ...others } = query
  const next = after + PAGE_ROWS < matching ? after + PAGE_ROWS : null
  const lineOf = new Map(rows.map((row, index) => [row, lines[index]]))
  return html`${table(
    `${whole(after + 1)} to ${whole(after + rows.length)} of ${whole(matching)} series. ${CONFIDENCE_IS}`,
    rows,
    {
      Series: (row) => seriesLink(row, html`${row.coin} ${row.timeframe}`),
      ...(answer.exchanges.length > 1 && { Exchange: ({ exchange }: BoardRow) => exchange }),
      Call: (row) =>
        row.verdict === null
          ? html`<a href="${seriesPath(row)}#ask">${tag('open')}</a>`
          : html`<a class="plain" href="/verify/${row.verdict.verdict_id}" aria-label="${row.verdict.call}: proof of ${row.coin} ${row.timeframe}">${callTag(row.verdict.call)}</a>`,
      '#Confidence': ({ verdict }) => (verdict === null ? '—' : `${verdict.confidence} %`),
      Regime: ({ regime }) => regimeText(regime),
      'Last bars': (row) => lineOf.get(row),
      '#Price': ({ verdict }) => (verdict === null ? '—' : price(verdict.price)),
      '#Range, 4 of 5 cases': ({ verdict }) =>
        verdict === null ? '—' : rangeText(verdict.expected_range, verdict.price),
      'Bar closed, UTC': (row) =>
        html`${time(row.bar_close, 'clock')} <small>${ageText(row.bar_close, now)}${!row.is_fresh && ', late'}</small>`,
      'Last decided': ({ decided_call: past, ...row }) =>
        past === null
          ? ''
          : html`${past.call} ${resultTag(past.result)} ${proofLink(past.verdict_id, `${row.coin} ${row.timeframe}, decided`)}`,
    },
    'cards',
  )}${pager('/', after || undefined, next, { others, at: '#series' })}
${market === 'live' && html`<p class="dim">Calls whose window is open are what callers ask for: ${hasSignIn && html`<a href="/account">sign in</a> and `}open a series, or ask over MCP or HTTP.</p>`}`
}

function summary({ answer, headline: { wins, reached, within, forecasts } }: BoardView): Html {
  const { calls, matching, rows } = answer
  const fresh = rows.filter(({ is_fresh }) => is_fresh).length
  const which = matching === answer.series ? 'all series' : 'the series above'
  const record = html`<a href="/track-record">track record</a>`
  return tiles([
    [
      answer.market === 'live' ? 'Shown calls, windows closed' : 'Calls now',
      whole(calls.BUY + calls.SELL),
      `${whole(calls.BUY)} BUY, ${whole(calls.SELL)} SELL, ${whole(calls.HOLD)} HOLD of ${which}`,
    ],
    ['Series', whole(matching), `${whole(fresh)} of them fresh; ${whole(answer.series)} are followed`],
    [
      'Prices within their range, all series',
      soFar(within, forecasts),
      forecasts === 0
        ? html`none decided yet; ${record}`
        : html`of ${whole(forecasts)} windows; four of five are expected`,
    ],
    [
      'Calls that were right, all series',
      soFar(wins, reached),
      reached === 0
        ? html`none decided yet; ${record}`
        : html`of ${whole(reached)} whose race a barrier decided; ${record}`,
    ],
    [
      'Market time',
      `${answer.market_time.slice(11, 16)} UTC`,
      html`${answer.market_time.slice(0, 10)}, <span id="live" class="live" role="status">as loaded</span>`,
    ],
  ])
}

const withdrawnNote = ({ headline: { withdrawn } }: BoardView): Html =>
  html`${withdrawn.length > 0 && note(html`<p>Calls at ${withdrawn.join(', ')} are withdrawn: of late they ranked no better than chance, so every verdict there is HOLD until they do again. <a href="/track-record">Track record</a></p>`, 'warn')}
<p class="dim">${WHERE_CALLS_ARE_MADE}</p>`

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
