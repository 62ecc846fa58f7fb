import type { RecordMonth } from '../../contracts/record-month.ts'
import { FEWEST_FOR_PERCENT } from '../../contracts/share-text.ts'
import type { TrackRecordRow } from '../../contracts/track-record-row.ts'
import { wilsonInterval } from '../../contracts/wilson-interval.ts'
import { percent, whole } from './components.ts'
import { type Html, html } from './html.ts'
import { rangeOf, rounded, scale, ticks } from './scale.ts'

export type ReliabilityBin = ReturnType<typeof reliabilityTable>[number]

/**
 * The probabilities beside the outcomes, by percent and over all rows. Windows of most races overlap, so the 95 % interval
 * stands on as many races as do not.
 */
export function reliabilityTable(rows: readonly Pick<TrackRecordRow, 'reliability'>[]) {
  const bins = new Map<number, Record<'from' | 'to' | 'races' | 'non_overlapping' | 'wins' | 'sum', number>>()
  for (const { from, to, races, non_overlapping, said, happened } of rows.flatMap((row) => row.reliability)) {
    const bin = bins.get(from) ?? { from, to, races: 0, non_overlapping: 0, wins: 0, sum: 0 }
    bin.races += races
    bin.non_overlapping += non_overlapping
    bin.wins += Math.round(happened * races)
    bin.sum += said * races
    bins.set(from, bin)
  }
  return [...bins.values()]
    .toSorted((a, b) => a.from - b.from)
    .map(({ sum, ...bin }) => {
      const happened = bin.wins / bin.races
      const { low = 0, high = 1 } = wilsonInterval(happened * bin.non_overlapping, bin.non_overlapping) ?? {}
      return { ...bin, said: sum / bin.races, happened, low, high }
    })
}

/** Months over all timeframes and models that are there, oldest first. */
export function pooledMonths(rows: readonly RecordMonth[]) {
  const months = new Map<string, Omit<RecordMonth, 'model_version' | 'timeframe'>>()
  for (const { model_version: _model, timeframe: _timeframe, ...row } of rows) {
    const before = months.get(row.month)
    if (before === undefined) months.set(row.month, row)
    else {
      const sums = Object.entries(row).map(([name, value]) => {
        const sum = typeof value === 'number' ? value + Number(before[name as keyof typeof before]) : value
        return [name, sum]
      })
      months.set(row.month, Object.fromEntries(sums) as typeof before)
    }
  }
  return [...months.values()].toSorted((a, b) => (a.month < b.month ? -1 : 1))
}

const SIZE = 380
/** Races that do not overlap, below which an interval is as wide as the picture. */
const FEWEST_FOR_DOT = 30
const BOX = { left: 46, right: SIZE - 12, top: 12, bottom: SIZE - 40 } as const

/** Share that came true of a percent: a count where fewer than 100 of its races are independent. */
export const happenedText = ({ happened, races, wins, non_overlapping: apart }: ReliabilityBin): string =>
  apart < FEWEST_FOR_PERCENT ? `${whole(wins)} of ${whole(races)}` : percent(happened)

/**
 * The forecast against the outcome: on the dashed line both are the same. Whiskers are 95 % intervals. Bins of few races
 * have no dot; the table beside the picture has them.
 */
export function reliabilityChart(bins: readonly ReliabilityBin[]): Html {
  const shown = bins.filter((bin) => bin.non_overlapping >= FEWEST_FOR_DOT)
  const most = Math.max(0.6, ...shown.map(({ high, said }) => Math.max(high, said)))
  const least = Math.min(0.45, ...shown.map(({ low }) => low))
  const range = [Math.max(0, least - 0.02), Math.min(1, most + 0.02)] as const
  const said = [0.495, Math.max(0.6, ...shown.map((bin) => bin.said)) + 0.01] as const
  const x = scale(said, [BOX.left, BOX.right])
  const y = scale(range, [BOX.bottom, BOX.top])
  const inside = (value: number): number => Math.min(BOX.bottom, Math.max(BOX.top, y(value)))
  const rules = ticks(range, 5).map(
    (value) =>
      html`<path class="rule" d="M${BOX.left} ${y(value)}H${BOX.right}"/><text x="${BOX.left - 6}" y="${y(value) + 4}" text-anchor="end">${rounded(100 * value)} %</text>`,
  )
  const names = ticks(said, 5).map(
    (value) =>
      html`<text x="${x(value)}" y="${BOX.bottom + 16}" text-anchor="middle">${rounded(100 * value)} %</text>`,
  )
  const largest = Math.max(1, ...shown.map(({ races }) => races))
  const dots = shown.map((bin) => {
    const { said: at, happened, low, high, races } = bin
    const radius = Math.round(10 * (2.5 + 5 * Math.sqrt(races / largest))) / 10
    const about = `said ${percent(at)}, happened ${happenedText(bin)}; ${whole(bin.non_overlapping)} of ${whole(races)} do not overlap`
    return html`<g><path class="whisker" d="M${x(at)} ${inside(low)}V${inside(high)}"/><circle class="dot" cx="${x(at)}" cy="${inside(happened)}" r="${radius}"><title>${about}</title></circle></g>`
  })
  return html`<svg viewBox="0 0 ${SIZE} ${SIZE}" role="img" aria-label="Reliability: what was said against what happened, ${shown.length} bins">${rules}${names}<path class="ideal" d="M${x(said[0])} ${y(said[0])}L${x(said[1])} ${inside(said[1])}"/>${dots}<text x="${(BOX.left + BOX.right) / 2}" y="${SIZE - 6}" text-anchor="middle">said</text></svg>`
}

