import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import type * as answers from '../../../contracts/answers/track-record.ts'
import { FEWEST_FOR_PERCENT, shareText, wilsonInterval } from '../../../contracts/domain/statistics.ts'
import { TIMEFRAMES, timeframeMs } from '../../../contracts/domain/timeframes.ts'
import type { MarketKind } from '../../../contracts/events/event-catalogue.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { RecentMap } from '../../runtime/cache/recent-map.ts'
import { errorOf } from '../api-client.ts'
import { equityChart, happenedText, pooledMonths, reliabilityChart, reliabilityTable } from '../charts.ts'
import { address, note, pager, percent, soFar, sum, table, tiles, time, whole } from '../components.ts'
import { input, type Refusal, refusalNote, select } from '../forms.ts'
import { type Html, html } from '../html.ts'
import { type Page, page, scrolling, sendPublicPage } from '../layout.ts'
import type { PagesOptions } from './series.ts'

type TrackRecordRow = answers.TrackRecordRow
const word = z.string().max(256).optional()
const querySchema = z.object({ timeframe: word, coin: word, coins: word })
type Query = z.infer<typeof querySchema>

const PAGE_ROWS = 50
/** A page takes 40 ms to make: it is cached, so that many visitors cost no more than one. */
const CACHED_PAGES = 20

/** `GET /track-record`: how good ranges and calls were, for people. */
export const trackRecordPages: FastifyPluginAsyncZod<PagesOptions> = async (app, { client, frame }) => {
  const lifetime = { ttlMs: 5_000, now: () => performance.now() }
  const cached = new RecentMap<string, string>(CACHED_PAGES, lifetime)

  /** A refused filter is shown at its field, above the record without it. */
  async function view(request: FastifyRequest, query: Query): Promise<RecordView> {
    const { timeframe, coin, coins: after } = query
    const group = coin === undefined ? {} : { group_by: 'series', coin, limit: LIMITS.trackRecordRows }
    const path = address('/api/track-record', { timeframe, ...group })
    const record = await client.ask<answers.TrackRecordAnswer>(request, { path })
    if (!record.isOk) {
      if (timeframe === undefined && coin === undefined) throw errorOf(record.refusal)
      return { ...(await view(request, {})), query, refused: record.refusal }
    }
    const ofCoins = { timeframe, after, limit: PAGE_ROWS }
    const [{ rows: months }, coins] = await Promise.all([
      client.read<{ rows: answers.RecordMonth[] }>(request, '/api/track-record/months', { timeframe }),
      client.read<answers.RecordCoinsAnswer>(request, '/api/track-record/coins', ofCoins),
    ])
    return { market: frame().market, record: record.body, months, coins, query }
  }

  app.get('/track-record', { schema: { querystring: querySchema } }, async (request, reply) => {
    // A form sends empty fields.
    const query: Query = Object.fromEntries(Object.entries(request.query).filter(([, value]) => value))
    const key = JSON.stringify(query)
    let text = cached.get(key)
    reply.header('cache-control', 'public, max-age=60')
    if (text === undefined) {
      const shown = await view(request, query)
      text = page(frame(), trackRecordPage(shown))
      if (shown.refused === undefined) cached.set(key, text)
      else reply.code(shown.refused.status).header('cache-control', 'no-store')
    }
    return sendPublicPage(request, reply, text)
  })
}

/** Rows per model and timeframe or, for a coin, per series; months; a page of coins; and the fault of the query. */
export interface RecordView {
  readonly market: MarketKind
  readonly record: answers.TrackRecordAnswer
  readonly months: readonly answers.RecordMonth[]
  readonly coins: answers.RecordCoinsAnswer
  readonly query: Query
  readonly refused?: Refusal | undefined
}

/** How good the calls were, compared with baselines that anybody could have followed. */
export function trackRecordPage({ market, record, months, coins, query, refused }: RecordView): Page {
  const { coin = '', timeframe = '' } = query
  const [pooled, bins] = [pooledMonths(months), reliabilityTable(record.rows)]
  const of = [coin.toUpperCase(), timeframe].filter(Boolean).join(' ')
  const rows = record.rows.toSorted((a, b) => timeframeMs(a.timeframe) - timeframeMs(b.timeframe))
  const state = { typed: { timeframe, coin }, refusal: refused }
  return {
    title: of === '' ? 'Track record' : `Track record of ${of}`,
    description: 'Every recorded outcome: calibration, ranges, and returns after costs beside two baselines.',
    at: '/track-record',
    body: html`<h1>How good the ranges and the calls were</h1>
<p class="lead">Every recorded verdict whose window has closed is counted, HOLD included, and none is dropped. A call says which of two barriers comes first, if one is reached, and not where the price ends. Returns have 12 basis points a round trip taken off. <a href="/docs/track-record">How it is measured</a></p>
${market === 'simulated' && note(html`<p><strong>These prices are made up.</strong> Trends of a simulated market are drawn with a drift, so following a trend can gain from it: the figures say nothing about a real market.</p>`, 'warn')}
${refusalNote(refused)}
<form method="get" action="/track-record" class="row noprint">
${select(state, 'timeframe', [['', 'all'], ...TIMEFRAMES], 'Timeframe')}
${input(state, 'coin', { label: 'Coin', maxLength: 20, isCode: true })}
<button type="submit">Show</button></form>
${
  rows.length === 0
    ? NOTHING_YET
    : html`${headTiles(rows)}
<h2 id="ranges">How far the price went</h2>
${rangesTable(rows)}
${coverageTable(pooled.filter(({ forecasts }) => forecasts > 0))}
<h2 id="reliability">Does the confidence hold?</h2>
<div class="split"><figure>${reliabilityChart(bins)}<figcaption>Said against happened: how probable the barrier was that the verdict held for likelier, and how often it came first, of the races that one barrier won. On the dashed line both are the same. Whiskers: 95 % intervals (Wilson) of as many races as do not overlap. Coins move together, which makes them too narrow all the same.</figcaption></figure>
<div>${table('The same as a table', bins, {
        Said: ({ said }) => percent(said),
        '#Races': ({ races }) => whole(races),
        '#Not overlapping': (bin) => whole(bin.non_overlapping),
        '#Happened': happenedText,
        '#95 % interval': (bin) => ends(bin, bin.non_overlapping),
      })}</div></div>
<h2 id="equity">Returns after costs${coin !== '' && ', all coins'}</h2>
${pooled.every(({ calls }) => calls === 0) ? html`<p>No call is decided yet.</p>` : html`<figure class="wide">${scrolling('Chart of the returns', equityChart(pooled))}<figcaption>Sums of the returns of calls that do not overlap, one unit each, nothing compounded, after costs, beside always buying and a coin that is tossed, on the same bars.</figcaption></figure>`}
<h2 id="win-rate">By timeframe and model</h2>
${winRates(rows)}
<h2 id="coins">By coin</h2>
${coinRows(coins.rows)}
${pager('/track-record', query.coins, coins.next, { name: 'coins', others: query, at: '#coins' })}`
}
<p class="dim noprint">As data: <a href="/api/track-record">JSON</a>, <a href="/api/track-record/months">months</a>, <a href="/api/track-record/coins">coins</a>, <a href="/api/track-record?group_by=series">series</a>, <a href="/docs/replay">every verdict</a>. Counted up to position ${record.as_of}.</p>`,
  }
}

