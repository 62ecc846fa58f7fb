import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import type { MarketKind } from '../../../contracts/event-catalogue.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { RecordCoin, RecordCoinsAnswer } from '../../../contracts/record-coin.ts'
import type { RecordMonth } from '../../../contracts/record-month.ts'
import { FEWEST_FOR_PERCENT, shareText } from '../../../contracts/share-text.ts'
import { TIMEFRAMES } from '../../../contracts/timeframes.ts'
import type { TrackRecordAnswer, TrackRecordRow } from '../../../contracts/track-record-row.ts'
import { wilsonInterval } from '../../../contracts/wilson-interval.ts'
import { RecentMap } from '../../runtime/cache/recent-map.ts'
import type { Refusal } from '../api-client.ts'
import {
  coverageChart,
  equityChart,
  happenedText,
  pooledMonths,
  type ReliabilityBin,
  reliabilityChart,
  reliabilityTable,
} from '../charts.ts'
import { address, note, pager, percent, soFar, table, tiles, time, whole } from '../components.ts'
import { input, refusalNote, select } from '../forms.ts'
import { type Html, html } from '../html.ts'
import { type Page, page, scrolling } from '../layout.ts'
import { sendPublicPage } from '../send-page.ts'
import type { PagesOptions } from './series.ts'

const word = z.string().max(256).optional()
const querySchema = z.object({ timeframe: word, coin: word, coins: word })
type Query = z.infer<typeof querySchema>

/** A form sends what was not filled in as empty. */
const emptyLeftOut = (query: Query): Query =>
  Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined && value !== ''))

const PAGE_ROWS = 50
/** A page takes 40 ms to make: it is kept, so that visitors cost the same however many they are. */
const [KEPT_PAGES, KEPT_MS] = [20, 5_000] as const

/** `GET /track-record`: how good ranges and calls were, for people. */
export const trackRecordPages: FastifyPluginAsyncZod<PagesOptions> = async (app, { client, frame }) => {
  const kept = new RecentMap<string, string>(KEPT_PAGES, { ttlMs: KEPT_MS, now: () => performance.now() })

  async function ask<Body>(request: FastifyRequest, rest: string, given: Query & Record<string, unknown>) {
    const path = address(`/api/track-record${rest}`, given as Parameters<typeof address>[1])
    return client.must<Body>(request, { path })
  }

  /** The fault of the fields of the form. */
  async function refusalOf(
    request: FastifyRequest,
    { timeframe, coin }: Query,
  ): Promise<Refusal | undefined> {
    if (timeframe === undefined && coin === undefined) return undefined
    const path = address('/api/track-record', { group_by: 'series', timeframe, coin, limit: 1 })
    const answer = await client.ask<TrackRecordAnswer>(request, { path })
    return answer.isOk || answer.refusal.status !== 400 ? undefined : answer.refusal
  }

  async function view(request: FastifyRequest, query: Query): Promise<RecordView> {
    const refused = await refusalOf(request, query)
    // What is refused is shown at its field, above what is counted without it.
    const { timeframe, coin, coins: after } = refused === undefined ? query : {}
    const group = coin === undefined ? {} : { group_by: 'series', coin, limit: LIMITS.trackRecordRows }
    const [pooled, { rows: months }, coins] = await Promise.all([
      ask<TrackRecordAnswer>(request, '', { timeframe, ...group }),
      ask<{ rows: RecordMonth[] }>(request, '/months', { timeframe }),
      ask<RecordCoinsAnswer>(request, '/coins', { timeframe, after, limit: PAGE_ROWS }),
    ])
    return { market: frame().market, pooled, months, coins, query, refused }
  }

  app.get('/track-record', { schema: { querystring: querySchema } }, async (request, reply) => {
    const query = emptyLeftOut(request.query)
    const key = JSON.stringify(query)
    let text = kept.get(key)
    if (text === undefined) {
      const shown = await view(request, query)
      text = page(frame(), trackRecordPage(shown))
      if (shown.refused === undefined) kept.set(key, text)
      else reply.code(shown.refused.status).header('cache-control', 'no-store')
    }
    if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'public, max-age=60')
    return sendPublicPage(request, reply, text)
  })
}

export interface RecordView {
  readonly market: MarketKind
  /** One row for each model and timeframe; of a coin, one for each of its series. */
  readonly pooled: TrackRecordAnswer
  readonly months: readonly RecordMonth[]
  /** One row for each model and coin, a page of them. */
  readonly coins: RecordCoinsAnswer
  readonly query: Query
  /** The fault of the query. */
  readonly refused?: Refusal | undefined
}

const MADE_UP = html`<p><strong>These prices are made up.</strong> Trends of a simulated market are drawn with a drift, so following a trend can gain from it: the figures say nothing about a real market.</p>`