const [WIDTH, HEIGHT] = [960, 320] as const
const PLOT = { left: 64, right: WIDTH - 150, top: 14, bottom: HEIGHT - 28 } as const

/** Lines of the equity chart, in the order of their colours. */
export const EQUITY_LINES = [
  ['net_bps', 'calls'],
  ['always_buy_bps', 'always BUY'],
  ['always_sell_bps', 'always SELL'],
  ['random_bps', 'a coin'],
] as const satisfies readonly (readonly [keyof RecordMonth, string])[]

interface MonthLine {
  readonly text: string
  /** Percent; the first is of the beginning, before all months. */
  readonly points: readonly (number | undefined)[]
}

const lastOf = ({ points }: MonthLine): number => points.findLast((point) => point !== undefined) ?? 0

/** Lines over months. @param ideals heights of dashed lines */
function monthsChart(
  months: readonly Pick<RecordMonth, 'month'>[],
  about: string,
  lines: readonly MonthLine[],
  ideals: readonly number[] = [],
): Html {
  const range = rangeOf([
    ...ideals,
    ...lines.flatMap(({ points }) => points.filter((one) => one !== undefined)),
  ])
  const x = scale([0, months.length], [PLOT.left, PLOT.right])
  const y = scale(range, [PLOT.bottom, PLOT.top])
  const rules = ticks(range, 5).map(
    (value) =>
      html`<path class="rule" d="M${PLOT.left} ${y(value)}H${PLOT.right}"/><text x="${PLOT.left - 6}" y="${y(value) + 4}" text-anchor="end">${value} %</text>`,
  )
  const dashed = ideals.map(
    (value) => html`<path class="ideal" d="M${PLOT.left} ${y(value)}H${PLOT.right}"/>`,
  )
  const every = Math.max(1, Math.ceil(months.length / 8))
  const names = months.flatMap(({ month }, index) =>
    index % every === 0
      ? [html`<text x="${x(index + 1)}" y="${HEIGHT - 8}" text-anchor="middle">${month}</text>`]
      : [],
  )
  const ends = placed(lines.map((line) => y(lastOf(line))))
  const drawn = lines.map((line, index) => {
    const path = line.points.flatMap((value, at) => (value === undefined ? [] : [`${x(at)},${y(value)}`]))
    return html`<polyline class="line c${index + 1}" points="${path.join(' ')}"/><text x="${PLOT.right + 8}" y="${(ends[index] ?? 0) + 4}">${line.text} ${rounded(lastOf(line))} %</text>`
  })
  const told = lines.map((line) => `${line.text} ${rounded(lastOf(line))} %`).join(', ')
  return html`<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${about} over ${months.length} months: ${told}">${rules}${dashed}${names}${drawn}</svg>`
}

/** The net result of the calls since the first month that has some, beside three baselines on the same bars. */
export function equityChart(all: readonly EquityMonth[]): Html {
  const months = all.slice(
    Math.max(
      0,
      all.findIndex(({ calls }) => calls > 0),
    ),
  )
  const lines = EQUITY_LINES.map(([name, text]) => {
    let sum = 0
    return { text, points: [0, ...months.map((month) => (sum += month[name] / 100))] }
  })
  return monthsChart(months, 'Sums of returns after costs', lines)
}

/** How often prices ended within the ranges that were foretold; a month with few forecasts has no point. */
export function coverageChart(months: readonly CoverageMonth[]): Html {
  const line = (text: string, within: 'within_80' | 'within_50'): MonthLine => {
    const share = ({ forecasts, [within]: count }: CoverageMonth) =>
      forecasts < FEWEST_FOR_PERCENT ? undefined : (100 * count) / forecasts
    return { text, points: [undefined, ...months.map(share)] }
  }
  const lines = [line('of 80 %', 'within_80'), line('of 50 %', 'within_50')]
  return monthsChart(months, 'Prices that ended within their range', lines, [80, 50])
}

export type CoverageMonth = Pick<RecordMonth, 'month' | 'forecasts' | 'within_80' | 'within_50'>
export type EquityMonth = Pick<
  RecordMonth,
  'month' | 'calls' | 'net_bps' | 'always_buy_bps' | 'always_sell_bps' | 'random_bps'
>

/** Heights of labels, moved so far apart that none covers another. */
function placed(heights: readonly number[]): number[] {
  const order = heights.map((height, index) => ({ height, index })).toSorted((a, b) => a.height - b.height)
  let last = Number.NEGATIVE_INFINITY
  const result: number[] = []
  for (const { height, index } of order) {
    last = Math.max(height, last + 14)
    result[index] = last
  }
  return result
}
