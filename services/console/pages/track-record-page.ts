import type { RecordCoin, RecordCoinsAnswer } from '../../../contracts/record-coin.ts'
import type { RecordMonth } from '../../../contracts/record-month.ts'
import { TIMEFRAMES } from '../../../contracts/timeframes.ts'
import type { TrackRecordAnswer, TrackRecordRow } from '../../../contracts/track-record-row.ts'
import { wilsonInterval } from '../../../contracts/wilson-interval.ts'
import { input, refusalNote, select } from './forms.ts'
import { type Content, type Html, html } from './html.ts'
import type { Page } from './layout.ts'
import type { Refusal } from './own-client.ts'
import { address, note, pager, percent, seriesLink, table, tiles, time, whole } from './parts.ts'
import { equityChart, reliabilityChart } from './record-charts.ts'
import { pooledMonths, pooledReliability } from './track-record-figures.ts'

export interface TrackRecordLook {
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
const rate = (value: number | null): string => (value === null ? '—' : percent(value))

/** How good the calls were, beside what anybody could have done without them. */
export function trackRecordPage({ pooled, months, coins, series, query, refused }: TrackRecordLook): Page {
  const rows = byTimeframe(pooled.rows)
  const reached = sum(rows, (row) => row.non_overlapping.reached)
  const wins = sum(rows, (row) => row.non_overlapping.wins)
  const trades = sum(rows, (row) => row.non_overlapping.trades)
  const net = sum(rows, (row) => (row.non_overlapping.net_mean_bps ?? 0) * row.non_overlapping.trades)
  const brierRaces = sum(rows, (row) => row.brier_races)
  const brier = sum(rows, (row) => (row.brier ?? 0) * row.brier_races)
  const interval = wilsonInterval(wins, reached)
  const csv = (figure: string) =>
    html`<a href="${address(`/track-record/${figure}.csv`, { timeframe: query.timeframe, coin: figure === 'series' ? query.coin : undefined })}">CSV</a>`
  return {
    title: 'Track record',
    description:
      'What became of every recorded verdict: calibration, win rate and equity after costs beside baselines.',
    at: '/track-record',
    body: html`<h1>How good the calls were</h1>
<p class="lead">Every recorded verdict whose window has closed is counted, HOLD included, and none is dropped. Returns have 12 basis points a round trip taken off. <a href="/docs/track-record">How it is measured</a></p>
${refusalNote(refused)}
${choice(query, refused)}
${
  rows.length === 0
    ? note(
        html`<p>Nothing is decided yet. The first outcome comes when the first window closes: 15 minutes after the first verdict at 1m, eight hours at 1h.</p>`,
      )
    : html`${tiles([
        [
          'Calls that won',
          interval === undefined ? '—' : percent(interval.value),
          interval === undefined
            ? 'none reached a barrier yet'
            : html`${whole(wins)} of ${whole(reached)}; 95 %: ${percent(interval.low)} to ${percent(interval.high)}`,
        ],
        [
          'Return after costs',
          trades === 0 ? '—' : `${bps(net / trades)} bp`,
          html`mean of ${whole(trades)} calls that do not overlap`,
        ],
        [
          'Brier score',
          brierRaces === 0 ? '—' : (brier / brierRaces).toFixed(4),
          'a coin has 0.2500; less is better',
        ],
        [
          'Verdicts decided',
          whole(sum(rows, (row) => row.verdicts)),
          html`${whole(sum(rows, (row) => row.races.timeout))} reached no barrier in time`,
        ],
      ])}
<h2 id="reliability">Does the confidence hold?</h2>
<div class="split"><figure>${reliabilityChart(pooledReliability(rows))}<figcaption>Said against happened; on the dashed line both are the same. Whiskers: 95 % intervals (Wilson). ${csv('reliability')}</figcaption></figure>
<div>${reliabilityRows(rows)}</div></div>
<h2 id="equity">Equity after costs</h2>
${equityPart(months, csv('equity'), csv('months'))}
<h2 id="win-rate">By timeframe and model</h2>
${winRates('Calls that do not overlap, beside the constants and a coin on the same bars', rows, (row) => html`${row.timeframe}`, true)}
<p class="dim">${csv('win-rate')}</p>
<h2 id="coins">By coin</h2>
${coinPart(coins.rows)}
<p class="dim">${csv('coins')}</p>
${pager(query.coins === undefined ? undefined : `${address('/track-record', { ...query, coins: undefined })}#coins`, coins.next === null ? undefined : `${address('/track-record', { ...query, coins: coins.next })}#coins`)}
<h2 id="by-series">By series</h2>
${winRates('The same for each series', series.rows, (row) => (row.coin !== null && row.exchange !== null ? seriesLink({ exchange: row.exchange, coin: row.coin, timeframe: row.timeframe }, `${row.coin} ${row.timeframe}`) : row.timeframe), false)}
<p class="dim">${csv('series')}</p>
${pager(query.after === undefined ? undefined : `${address('/track-record', { ...query, after: undefined })}#by-series`, series.next === null ? undefined : `${address('/track-record', { ...query, after: series.next })}#by-series`)}
<h2 id="undecided">What does not count</h2>
${apartPart(rows)}
<p class="dim">${csv('undecided')}</p>`
}
<p class="dim noprint">As data: <a href="/api/track-record">JSON</a>, <a href="/api/track-record/months">months</a>, <a href="/api/track-record/coins">coins</a>, <a href="/docs/replay">every verdict</a>. Counted up to position ${pooled.as_of}.</p>`,
  }
}

const byTimeframe = (rows: readonly TrackRecordRow[]): TrackRecordRow[] =>
  rows.toSorted((a, b) => TIMEFRAMES.indexOf(a.timeframe) - TIMEFRAMES.indexOf(b.timeframe))

const sum = (rows: readonly TrackRecordRow[], value: (row: TrackRecordRow) => number): number =>
  rows.reduce((all, row) => all + value(row), 0)

function choice({ timeframe = '', coin = '' }: TrackRecordLook['query'], refusal: Refusal | undefined): Html {
  const state = { typed: { timeframe, coin }, refusal }
  return html`<form method="get" action="/track-record" class="row noprint">
${select(state, 'timeframe', [['', 'all'], ...TIMEFRAMES.map((one) => [one, one] as const)], { label: 'Timeframe' })}
${input(state, 'coin', { label: 'Coin', maxLength: 20, isCode: true })}
<button type="submit">Show</button></form>`
}

function reliabilityRows(rows: readonly TrackRecordRow[]): Html {
  return table(
    'The same as a table',
    [
      'Said',
      { name: 'Races', isNumber: true },
      { name: 'Happened', isNumber: true },
      { name: '95 % interval', isNumber: true },
    ],
    pooledReliability(rows).map(({ said, races, wins }) => {
      const interval = wilsonInterval(wins, races)
      return [
        percent(said),
        whole(races),
        rate(interval?.value ?? null),
        interval === undefined ? '' : `${percent(interval.low)}–${percent(interval.high)}`,
      ]
    }),
  )
}

function equityPart(rows: readonly RecordMonth[], csv: Html, byMonth: Html): Html {
  const months = pooledMonths(rows)
  if (months.length === 0) return html`<p>No call is decided yet.</p>`
  const percentOf = (value: number): string => `${bps(value / 100)} %`
  return html`<figure class="wide">${equityChart(months)}<figcaption>Sums of the returns of calls that do not overlap, one unit each, nothing compounded, after costs. ${csv}</figcaption></figure>
<details><summary>By month</summary>${table(
    'What the calls of each month came to, percent of one unit',
    [
      'Month',
      { name: 'Calls', isNumber: true },
      { name: 'Won', isNumber: true },
      { name: 'Calls made', isNumber: true },
      { name: 'Always BUY', isNumber: true },
      { name: 'Always SELL', isNumber: true },
      { name: 'A coin', isNumber: true },
    ],
    months.map((one) => [
      one.month,
      whole(one.calls),
      rate(one.reached === 0 ? null : one.wins / one.reached),
      percentOf(one.net_bps),
      percentOf(one.always_buy_bps),
      percentOf(one.always_sell_bps),
      percentOf(one.random_bps),
    ]),
  )}<p class="dim">${byMonth}</p></details>`
}

function coinPart(rows: readonly RecordCoin[]): Html {
  if (rows.length === 0) return html`<p>Nothing is decided yet.</p>`
  const number = (text: string) => ({ name: text, isNumber: true })
  const models = new Set(rows.map((row) => row.model_version))
  const hasModels = models.size > 1
  return table(
    `All series of a coin together, beside the constants and a coin that is tossed${hasModels ? '' : `; model ${[...models][0]}`}`,
    [
      'Coin',
      ...(hasModels ? ['Model'] : []),
      number('Verdicts'),
      number('Calls'),
      number('Won'),
      number('95 % interval'),
      number('Always BUY'),
      number('Always SELL'),
      number('Coin toss'),
      number('Net, bp'),
    ],
    rows.map((row) => [
      html`<a href="${address('/', { coin: row.coin })}">${row.coin}</a>`,
      ...(hasModels ? [row.model_version] : []),
      whole(row.verdicts),
      whole(row.calls),
      rate(row.win_rate?.value ?? null),
      row.win_rate === null ? '' : `${percent(row.win_rate.low)}–${percent(row.win_rate.high)}`,
      rate(row.always_buy),
      rate(row.always_sell),
      rate(row.random),
      bps(row.net_mean_bps),
    ]),
  )
}

function winRates(
  caption: string,
  rows: readonly TrackRecordRow[],
  name: (row: TrackRecordRow) => Content,
  hasModel: boolean,
): Html {
  if (rows.length === 0) return html`<p>Nothing is decided yet.</p>`
  const number = (text: string) => ({ name: text, isNumber: true })
  return table(
    caption,
    [
      hasModel ? 'Timeframe' : 'Series',
      ...(hasModel ? ['Model'] : []),
      number('Verdicts'),
      number('Calls'),
      number('Won'),
      number('95 % interval'),
      number('Always BUY'),
      number('Always SELL'),
      number('Coin toss'),
      number('Net, bp'),
      number('t'),
      'To',
    ],
    rows.map((row) => {
      const { non_overlapping: apart, baselines } = row
      return [
        name(row),
        ...(hasModel ? [row.model_version] : []),
        whole(row.verdicts),
        whole(apart.calls),
        rate(apart.win_rate?.value ?? null),
        apart.win_rate === null ? '' : `${percent(apart.win_rate.low)}–${percent(apart.win_rate.high)}`,
        rate(baselines.always_buy.win_rate),
        rate(baselines.always_sell.win_rate),
        rate(baselines.random.win_rate),
        bps(apart.net_mean_bps),
        apart.t === null ? '—' : apart.t.toFixed(1),
        row.to === null ? '' : time(row.to),
      ]
    }),
  )
}

function apartPart(rows: readonly TrackRecordRow[]): Html {
  const number = (text: string) => ({ name: text, isNumber: true })
  return table(
    'Not among the figures above, and why',
    [
      'Timeframe',
      'Model',
      number('Reached no barrier'),
      number('Bars missing'),
      number('Recorded late'),
      number('Bars without a verdict'),
    ],
    rows.map((row) => [
      row.timeframe,
      row.model_version,
      whole(row.races.timeout),
      whole(row.races.incomplete),
      whole(Object.values(row.recorded_late).reduce((a, b) => a + b, 0)),
      whole(Object.values(row.bars_missed).reduce((a, b) => a + b, 0)),
    ]),
  )
}