/** How good the calls were, beside what anybody could have done without them. */
export function trackRecordPage(view: RecordView): Page {
  const { market, pooled, query, refused } = view
  const { coin = '', timeframe = '' } = query
  const of = [coin.toUpperCase(), timeframe].filter((one) => one !== '').join(' ')
  return {
    title: of === '' ? 'Track record' : `Track record of ${of}`,
    description:
      'The outcome of every recorded verdict: calibration, coverage of ranges, and returns after costs beside always buying and random sides.',
    at: '/track-record',
    body: html`<h1>How good the ranges and the calls were</h1>
<p class="lead">Every recorded verdict whose window has closed is counted, HOLD included, and none is dropped. A call says which of two barriers comes first, if one is reached, and not where the price ends. Returns have 12 basis points a round trip taken off. <a href="/docs/track-record">How it is measured</a></p>
${market === 'simulated' && note(MADE_UP, 'warn')}
${refusalNote(refused)}
${choice(query, refused)}
${pooled.rows.length === 0 ? note(html`<p>Nothing is decided yet. The first outcome comes when the first window closes: 15 minutes after the first verdict at 1m, eight hours at 1h.</p>`) : figuresPart(view)}
<p class="dim noprint">As data: <a href="/api/track-record">JSON</a>, <a href="/api/track-record/months">months</a>, <a href="/api/track-record/coins">coins</a>, <a href="/api/track-record?group_by=series">series</a>, <a href="/docs/replay">every verdict</a>. Counted up to position ${pooled.as_of}.</p>`,
  }
}

function choice({ timeframe = '', coin = '' }: Query, refusal: Refusal | undefined): Html {
  const state = { typed: { timeframe, coin }, refusal }
  return html`<form method="get" action="/track-record" class="row noprint">
${select(state, 'timeframe', [['', 'all'], ...TIMEFRAMES.map((one) => [one, one] as const)], { label: 'Timeframe' })}
${input(state, 'coin', { label: 'Coin', maxLength: 20, isCode: true })}
<button type="submit">Show</button></form>`
}

function figuresPart({ pooled, months, coins, query }: RecordView): Html {
  const place = ({ timeframe }: TrackRecordRow) => TIMEFRAMES.indexOf(timeframe)
  const rows = pooled.rows.toSorted((a, b) => place(a) - place(b))
  const bins = reliabilityTable(rows)
  const ofAll = query.coin === undefined ? '' : ', all coins'
  return html`${headTiles(rows)}
<h2 id="ranges">How far the price went</h2>
${rangesTable(rows)}
<h2 id="coverage">Coverage of the ranges by month${ofAll}</h2>
${coveragePart(months)}
<h2 id="reliability">Does the confidence hold?</h2>
<div class="split"><figure>${reliabilityChart(bins)}<figcaption>Said against happened: how probable the barrier was that the verdict held for likelier, and how often it came first, of the races that one barrier won. On the dashed line both are the same. Whiskers: 95 % intervals (Wilson) of as many races as do not overlap. Coins move together, which makes them too narrow all the same.</figcaption></figure>
<div>${reliabilityRows(bins)}</div></div>
<h2 id="equity">Returns after costs${ofAll}</h2>
${equityPart(months)}
<h2 id="win-rate">By timeframe and model</h2>
${winRates(rows)}
<h2 id="coins">By coin</h2>
${coinRows(coins.rows)}
${pager('/track-record', query.coins, coins.next, { name: 'coins', others: query, at: '#coins' })}`
}

const sum = <Row>(rows: readonly Row[], value: (row: Row) => number): number =>
  rows.reduce((all, row) => all + value(row), 0)

const bps = (value: number | null): string =>
  value === null ? '—' : `${value >= 0 ? '+' : '−'}${Math.abs(value).toFixed(1)}`

function headTiles(rows: readonly TrackRecordRow[]): Html {
  const apart = rows.map((row) => row.non_overlapping)
  const [reached, wins] = [sum(apart, (one) => one.reached), sum(apart, (one) => one.wins)]
  const trades = sum(apart, (one) => one.trades)
  const net = sum(apart, (one) => (one.net_mean_bps ?? 0) * one.trades)
  const interval = wilsonInterval(wins, reached)
  const isOne = apart.filter((one) => one.reached > 0).length === 1
  const won =
    interval === undefined
      ? 'none reached a barrier yet'
      : reached < FEWEST_FOR_PERCENT
        ? 'too few for a percentage'
        : html`${whole(wins)} of ${whole(reached)}; ${isOne ? `95 %: ${percent(interval.low)} to ${percent(interval.high)}` : 'their intervals are below, by timeframe'}`
  const forecasts = sum(rows, ({ ranges }) => ranges.forecasts)
  const within = sum(rows, ({ ranges }) => (ranges.coverage_80?.value ?? 0) * ranges.forecasts)
  const verdicts = sum(rows, (row) => row.verdicts)
  const timedOut = whole(sum(rows, (row) => row.races.timeout))
  return tiles([
    [
      'Prices within their range',
      soFar(within, forecasts),
      html`of ${whole(forecasts)} windows; four of five are expected`,
    ],
    ['Calls that won', soFar(wins, reached), won],
    [
      'Return after costs',
      trades === 0 ? '—' : `${bps(net / trades)} bp`,
      html`mean of ${whole(trades)} calls that do not overlap`,
    ],
    ['Verdicts decided', whole(verdicts), html`${timedOut} reached no barrier in time`],
  ])
}

