import type { Candle } from '../../../contracts/candle.ts'
import { isoTime } from '../../../contracts/iso-time.ts'
import type { Series } from '../../../contracts/series.ts'
import type { HistoryRow } from '../../../contracts/series-history.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, timeframeMs } from '../../../contracts/timeframes.ts'
import { price, REGIME_WORDS } from '../components.ts'
import { type Html, html } from '../html.ts'
import { rangeOf, rounded, scale, ticks } from '../scale.ts'

const [WIDTH, HEIGHT] = [960, 440] as const
const PLOT = { left: 8, right: WIDTH - 70, top: 14, bottom: HEIGHT - 100 } as const
const VOLUME = { top: HEIGHT - 86, bottom: HEIGHT - 28 } as const
/** Calls whose barriers are drawn: more of them would hide the price. */
const BARRIERS = 6

type Scale = (value: number) => number

const atOf = (row: HistoryRow): number => Date.parse(row.bar_close)

/**
 * Candles with their volume, regimes as bands, calls as marks with the barriers of the newest, and the newest forecast
 * as a cone. A mark leads to its proof; the table beside the picture holds the same. Candles before the first verdict
 * are grey. The attributes of the picture are for the crosshair, which a script draws.
 *
 * @param rows oldest first
 * @param bars candles of the same stretch, and of before; without them the closes are drawn as a line
 * @returns nothing without rows and bars
 */
export function seriesChart(
  { exchange, coin, timeframe }: Series,
  rows: readonly HistoryRow[],
  bars: readonly Candle[] = [],
): Html {
  if (rows.length === 0 && bars.length === 0) return html``
  const newest = rows.slice(-1)
  const length = timeframeMs(timeframe)
  const calls = rows.filter(({ call }) => call !== 'HOLD')
  const walled = calls.slice(-BARRIERS)
  const since = Math.min(...rows.slice(0, 1).map((row) => atOf(row) - length))
  const begin = Math.min(...bars.slice(0, 1).map(({ openTime }) => openTime), since)
  const end = Math.max(
    ...bars.slice(-1).map(({ openTime }) => openTime + length),
    ...[...walled, ...newest].map(({ valid_until }) => Date.parse(valid_until)),
  )
  const x = scale([begin, end], [PLOT.left, PLOT.right])
  const range = rangeOf([
    ...rows.map((row) => row.price),
    ...bars.flatMap(({ high, low }) => [high, low]),
    ...walled.flatMap((row) => [row.price * (1 + row.barrier), row.price * (1 - row.barrier)]),
    ...newest.flatMap(({ price: at, expected_range: cone }) =>
      cone === null ? [] : [at * (1 + cone.p10), at * (1 + cone.p90)],
    ),
  ])
  const y = scale(range, [PLOT.bottom, PLOT.top])
  const byClose = new Map(bars.map((bar) => [bar.openTime + length, bar]))
  const reachOf = (row: HistoryRow): readonly [number, number] => {
    const { low, high } = byClose.get(atOf(row)) ?? { low: row.price, high: row.price }
    return [low, high]
  }
  const name = `${coin} ${timeframe} on ${exchange}: ${Math.max(rows.length, bars.length)} bars, ${calls.length} calls`
  return html`<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="group" aria-label="${name}" data-bars="${crosshairData(bars)}" data-x="${begin} ${end} ${PLOT.left} ${PLOT.right}" data-y="${range[0]} ${range[1]} ${PLOT.bottom} ${PLOT.top}">${regimes(rows, length, x)}${axes(range, [begin, end], x, y)}${newest.map((row) => forecast(row, x, y))}${walled.map((row) => barriers(row, x, y))}${bars.length > 0 ? candles(bars, since, length, x, y) : closes(rows, x, y)}${calls.map((row) => mark(row, x(atOf(row)), reachOf(row).map(y)))}</svg>`
}

/** Open time, open, high, low, close and volume of each candle, as the script of the page reads them. */
const crosshairData = (bars: readonly Candle[]): string =>
  JSON.stringify(
    bars.map(({ openTime, open, high, low, close, volume }) => [openTime, open, high, low, close, volume]),
  )

const regimes = (rows: readonly HistoryRow[], length: number, x: Scale): readonly Html[] =>
  bandsOf(rows).map(({ regime, from, to }) => {
    const left = x(from - length)
    return html`<rect class="r-${regime}" x="${left}" y="${PLOT.top}" width="${Math.max(0.5, rounded(x(to) - left))}" height="${PLOT.bottom - PLOT.top}"><title>${REGIME_WORDS[regime]}</title></rect>`
  })

function axes(
  range: readonly [number, number],
  [begin, end]: readonly [number, number],
  x: Scale,
  y: Scale,
): readonly Html[] {
  const rules = ticks(range, 8).map(
    (value) =>
      html`<path class="rule" d="M${PLOT.left} ${y(value)}H${PLOT.right}"/><text x="${PLOT.right + 6}" y="${y(value) + 4}">${price(value)}</text>`,
  )
  const dates = datesOf(begin, end).map(
    ({ at, text }) => html`<text x="${x(at)}" y="${HEIGHT - 8}" text-anchor="middle">${text}</text>`,
  )
  return [...rules, ...dates]
}

/** The prices that are expected: four of five cases within the outer cone, every second within the inner one. */
function forecast(
  { price: at, bar_close: from, valid_until: until, expected_range: range }: HistoryRow,
  x: Scale,
  y: Scale,
): Html | undefined {
  if (range === null) return undefined
  const { p10, p25, p50, p75, p90 } = range
  const [left, right] = [x(Date.parse(from)), x(Date.parse(until))]
  const level = (share: number): number => y(at * (1 + share))
  const cone = (low: number, high: number, words: string) =>
    html`<path class="cone" d="M${left} ${y(at)}L${right} ${level(high)}V${level(low)}Z"><title>${words}: ${price(at * (1 + low))} to ${price(at * (1 + high))}</title></path>`
  return html`${cone(p10, p90, 'In four of five cases')}${cone(p25, p75, 'In every second case')}<path class="ideal" d="M${left} ${y(at)}L${right} ${level(p50)}"/>`
}

