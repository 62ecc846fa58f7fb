import type { MarketKind } from '../../../contracts/event-catalogue.ts'
import type { RecordCoin, RecordCoinsAnswer } from '../../../contracts/record-coin.ts'
import type { RecordMonth } from '../../../contracts/record-month.ts'
import { FEWEST_FOR_PERCENT, shareText } from '../../../contracts/share-text.ts'
import { TIMEFRAMES } from '../../../contracts/timeframes.ts'
import type { TrackRecordAnswer, TrackRecordRow } from '../../../contracts/track-record-row.ts'
import { wilsonInterval } from '../../../contracts/wilson-interval.ts'
import type { Refusal } from '../api-client.ts'
import { address, note, pager, percent, seriesLink, soFar, table, tiles, time, whole } from '../components.ts'
import { input, refusalNote, select } from '../forms.ts'
import { type Content, type Html, html } from '../html.ts'
import { type Page, scrolling } from '../layout.ts'
import {
  type CoverageMonth,
  coverageChart,
  equityChart,
  happenedText,
  reliabilityChart,
} from './record-charts.ts'
import {
  coinTable,
  type Figure,
  pooledMonths,
  type ReliabilityBin,
  reliabilityTable,
  undecidedTable,
  winRateTable,
} from './track-record-figures.ts'

export interface TrackRecordLook {
  readonly market: MarketKind
  /** One row for each model and timeframe. */
  readonly pooled: TrackRecordAnswer
  readonly months: readonly RecordMonth[]
  /** One row for each model and coin, a page of them. */
  readonly coins: RecordCoinsAnswer
  /** One row for each series, a page of them. */
  readonly series: TrackRecordAnswer
  readonly query: {
    readonly timeframe?: string | undefined
    readonly coin?: string | undefined
    readonly after?: string | undefined
    /** Cursor of the page of coins. */
    readonly coins?: string | undefined
  }
  /** The fault of the query. */
  readonly refused?: Refusal | undefined
}

const bps = (value: number | null): string =>
  value === null ? '—' : `${value >= 0 ? '+' : '−'}${Math.abs(value).toFixed(1)}`

const MADE_UP = html`<p><strong>These prices are made up.</strong> Trends of a simulated market are drawn with a drift, so following a trend can gain from it: the figures say nothing about a real market.</p>`

/** How good the calls were, beside what anybody could have done without them. */
export function trackRecordPage(look: TrackRecordLook): Page {
  const { market, pooled, query, refused } = look
  return {
    title: 'Track record',
    description:
      'What became of every recorded verdict: calibration, win rate and equity after costs beside baselines.',
    at: '/track-record',
    body: html`<h1>How good the ranges and the calls were</h1>
<p class="lead">Every recorded verdict whose window has closed is counted, HOLD included, and none is dropped. A call says which of two barriers comes first, if one is reached, and not where the price ends: calls close on the other side a little more often. Returns have 12 basis points a round trip taken off. <a href="/docs/track-record">How it is measured</a></p>
${market === 'simulated' && note(MADE_UP, 'warn')}
${refusalNote(refused)}
${choice(query, refused)}
${pooled.rows.length === 0 ? note(html`<p>Nothing is decided yet. The first outcome comes when the first window closes: 15 minutes after the first verdict at 1m, eight hours at 1h.</p>`) : figuresPart(look)}
<p class="dim noprint">As data: <a href="/api/track-record">JSON</a>, <a href="/api/track-record/months">months</a>, <a href="/api/track-record/coins">coins</a>, <a href="/docs/replay">every verdict</a>. Counted up to position ${pooled.as_of}.</p>`,
  }
}

function figuresPart({ pooled, months, coins, series, query }: TrackRecordLook): Html {
  const rows = byTimeframe(pooled.rows)
  const bins = reliabilityTable(rows)
  const { timeframe, coin } = query
  const csv = (figure: Figure) =>
    html`<a href="${address(`/track-record/${figure}.csv`, { timeframe, coin: figure === 'series' ? coin : '' })}">CSV</a>`
  const turn = (name: 'coins' | 'after', next: string | null, at: string) =>
    pager('/track-record', query[name], next, { name, others: query, at })
  return html`${headTiles(rows)}
<h2 id="ranges">How far the price went</h2>
${rangesPart(rows)}
${coveragePart(pooledMonths(months))}
<h2 id="reliability">Does the confidence hold?</h2>
<div class="split"><figure>${reliabilityChart(bins)}<figcaption>Said against happened: how probable the barrier was that the verdict held for likelier, and how often it came first, of the races that one barrier won. On the dashed line both are the same. Whiskers: 95 % intervals (Wilson) of as many races as do not overlap. Coins move together, which makes them too narrow all the same. ${csv('reliability')}</figcaption></figure>
<div>${reliabilityRows(bins)}</div></div>
<h2 id="equity">Equity after costs</h2>
${equityPart(months, csv('equity'), csv('months'))}
<h2 id="win-rate">By timeframe and model</h2>
${winRates('Calls that do not overlap, beside the constants and a coin on the same bars', rows, { Timeframe: (row) => row.timeframe, Model: (row) => row.model_version })}
<p class="dim">${csv('win-rate')}</p>
<h2 id="coins">By coin</h2>
${coinPart(coins.rows)}
<p class="dim">${csv('coins')}</p>
${turn('coins', coins.next, '#coins')}
<h2 id="by-series">By series</h2>
${winRates('The same for each series', series.rows, { Series: seriesOf })}
<p class="dim">${csv('series')}</p>
${turn('after', series.next, '#by-series')}
<h2 id="undecided">What does not count</h2>
${apartPart(rows)}
<p class="dim">${csv('undecided')}</p>`
}

