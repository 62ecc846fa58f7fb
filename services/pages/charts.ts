import type { RecordMonth, TrackRecordRow } from '../../contracts/answers/track-record.ts'
import { FEWEST_FOR_PERCENT, wilsonInterval } from '../../contracts/domain/statistics.ts'
import { percent, sum, whole } from './components.ts'
import { type Content, type Html, html } from './html.ts'

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
export function reliabilityTable(rows: readonly Pick<TrackRecordRow, 'reliability'>[]) {
  const all = rows.flatMap((row) => row.reliability)
  const byPercent = [...Map.groupBy(all, ({ from }) => from)].toSorted(([a], [b]) => a - b)
  return byPercent.map(([, bins]) => {
    const races = sum(bins, (bin) => bin.races)
    const apart = sum(bins, (bin) => bin.non_overlapping)
    const wins = sum(bins, (bin) => Math.round(bin.happened * bin.races))
    const { low = 0, high = 1 } = wilsonInterval((wins / races) * apart, apart) ?? {}
    const said = sum(bins, (bin) => bin.said * bin.races) / races
    return { races, non_overlapping: apart, wins, said, happened: wins / races, low, high }
  })
}

/** The share that came true: a count if fewer than 100 of the races are independent. */
export const happenedText = ({ happened, races, wins, non_overlapping: apart }: ReliabilityBin): string =>
  apart < FEWEST_FOR_PERCENT ? `${whole(wins)} of ${whole(races)}` : percent(happened)

const picture = ([width, height]: Range, about: string, parts: Content): Html =>
  html`<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${about}">${parts}</svg>`
const mark = (x: number, y: number, text: string, anchor = 'middle'): Html =>
  html`<text x="${x}" y="${y}" text-anchor="${anchor}">${text}</text>`

/** A rule for each mark of the vertical axis. */
const rules = ([left, right]: Range, range: Range, y: (value: number) => number): Html[] =>
  ticks(range, 5).map(
    (value) =>
      html`<path class="rule" d="M${left} ${y(value)}H${right}"/>${mark(left - 6, y(value) + 4, percent(value), 'end')}`,
  )

/** With fewer independent races an interval is as wide as the picture. */
const FEWEST_FOR_DOT = 30

/** Forecast against outcome: on the dashed line both are the same. Whiskers are 95 % intervals; small bins have no dot. */
export function reliabilityChart(bins: readonly ReliabilityBin[]): Html {
  const shown = bins.filter((bin) => bin.non_overlapping >= FEWEST_FOR_DOT)
  const said = rangeOf([0.5, 0.6, ...shown.map((bin) => bin.said)])
  const happened = rangeOf([0.45, 0.6, ...shown.flatMap((bin) => [bin.low, bin.high, bin.said])])
  const [left, right, bottom] = [46, 368, 340]
  const [x, y] = [scale(said, [left, right]), scale(happened, [bottom, 12])]
  const largest = Math.max(1, ...shown.map(({ races }) => races))
  const dots = shown.map((bin) => {
    const at = x(bin.said)
    const title = `said ${percent(bin.said)}, happened ${happenedText(bin)}; ${whole(bin.non_overlapping)} of ${whole(bin.races)} do not overlap`
    return html`<g><path class="whisker" d="M${at} ${y(bin.low)}V${y(bin.high)}"/><circle class="dot" cx="${at}" cy="${y(bin.happened)}" r="${rounded(2.5 + 5 * Math.sqrt(bin.races / largest))}"><title>${title}</title></circle></g>`
  })
  const names = ticks(said, 5).map((value) => mark(x(value), bottom + 16, percent(value)))
  const ideal = html`<path class="ideal" d="M${x(said[0])} ${y(said[0])}L${x(said[1])} ${y(said[1])}"/>`
  const about = `Reliability: what was said against what happened, ${shown.length} bins`
  return picture([380, 380], about, [
    rules([left, right], happened, y),
    names,
    ideal,
    dots,
    mark(207, 374, 'said'),
  ])
}

const COUNTED = ['calls', 'forecasts', 'within_80', 'within_50'] as const
/** Returns that are drawn, with their names. */
const RETURNS = { net_bps: 'calls', always_buy_bps: 'always BUY', random_bps: 'a coin' } as const
const returns = Object.keys(RETURNS) as (keyof typeof RETURNS)[]
type Month = Pick<RecordMonth, 'month' | (typeof COUNTED)[number] | keyof typeof RETURNS>

/** Months over all timeframes and models, oldest first. */
export const pooledMonths = (rows: readonly Month[]): Month[] =>
  [...Map.groupBy(rows, ({ month }) => month)]
    .map(([month, all]) => {
      const totals = [...COUNTED, ...returns].map((name) => [name, sum(all, (row) => row[name])])
      return { month, ...Object.fromEntries(totals) } as Month
    })
    .toSorted((a, b) => (a.month < b.month ? -1 : 1))

/** The net result of the calls since the first month that has some, with two baselines on the same bars. */
export function equityChart(all: readonly Pick<Month, 'month' | 'calls' | keyof typeof RETURNS>[]): Html {
  const first = all.findIndex(({ calls }) => calls > 0)
  const months = all.slice(Math.max(0, first))
  const lines = returns.map((name) => {
    let total = 0
    // The first point precedes all months.
    const points = [0, ...months.map((month) => (total += month[name] / 10_000))]
    return { points, label: `${RETURNS[name]} ${percent(total)}` }
  })
  const [left, right, top] = [64, 790, 14]
  const range = rangeOf(lines.flatMap(({ points }) => points))
  const [x, y] = [scale([0, months.length], [left, right]), scale(range, [292, top])]
  const every = Math.max(1, Math.ceil(months.length / 8))
  const drawn = lines.map(({ points, label }, index) => {
    const path = points.map((value, at) => `${x(at)},${y(value)}`).join(' ')
    const legend = top + 16 * index + 8
    return html`<polyline class="line c${index + 1}" points="${path}"/><path class="line c${index + 1}" d="M${right + 8} ${legend}h14"/>${mark(right + 28, legend + 4, label, 'start')}`
  })
  const names = months.map(({ month }, index) => index % every === 0 && mark(x(index + 1), 312, month))
  const about = `Sums of returns after costs over ${months.length} months: ${lines.map(({ label }) => label).join(', ')}`
  return picture([960, 320], about, [rules([left, right], range, y), names, drawn])
}
