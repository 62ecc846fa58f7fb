import type { RecordMonth, TrackRecordRow } from '../../contracts/answers/track-record.ts'
import { FEWEST_FOR_PERCENT, wilsonInterval } from '../../contracts/domain/statistics.ts'
import { percent, sum, whole } from './components.ts'
import { type Html, html } from './html.ts'

type Range = readonly [from: number, to: number]

const rounded = (value: number): number => Math.round(10 * value) / 10

/** Maps values of a range to a length of the picture. */
export const scale =
  ([from, to]: Range, [left, right]: Range) =>
  (value: number): number =>
    rounded(left + (to === from ? 0.5 : (value - from) / (to - from)) * (right - left))

/** About `count` round values within a range. @example ticks([0, 1], 4) // [0, 0.25, 0.5, 0.75, 1] */
export function ticks([from, to]: Range, count: number): number[] {
  const rough = (to - from) / count
  if (!(rough > 0)) return [from]
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = ([1, 2, 2.5, 5].find((one) => one * power >= rough) ?? 10) * power
  const first = Math.ceil(from / step - 1e-9)
  const length = Math.floor(to / step + 1e-9) - first + 1
  return Array.from({ length }, (_, index) => Number(((first + index) * step).toPrecision(12)))
}

/** A range that holds all of some values, with a margin. */
function rangeOf(values: readonly number[]): Range {
  const [least, most] = [Math.min(...values), Math.max(...values)]
  const margin = 0.05 * (most - least || Math.abs(most) || 1)
  return [least - margin, most + margin]
}

/** The closes of a series as a line for a row of a table. @param prices oldest first */
export function sparkline(prices: readonly number[]): Html {
  if (prices.length === 0) return html``
  const x = scale([0, Math.max(1, prices.length - 1)], [1, 95])
  const y = scale(rangeOf(prices), [27, 1])
  const tone = (prices.at(-1) ?? 0) >= (prices[0] ?? 0) ? 'c2' : 'down'
  const points = prices.map((value, index) => `${x(index)},${y(value)}`).join(' ')
  return html`<svg class="spark" width="96" height="28" viewBox="0 0 96 28" aria-hidden="true"><polyline class="line ${tone}" points="${points}"/></svg>`
}

export type ReliabilityBin = ReturnType<typeof reliabilityTable>[number]

/**
 * Forecast and outcome by percent, over all rows. The windows of most races overlap, so the 95 % interval counts only
 * those that do not.
 */
export const reliabilityTable = (rows: readonly Pick<TrackRecordRow, 'reliability'>[]) =>
  [
    ...Map.groupBy(
      rows.flatMap((row) => row.reliability),
      ({ from }) => from,
    ),
  ]
    .toSorted(([a], [b]) => a - b)
    .map(([, bins]) => {
      const races = sum(bins, (bin) => bin.races)
      const apart = sum(bins, (bin) => bin.non_overlapping)
      const wins = sum(bins, (bin) => Math.round(bin.happened * bin.races))
      const { low = 0, high = 1 } = wilsonInterval((wins / races) * apart, apart) ?? {}
      const said = sum(bins, (bin) => bin.said * bin.races) / races
      return { races, non_overlapping: apart, wins, said, happened: wins / races, low, high }
    })

/** The share that came true: a count if fewer than 100 of the races are independent. */
export const happenedText = ({ happened, races, wins, non_overlapping: apart }: ReliabilityBin): string =>
  apart < FEWEST_FOR_PERCENT ? `${whole(wins)} of ${whole(races)}` : percent(happened)

/** A rule for each mark of the vertical axis. */
const rules = ({ left, right }: typeof PLOT, range: Range, y: (value: number) => number): Html[] =>
  ticks(range, 5).map(
    (value) =>
      html`<path class="rule" d="M${left} ${y(value)}H${right}"/><text x="${left - 6}" y="${y(value) + 4}" text-anchor="end">${rounded(100 * value)} %</text>`,
  )

const SIZE = 380
const SQUARE = { left: 46, right: SIZE - 12, top: 12, bottom: SIZE - 40 }
/** With fewer independent races an interval is as wide as the picture. */
const FEWEST_FOR_DOT = 30