const NOTHING_YET = note(
  html`<p>Nothing is decided yet. The first outcome comes when the first window closes: 15 minutes after the first verdict at 1m, eight hours at 1h.</p>`,
)

const bps = (value: number | null): string =>
  value === null ? '—' : `${value >= 0 ? '+' : '−'}${Math.abs(value).toFixed(1)}`

/** Totals over rows: calls that do not overlap, and windows with an expected range. */
export function totalsOf(rows: readonly TrackRecordRow[]) {
  const apart = rows.map((row) => row.non_overlapping)
  return {
    wins: sum(apart, (one) => one.wins),
    reached: sum(apart, (one) => one.reached),
    trades: sum(apart, (one) => one.trades),
    /** Return after costs, summed over trades. */
    netBps: sum(apart, (one) => (one.net_mean_bps ?? 0) * one.trades),
    forecasts: sum(rows, ({ ranges }) => ranges.forecasts),
    within: sum(rows, ({ ranges }) => (ranges.coverage_80?.value ?? 0) * ranges.forecasts),
  }
}

/** How many calls won; an interval of calls at several timeframes would count the same move twice. */
function wonText(rows: readonly TrackRecordRow[], wins: number, reached: number): string {
  if (reached === 0) return 'none reached a barrier yet'
  if (reached < FEWEST_FOR_PERCENT) return 'too few for a percentage'
  const isOne = rows.filter(({ non_overlapping: apart }) => apart.reached > 0).length === 1
  const interval = `95 %: ${ends(wilsonInterval(wins, reached), reached)}`
  return `${whole(wins)} of ${whole(reached)}; ${isOne ? interval : 'their intervals are below, by timeframe'}`
}

function headTiles(rows: readonly TrackRecordRow[]): Html {
  const { wins, reached, trades, netBps, forecasts, within } = totalsOf(rows)
  const timedOut = whole(sum(rows, (row) => row.races.timeout))
  const expected = `of ${whole(forecasts)} windows; four of five are expected`
  const mean = trades === 0 ? '—' : `${bps(netBps / trades)} bp`
  return tiles([
    ['Prices within their range', soFar(within, forecasts), expected],
    ['Calls that won', soFar(wins, reached), wonText(rows, wins, reached)],
    ['Return after costs', mean, `mean of ${whole(trades)} calls that do not overlap`],
    ['Verdicts decided', whole(sum(rows, (row) => row.verdicts)), `${timedOut} reached no barrier in time`],
  ])
}

/** The ends of an interval as people read it; none where there are too few trials for a percentage. */
const ends = (of: Record<'low' | 'high', number> | null | undefined, trials: number): string =>
  !of || trials < FEWEST_FOR_PERCENT ? '' : `${percent(of.low)}–${percent(of.high)}`

/** Windows overlap and coins move together, so a month says less than its count. */
const coverageTable = (months: ReturnType<typeof pooledMonths>): Html =>
  table('Prices at the end of their window, by month', months, {
    'Month, UTC': ({ month }) => month,
    '#Forecasts': ({ forecasts }) => whole(forecasts),
    '#Within, 80 % expected': ({ within_80: within, forecasts }) => shareText(within / forecasts, forecasts),
    '#Within, 50 % expected': ({ within_50: within, forecasts }) => shareText(within / forecasts, forecasts),
  })

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

/** Timeframes of all coins, or, of one coin, its series. */
const nameOf = ({ exchange, coin, timeframe }: TrackRecordRow): string =>
  coin === null ? timeframe : `${coin} ${timeframe} on ${exchange}`

function winRates(rows: readonly TrackRecordRow[]): Html {
  const won = (row: TrackRecordRow, share: number | null) => shareText(share, row.non_overlapping.reached)
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

function coinRows(rows: readonly answers.RecordCoin[]): Html {
  if (rows.length === 0) return NOTHING_YET
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
