import type { Candle } from '../../../contracts/candle.ts'
import type { HistoryRow } from '../../../contracts/series-history.ts'
import { timeframeMs } from '../../../contracts/timeframes.ts'
import { type Html, html } from './html.ts'
import { price, REGIME_WORDS } from './parts.ts'
import { rangeOf, scale, ticks } from './scale.ts'

const [WIDTH, HEIGHT] = [960, 380] as const
const PLOT = { left: 8, right: WIDTH - 70, top: 14, bottom: HEIGHT - 28 } as const
/** Calls whose barriers are drawn: more of them would hide the price. */
const BARRIERS = 6

/**
 * The price of a series with its regimes as bands, its calls as marks, and the barriers of the newest calls. A mark
 * leads to its proof; what it says is in the table beside the picture as well.
 *
 * @param rows oldest first
 * @param bars candles of the same stretch; without them the closes are drawn as a line
 */
export function seriesChart(rows: readonly HistoryRow[], bars: readonly Candle[] = []): Html {
  const [first] = rows
  const last = rows.at(-1)
  if (first === undefined || last === undefined) return html``
  const length = timeframeMs(first.timeframe)
  const calls = rows.filter(({ call }) => call !== 'HOLD')
  const walled = calls.slice(-BARRIERS)
  const closes = rows.map((row) => Date.parse(row.bar_close))
  const end = Math.max(...closes, ...walled.map(({ valid_until }) => Date.parse(valid_until)))
  const x = scale([Math.min(...closes) - length, end], [PLOT.left, PLOT.right])
  const values = [
    ...rows.map((row) => row.price),
    ...bars.flatMap(({ high, low }) => [high, low]),
    ...walled.flatMap((row) => [row.price * (1 + row.barrier), row.price * (1 - row.barrier)]),
  ]
  const range = rangeOf(values)
  const y = scale(range, [PLOT.bottom, PLOT.top])
  const atOf = (row: HistoryRow): number => Date.parse(row.bar_close)

  const bands = bandsOf(rows).map(
    ({ regime, from, to }) =>
      html`<rect class="r-${regime}" x="${x(from - length)}" y="${PLOT.top}" width="${Math.max(0.5, Math.round(10 * (x(to) - x(from - length))) / 10)}" height="${PLOT.bottom - PLOT.top}"><title>${REGIME_WORDS[regime]}</title></rect>`,
  )
  const rules = ticks(range, 5).map(
    (value) =>
      html`<path class="rule" d="M${PLOT.left} ${y(value)}H${PLOT.right}"/><text x="${PLOT.right + 6}" y="${y(value) + 4}">${price(value)}</text>`,
  )
  const dates = datesOf(Math.min(...closes), end).map(
    ({ at, text }) => html`<text x="${x(at)}" y="${HEIGHT - 8}" text-anchor="middle">${text}</text>`,
  )
  const walls = walled.map((row) => {
    const [from, to] = [x(atOf(row)), x(Date.parse(row.valid_until))]
    const level = (sign: number) => y(row.price * (1 + sign * row.barrier))
    return html`<path class="barrier" d="M${from} ${level(1)}H${to}M${from} ${level(-1)}H${to}"/>`
  })
  const body =
    bars.length > 0
      ? bars.map((bar) => candle(bar, length, x, y))
      : html`<polyline class="line" points="${rows.map((row) => `${x(atOf(row))},${y(row.price)}`).join(' ')}"/>`
  const marks = calls.map((row) => mark(row, x(atOf(row)), y(row.price)))
  const { exchange, coin, timeframe } = first
  const name = `${coin} ${timeframe} on ${exchange}: ${rows.length} bars, ${calls.length} calls`
  return html`<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="group" aria-label="${name}">${bands}${rules}${dates}${walls}${body}${marks}</svg>`
}

function candle(bar: Candle, length: number, x: (at: number) => number, y: (at: number) => number): Html {
  const middle = x(bar.openTime + length / 2)
  const width = Math.max(1, Math.round(7 * (x(length) - x(0))) / 10)
  const [high, low] = [y(Math.max(bar.open, bar.close)), y(Math.min(bar.open, bar.close))]
  return html`<g class="${bar.close >= bar.open ? 'up' : 'down'}"><path d="M${middle} ${y(bar.high)}V${y(bar.low)}"/><rect x="${Math.round(10 * (middle - width / 2)) / 10}" y="${high}" width="${width}" height="${Math.max(1, Math.round(10 * (low - high)) / 10)}"/></g>`
}

/** A triangle, up for BUY and below the price, down for SELL and above it; filled unless it was lost. */
function mark(row: HistoryRow, x: number, y: number): Html {
  const isBuy = row.call === 'BUY'
  const [tip, foot] = isBuy ? [y + 7, y + 17] : [y - 7, y - 17]
  const round = (value: number) => Math.round(10 * value) / 10
  const result = row.outcome?.result ?? (row.is_open ? 'open' : 'not labelled yet')
  const about = `${row.call} ${row.confidence} %, ${row.bar_close.slice(0, 16).replace('T', ' ')}: ${result}`
  return html`<a href="/verify/${row.verdict_id}" aria-label="${about}"><path class="${isBuy ? 'up' : 'down'}${row.outcome?.result === 'lost' && ' hollow'}" d="M${x} ${round(tip)}L${round(x - 6)} ${round(foot)}H${round(x + 6)}Z"><title>${about}</title></path></a>`
}

/** Stretches of one regime; each ends with the bar before the next one's first. */
export function bandsOf(rows: readonly HistoryRow[]) {
  const bands: { regime: HistoryRow['regime']; from: number; to: number }[] = []
  for (const row of rows) {
    const at = Date.parse(row.bar_close)
    const band = bands.at(-1)
    if (band?.regime === row.regime) band.to = at
    else bands.push({ regime: row.regime, from: at, to: at })
  }
  return bands
}

const DAY_MS = 86_400_000

/** Marks of the time axis: hours within days, days within months. */
function datesOf(from: number, to: number): { at: number; text: string }[] {
  const steps = [60_000, 300_000, 900_000, 3_600_000, 10_800_000, 21_600_000, DAY_MS, 7 * DAY_MS, 30 * DAY_MS]
  const step = steps.find((one) => (to - from) / one <= 8) ?? 90 * DAY_MS
  const all: { at: number; text: string }[] = []
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
    const text = new Date(at).toISOString()
    all.push({ at, text: step >= DAY_MS || at % DAY_MS === 0 ? text.slice(5, 10) : text.slice(11, 16) })
  }
  return all.slice(0, 12)
}