function headTiles(rows: readonly TrackRecordRow[]): Html {
  const apart = rows.map((row) => row.non_overlapping)
  const [reached, wins] = [sum(apart, (one) => one.reached), sum(apart, (one) => one.wins)]
  const trades = sum(apart, (one) => one.trades)
  const net = sum(apart, (one) => (one.net_mean_bps ?? 0) * one.trades)
  const interval = wilsonInterval(wins, reached)
  const won =
    interval === undefined
      ? 'none reached a barrier yet'
      : reached < FEWEST_FOR_PERCENT
        ? 'too few for a percentage'
        : html`${whole(wins)} of ${whole(reached)}; ${apart.filter((one) => one.reached > 0).length > 1 ? 'their intervals are below, by timeframe' : `95 %: ${percent(interval.low)} to ${percent(interval.high)}`}`
  const timedOut = whole(sum(rows, (row) => row.races.timeout))
  const forecasts = sum(rows, ({ ranges }) => ranges.forecasts)
  const within = sum(rows, ({ ranges }) => (ranges.coverage_80?.value ?? 0) * ranges.forecasts)
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
    [
      'Verdicts decided',
      whole(sum(rows, (row) => row.verdicts)),
      html`${timedOut} reached no barrier in time`,
    ],
  ])
}

const byTimeframe = (rows: readonly TrackRecordRow[]): TrackRecordRow[] =>
  rows.toSorted((a, b) => TIMEFRAMES.indexOf(a.timeframe) - TIMEFRAMES.indexOf(b.timeframe))

const sum = <Row>(rows: readonly Row[], value: (row: Row) => number): number =>
  rows.reduce((all, row) => all + value(row), 0)

function choice({ timeframe = '', coin = '' }: TrackRecordLook['query'], refusal: Refusal | undefined): Html {
  const state = { typed: { timeframe, coin }, refusal }
  return html`<form method="get" action="/track-record" class="row noprint">
${select(state, 'timeframe', [['', 'all'], ...TIMEFRAMES.map((one) => [one, one] as const)], { label: 'Timeframe' })}
${input(state, 'coin', { label: 'Coin', maxLength: 20, isCode: true })}
<button type="submit">Show</button></form>`
}

interface Ends {
  readonly low: number | null
  readonly high: number | null
}

/** The ends of an interval as people read it; none where there are too few trials for a percentage. */
const ends = ({ low, high }: Ends, trials: number): string =>
  low === null || high === null || trials < FEWEST_FOR_PERCENT ? '' : `${percent(low)}–${percent(high)}`

const reliabilityRows = (bins: readonly ReliabilityBin[]): Html =>
  table('The same as a table', bins, {
    Said: ({ said }) => percent(said),
    '#Races': ({ races }) => whole(races),
    '#Not overlapping': (bin) => whole(bin.non_overlapping),
    '#Happened': happenedText,
    '#95 % interval': (bin) => ends(bin, bin.non_overlapping),
  })

const shareOf = (part: number, all: number): string => shareText(all === 0 ? null : part / all, all)

function equityPart(rows: readonly RecordMonth[], csv: Html, byMonth: Html): Html {
  const months = pooledMonths(rows)
  if (months.every(({ calls }) => calls === 0)) return html`<p>No call is decided yet.</p>`
  const percentOf = (value: number): string => `${bps(value / 100)} %`
  return html`<figure class="wide">${scrolling('Picture of the equity', equityChart(months))}<figcaption>Sums of the returns of calls that do not overlap, one unit each, nothing compounded, after costs. ${csv}</figcaption></figure>
<details><summary>By month</summary>${table(
    'What the calls of each month came to, percent of one unit, and prices within their range',
    months,
    {
      Month: ({ month }) => month,
      '#Calls': ({ calls }) => whole(calls),
      '#Won': ({ reached, wins }) => shareOf(wins, reached),
      '#Calls made': (one) => percentOf(one.net_bps),
      '#Always BUY': (one) => percentOf(one.always_buy_bps),
      '#Always SELL': (one) => percentOf(one.always_sell_bps),
      '#A coin': (one) => percentOf(one.random_bps),
      '#Within 80 %': (one) => shareOf(one.within_80, one.forecasts),
      '#Within 50 %': (one) => shareOf(one.within_50, one.forecasts),
    },
  )}<p class="dim">${byMonth}</p></details>`
}