interface Ends {
  readonly low: number | null
  readonly high: number | null
}

/** The ends of an interval as people read it; none where there are too few trials for a percentage. */
const ends = (interval: Ends | null, trials: number): string =>
  interval === null || interval.low === null || interval.high === null || trials < FEWEST_FOR_PERCENT
    ? ''
    : `${percent(interval.low)}–${percent(interval.high)}`

const rangesTable = (rows: readonly TrackRecordRow[]): Html =>
  table('Prices at the end of their window, beside the range in which four of five were expected', rows, {
    Series: nameOf,
    Model: (row) => row.model_version,
    '#Forecasts': ({ ranges }) => whole(ranges.forecasts),
    '#Within, 80 % expected': ({ ranges }) => shareText(ranges.coverage_80?.value ?? null, ranges.forecasts),
    '#95 % interval': ({ ranges }) => ends(ranges.coverage_80, ranges.forecasts),
    '#Below, 10 % expected': ({ ranges }) => shareText(ranges.below, ranges.forecasts),
    '#Above, 10 % expected': ({ ranges }) => shareText(ranges.above, ranges.forecasts),
  })

function coveragePart(rows: readonly RecordMonth[]): Html {
  const months = pooledMonths(rows)
  return months.some(({ forecasts }) => forecasts >= FEWEST_FOR_PERCENT)
    ? html`<figure class="wide">${scrolling('Chart of the coverage', coverageChart(months))}<figcaption>How many prices ended within the ranges that hold four of five, and half; dashed is what was expected. Windows overlap and coins move together, so a month says less than its count.</figcaption></figure>`
    : html`<p class="dim">The chart comes with the first month that has ${FEWEST_FOR_PERCENT} of them.</p>`
}

const reliabilityRows = (bins: readonly ReliabilityBin[]): Html =>
  table('The same as a table', bins, {
    Said: ({ said }) => percent(said),
    '#Races': ({ races }) => whole(races),
    '#Not overlapping': (bin) => whole(bin.non_overlapping),
    '#Happened': happenedText,
    '#95 % interval': (bin) => ends(bin, bin.non_overlapping),
  })

function equityPart(rows: readonly RecordMonth[]): Html {
  const months = pooledMonths(rows)
  if (months.every(({ calls }) => calls === 0)) return html`<p>No call is decided yet.</p>`
  return html`<figure class="wide">${scrolling('Chart of the returns', equityChart(months))}<figcaption>Sums of the returns of calls that do not overlap, one unit each, nothing compounded, after costs, beside always buying, always selling and a coin that is tossed, on the same bars.</figcaption></figure>`
}

/** Timeframes of all coins, or, of one coin, its series. */
const nameOf = ({ exchange, coin, timeframe }: TrackRecordRow): string =>
  coin === null ? timeframe : `${coin} ${timeframe} on ${exchange}`

function winRates(rows: readonly TrackRecordRow[]): Html {
  const won = ({ non_overlapping: apart }: TrackRecordRow, share: number | null) =>
    shareText(share, apart.reached)
  return table('Calls that do not overlap, beside the constants and a coin on the same bars', rows, {
    Series: nameOf,
    Model: (row) => row.model_version,
    '#Verdicts': (row) => whole(row.verdicts),
    '#Calls': (row) => whole(row.non_overlapping.calls),
    '#Won': (row) => won(row, row.non_overlapping.win_rate?.value ?? null),
    '#95 % interval': ({ non_overlapping: apart }) => ends(apart.win_rate, apart.reached),
    '#Always BUY': (row) => won(row, row.baselines.always_buy.win_rate),
    '#Always SELL': (row) => won(row, row.baselines.always_sell.win_rate),
    '#Coin toss': (row) => won(row, row.baselines.random.win_rate),
    '#Net, bp': (row) => bps(row.non_overlapping.net_mean_bps),
    '#t': ({ non_overlapping: { t } }) => (t === null ? '—' : t.toFixed(1)),
    'To, UTC': ({ to }) => to !== null && time(to),
  })
}

function coinRows(rows: readonly RecordCoin[]): Html {
  if (rows.length === 0) return html`<p>Nothing is decided yet.</p>`
  return table('All series of a coin together, beside the constants and a coin that is tossed', rows, {
    Coin: ({ coin }) => html`<a href="${address('/track-record', { coin })}">${coin}</a>`,
    Model: (row) => row.model_version,
    '#Verdicts': (row) => whole(row.verdicts),
    '#Calls': (row) => whole(row.calls),
    '#Won': (row) => shareText(row.win_rate?.value ?? null, row.reached),
    // The timeframes of a coin overlap.
    '#95 % interval': (row) => (row.series === 1 ? ends(row.win_rate, row.reached) : ''),
    '#Always BUY': (row) => shareText(row.always_buy, row.reached),
    '#Always SELL': (row) => shareText(row.always_sell, row.reached),
    '#Coin toss': (row) => shareText(row.random, row.reached),
    '#Net, bp': (row) => bps(row.net_mean_bps),
  })
}