function barriers(row: HistoryRow, x: Scale, y: Scale): Html {
  const [from, to] = [x(atOf(row)), x(Date.parse(row.valid_until))]
  const level = (sign: number) => y(row.price * (1 + sign * row.barrier))
  return html`<path class="barrier" d="M${from} ${level(1)}H${to}M${from} ${level(-1)}H${to}"/>`
}

const closes = (rows: readonly HistoryRow[], x: Scale, y: Scale): Html =>
  html`<polyline class="line" points="${rows.map((row) => `${x(atOf(row))},${y(row.price)}`).join(' ')}"/>`

/**
 * Candles and volumes, each kind as one path: a page of 300 bars stays light.
 *
 * @param since open of the first bar with a verdict: those before are grey
 */
function candles(
  bars: readonly Candle[],
  since: number,
  length: number,
  x: Scale,
  y: Scale,
): readonly Html[] {
  const width = Math.max(1, rounded(0.7 * (x(length) - x(0))))
  const most = Math.max(...bars.map(({ volume }) => volume), 1e-12)
  const height = scale([0, most], [0, VOLUME.bottom - VOLUME.top])
  const kinds = new Map<string, { prices: string; volumes: string }>()
  for (const bar of bars) {
    const kind = `${bar.close >= bar.open ? 'up' : 'down'}${bar.openTime < since ? ' before' : ''}`
    const { prices, volumes } = kinds.get(kind) ?? { prices: '', volumes: '' }
    const middle = x(bar.openTime + length / 2)
    const left = rounded(middle - width / 2)
    const [top, bottom] = [y(Math.max(bar.open, bar.close)), y(Math.min(bar.open, bar.close))]
    kinds.set(kind, {
      prices: `${prices}M${middle} ${y(bar.high)}V${y(bar.low)}M${left} ${top}h${width}v${Math.max(1, rounded(bottom - top))}h-${width}z`,
      volumes: `${volumes}M${left} ${VOLUME.bottom}v-${height(bar.volume)}h${width}V${VOLUME.bottom}z`,
    })
  }
  return [...kinds].map(
    ([kind, { prices, volumes }]) =>
      html`<path class="${kind}" d="${prices}"/><path class="${kind} volume" d="${volumes}"/>`,
  )
}

/** A triangle, up for BUY and below the bar, down for SELL and above it; filled unless it was lost. */
function mark(row: HistoryRow, x: number, [low = 0, high = 0]: readonly number[]): Html {
  const isBuy = row.call === 'BUY'
  const [tip, foot] = isBuy ? [low + 4, low + 14] : [high - 4, high - 14]
  const result = row.outcome?.result ?? (row.is_open ? 'open' : 'not labelled yet')
  const about = `${row.call} ${row.confidence} %, ${row.bar_close.slice(0, 16).replace('T', ' ')}: ${result}`
  return html`<a href="/verify/${row.verdict_id}" aria-label="${about}"><path class="mark ${isBuy ? 'up' : 'down'}${row.outcome?.result === 'lost' && ' hollow'}" d="M${x} ${rounded(tip)}L${rounded(x - 5)} ${rounded(foot)}H${rounded(x + 5)}Z"><title>${about}</title></path></a>`
}

/** Size of {@link sparkline}. */
export const SPARK = { width: 120, height: 28 } as const

/** The closes of a series as a line, for a row of a table; in the colours of the reader's theme. @param prices oldest first */
export function sparkline(prices: readonly number[]): Html {
  const { width, height } = SPARK
  const x = scale([0, Math.max(1, prices.length - 1)], [1, width - 1])
  const y = scale(rangeOf(prices), [height - 1, 1])
  const isUp = (prices.at(-1) ?? 0) >= (prices[0] ?? 0)
  const [light, dark] = isUp ? ['#0b6b50', '#52cfa2'] : ['#a5331c', '#ff9478']
  const points = prices.map((value, index) => `${x(index)},${y(value)}`).join(' ')
  return html`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"><style>polyline{fill:none;stroke:${light};stroke-width:1.5}@media(prefers-color-scheme:dark){polyline{stroke:${dark}}}</style><polyline points="${points}"/></svg>`
}

/** Stretches of one regime; each ends with the bar before the next one's first. */
export function bandsOf(rows: readonly HistoryRow[]) {
  const bands: { regime: HistoryRow['regime']; from: number; to: number }[] = []
  for (const row of rows) {
    const band = bands.at(-1)
    if (band?.regime === row.regime) band.to = atOf(row)
    else bands.push({ regime: row.regime, from: atOf(row), to: atOf(row) })
  }
  return bands
}

/** Marks of the time axis: hours within days, days within months. */
function datesOf(from: number, to: number): { at: number; text: string }[] {
  const hours = [1, 3, 6, 12, 24, 48, 96, 168, 336, 720].map((count) => count * HOUR_MS)
  const steps = [MINUTE_MS, 5 * MINUTE_MS, 15 * MINUTE_MS, ...hours]
  const step = steps.find((one) => (to - from) / one <= 8) ?? 90 * DAY_MS
  const all: { at: number; text: string }[] = []
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
    const text = isoTime(at)
    all.push({ at, text: step >= DAY_MS || at % DAY_MS === 0 ? text.slice(5, 10) : text.slice(11, 16) })
  }
  return all.slice(0, 12)
}