const rangesPart = (rows: readonly TrackRecordRow[]): Html =>
  table('Prices at the end of their window, beside the range in which four of five were expected', rows, {
    Timeframe: (row) => row.timeframe,
    Model: (row) => row.model_version,
    '#Forecasts': ({ ranges }) => whole(ranges.forecasts),
    '#Within, 80 % expected': ({ ranges }) => shareText(ranges.coverage_80?.value ?? null, ranges.forecasts),
    '#95 % interval': ({ ranges }) => ranges.coverage_80 && ends(ranges.coverage_80, ranges.forecasts),
    '#Below, 10 % expected': ({ ranges }) => shareText(ranges.below, ranges.forecasts),
    '#Above, 10 % expected': ({ ranges }) => shareText(ranges.above, ranges.forecasts),
  })

const coveragePart = (months: readonly CoverageMonth[]): Html =>
  months.some(({ forecasts }) => forecasts >= FEWEST_FOR_PERCENT)
    ? html`<figure class="wide">${scrolling('Picture of the coverage', coverageChart(months))}<figcaption>How many prices ended within the ranges that hold four of five, and half; dashed is what was expected. Windows overlap and coins move together, so a month says less than its count. As numbers: by month, below.</figcaption></figure>`
    : html`<p class="dim">By month, once one has ${FEWEST_FOR_PERCENT} of them.</p>`

type WinRow = ReturnType<typeof winRateTable | typeof coinTable>[number]

/** The columns that every table of win rates has. */
const RATES = {
  '#Verdicts': (row: WinRow) => whole(row.verdicts),
  '#Calls': (row: WinRow) => whole(row.calls),
  '#Won': (row: WinRow) => shareText(row.win_rate, row.reached),
  '#95 % interval': (row: WinRow) => ends(row, row.reached),
  '#Always BUY': (row: WinRow) => shareText(row.always_buy, row.reached),
  '#Always SELL': (row: WinRow) => shareText(row.always_sell, row.reached),
  '#Coin toss': (row: WinRow) => shareText(row.random, row.reached),
  '#Net, bp': (row: WinRow) => bps(row.net_mean_bps),
}

function coinPart(rows: readonly RecordCoin[]): Html {
  if (rows.length === 0) return html`<p>Nothing is decided yet.</p>`
  const models = new Set(rows.map((row) => row.model_version))
  const hasModels = models.size > 1
  return table(
    `All series of a coin together, beside the constants and a coin that is tossed${hasModels ? '' : `; model ${[...models][0]}`}`,
    coinTable(rows),
    {
      Coin: ({ coin }) => html`<a href="${address('/', { coin })}">${coin}</a>`,
      ...(hasModels && { Model: (row: WinRow) => row.model_version }),
      ...RATES,
      // The timeframes of a coin overlap.
      '#95 % interval': (row) => (row.series === 1 ? ends(row, row.reached) : ''),
    },
  )
}

function winRates(
  caption: string,
  rows: readonly TrackRecordRow[],
  names: Readonly<Record<string, (row: SeriesRow) => Content>>,
): Html {
  if (rows.length === 0) return html`<p>Nothing is decided yet.</p>`
  const shown = winRateTable(rows).map((row, place) => ({ ...row, to: rows[place]?.to ?? null }))
  return table(caption, shown, {
    ...names,
    ...RATES,
    '#t': ({ t }) => (t === null ? '—' : t.toFixed(1)),
    To: ({ to }) => to !== null && time(to),
  })
}

type SeriesRow = ReturnType<typeof winRateTable>[number]

const seriesOf = ({ exchange, coin, timeframe }: SeriesRow): Content =>
  exchange === null || coin === null
    ? timeframe
    : seriesLink({ exchange, coin, timeframe }, `${coin} ${timeframe}`)

const apartPart = (rows: readonly TrackRecordRow[]): Html =>
  table('Not among the figures above, and why', undecidedTable(rows), {
    Timeframe: (row) => row.timeframe,
    Model: (row) => row.model_version,
    '#Reached no barrier': (row) => whole(row.reached_no_barrier),
    '#Bars missing': (row) => whole(row.bars_missing),
    '#Recorded late': (row) => whole(row.recorded_late),
    '#Bars without a verdict': (row) => whole(row.bars_without_verdict),
  })