/** Forecast against outcome: on the dashed line both are the same. Whiskers are 95 % intervals; small bins have no dot. */
export function reliabilityChart(bins: readonly ReliabilityBin[]): Html {
  const shown = bins.filter((bin) => bin.non_overlapping >= FEWEST_FOR_DOT)
  const most = Math.max(0.6, ...shown.map(({ high, said }) => Math.max(high, said)))
  const least = Math.min(0.45, ...shown.map(({ low }) => low))
  const range: Range = [Math.max(0, least - 0.02), Math.min(1, most + 0.02)]
  const said: Range = [0.495, Math.max(0.6, ...shown.map((bin) => bin.said)) + 0.01]
  const { left, right, top, bottom } = SQUARE
  const x = scale(said, [left, right])
  const y = scale(range, [bottom, top])
  const inside = (value: number): number => Math.min(bottom, Math.max(top, y(value)))
  const names = ticks(said, 5).map(
    (value) =>
      html`<text x="${x(value)}" y="${bottom + 16}" text-anchor="middle">${rounded(100 * value)} %</text>`,
  )
  const largest = Math.max(1, ...shown.map(({ races }) => races))
  const dots = shown.map((bin) => {
    const at = x(bin.said)
    const about = `said ${percent(bin.said)}, happened ${happenedText(bin)}; ${whole(bin.non_overlapping)} of ${whole(bin.races)} do not overlap`
    return html`<g><path class="whisker" d="M${at} ${inside(bin.low)}V${inside(bin.high)}"/><circle class="dot" cx="${at}" cy="${inside(bin.happened)}" r="${rounded(2.5 + 5 * Math.sqrt(bin.races / largest))}"><title>${about}</title></circle></g>`
  })
  return html`<svg viewBox="0 0 ${SIZE} ${SIZE}" role="img" aria-label="Reliability: what was said against what happened, ${shown.length} bins">${rules(SQUARE, range, y)}${names}<path class="ideal" d="M${x(said[0])} ${y(said[0])}L${x(said[1])} ${inside(said[1])}"/>${dots}<text x="${(left + right) / 2}" y="${SIZE - 6}" text-anchor="middle">said</text></svg>`
}

const EQUITY_LINES = [
  ['net_bps', 'calls'],
  ['always_buy_bps', 'always BUY'],
  ['random_bps', 'a coin'],
] as const
type EquityMonth = Pick<RecordMonth, 'month' | 'calls' | (typeof EQUITY_LINES)[number][0]>

const COUNTED = [
  ...EQUITY_LINES.map(([name]) => name),
  'calls',
  'forecasts',
  'within_80',
  'within_50',
] as const
export type MonthTotals = Pick<RecordMonth, 'month' | (typeof COUNTED)[number]>

/** Months over all timeframes and models, oldest first. */
export const pooledMonths = (rows: readonly MonthTotals[]): MonthTotals[] =>
  [...Map.groupBy(rows, ({ month }) => month)]
    .map(([month, all]) => {
      const totals = COUNTED.map((name) => [name, sum(all, (row) => row[name])])
      return { month, ...Object.fromEntries(totals) } as MonthTotals
    })
    .toSorted((a, b) => (a.month < b.month ? -1 : 1))

const [WIDTH, HEIGHT] = [960, 320] as const
const PLOT = { left: 64, right: WIDTH - 170, top: 14, bottom: HEIGHT - 28 }

/** The net result of the calls since the first month that has some, with two baselines on the same bars. */
export function equityChart(all: readonly EquityMonth[]): Html {
  const first = all.findIndex(({ calls }) => calls > 0)
  const months = all.slice(Math.max(0, first))
  const { left, right, top, bottom } = PLOT
  const lines = EQUITY_LINES.map(([name, text]) => {
    let total = 0
    // The first point precedes all months.
    const points = [0, ...months.map((month) => (total += month[name] / 10_000))]
    return { points, label: `${text} ${rounded(100 * total)} %` }
  })
  const range = rangeOf(lines.flatMap(({ points }) => points))
  const x = scale([0, months.length], [left, right])
  const y = scale(range, [bottom, top])
  const every = Math.max(1, Math.ceil(months.length / 8))
  const names = months.map(
    ({ month }, index) =>
      index % every === 0 &&
      html`<text x="${x(index + 1)}" y="${HEIGHT - 8}" text-anchor="middle">${month}</text>`,
  )
  const drawn = lines.map(({ points, label }, index) => {
    const path = points.map((value, at) => `${x(at)},${y(value)}`).join(' ')
    const legend = top + 16 * index + 8
    return html`<polyline class="line c${index + 1}" points="${path}"/><path class="line c${index + 1}" d="M${right + 8} ${legend}h14"/><text x="${right + 28}" y="${legend + 4}">${label}</text>`
  })
  const about = `Sums of returns after costs over ${months.length} months: ${lines.map(({ label }) => label).join(', ')}`
  return html`<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${about}">${rules(PLOT, range, y)}${names}${drawn}</svg>`
}
