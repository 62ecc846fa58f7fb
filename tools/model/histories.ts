import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { isTimeframe, type Timeframe, timeframeMs } from '../../contracts/domain/timeframes.ts'
import { LIMITS } from '../../contracts/limits.ts'

/** Coins and venues that the model was fitted and measured on. */
export const COINS: readonly string[] =
  '1000PEPE AAVE AVAX BCH BNB BTC DOGE DOT ENA ETH LINK LTC NEAR SOL SUI'.split(' ')
const VENUES = ['binance-usdm', 'binance-spot', 'okx-swap'] as const

/** Numbers of a bar, one after the other: open time, open, high, low, close, volume. */
export const BAR_NUMBERS = 6
/** A history ends if more bars than this are missing, as a series of the service does. */
const MOST_BARS_MISSING = 12
/** A history needs its warm-up and some windows. */
const FEWEST_BARS = LIMITS.warmUpBars + 100

/** The candles of one coin at one venue. */
export interface CandleFile {
  /** Breaks ties between files, so that the order of a folder shows in no figure. */
  readonly name: string
  readonly barMs: number
  readonly isSpot: boolean
  readonly bars: Float64Array
}

const FILE_NAME = /^([A-Z0-9]+?)(?:USDT)?-(\d+[mhd])(?:\.[a-z]+)?\.csv\.gz$/

/** Reads the candle files of a coin from folders that hold a folder for each venue. */
export function readCandleFiles(folders: readonly string[], coin: string): CandleFile[] {
  return folders.flatMap((folder) =>
    VENUES.flatMap((venue) => {
      const directory = join(folder, venue)
      if (!existsSync(directory)) return []
      return readdirSync(directory).flatMap((file) => {
        const [, of, timeframe = ''] = FILE_NAME.exec(file) ?? []
        if (of !== coin || !isTimeframe(timeframe)) return []
        const name = join(directory, file)
        return [
          { name, barMs: timeframeMs(timeframe), isSpot: venue === 'binance-spot', bars: readBars(name) },
        ]
      })
    }),
  )
}

function readBars(path: string): Float64Array {
  const lines = gunzipSync(readFileSync(path)).toString('latin1').split('\n')
  const bars = new Float64Array(lines.length * BAR_NUMBERS)
  let length = 0
  for (const line of lines.slice(1)) {
    if (line === '') continue
    const cells = line.split(',')
    for (let at = 0; at < BAR_NUMBERS; at++) bars[length++] = Number(cells[at])
  }
  return bars.subarray(0, length)
}

/** Whole bars of a longer timeframe: one with a part missing is left out. */
function aggregate(bars: Float64Array, nativeMs: number, barMs: number): Float64Array {
  if (nativeMs === barMs) return bars
  const parts = barMs / nativeMs
  const longer: number[] = []
  let bar: [number, number, number, number, number, number] | undefined
  let count = 0
  const end = (): void => {
    if (bar !== undefined && count === parts) longer.push(...bar)
  }
  for (let at = 0; at < bars.length; at += BAR_NUMBERS) {
    const [openTime = 0, open = 0, high = 0, low = 0, close = 0, volume = 0] = bars.subarray(
      at,
      at + BAR_NUMBERS,
    )
    const start = Math.floor(openTime / barMs) * barMs
    if (bar?.[0] !== start) {
      end()
      bar = [start, open, high, low, close, 0]
      count = 0
    }
    bar[2] = Math.max(bar[2], high)
    bar[3] = Math.min(bar[3], low)
    bar[4] = close
    bar[5] += volume
    count += 1
  }
  end()
  return Float64Array.from(longer)
}

interface Span {
  readonly from: number
  readonly to: number
}

const spanOf = ({ bars, barMs }: CandleFile): Span => ({
  from: bars[0] ?? 0,
  to: (bars[bars.length - BAR_NUMBERS] ?? 0) + barMs,
})

const without = (spans: readonly Span[], taken: Span): Span[] =>
  spans.flatMap(({ from, to }) =>
    [
      { from, to: Math.min(to, taken.from) },
      { from: Math.max(from, taken.to), to },
    ].filter((rest) => rest.to > rest.from),
  )

/**
 * The histories of a coin at a timeframe. The time of a coin is shared among its files, so that no moment counts twice:
 * perpetual before spot, then the file that covers more time. A history ends where the file changes or bars are missing.
 */
export function* historiesOf(
  files: readonly CandleFile[],
  timeframe: Timeframe,
): Generator<Float64Array, void, void> {
  const barMs = timeframeMs(timeframe)
  const usable = files
    .filter((file) => barMs % file.barMs === 0 && file.bars.length > 0)
    .map((file) => ({ ...file, ...spanOf(file) }))
    .toSorted(
      (a, b) =>
        Number(a.isSpot) - Number(b.isSpot) ||
        b.to - b.from - (a.to - a.from) ||
        b.barMs - a.barMs ||
        (a.name < b.name ? -1 : 1),
    )
  const taken: Span[] = []
  for (const { bars, barMs: nativeMs, from, to } of usable) {
    const free = taken.reduce(without, [{ from, to }])
    taken.push({ from, to })
    if (free.length === 0) continue
    const whole = aggregate(bars, nativeMs, barMs)
    for (const span of free) yield* stretches(whole, barMs, span)
  }
}

function* stretches(
  bars: Float64Array,
  barMs: number,
  { from, to }: Span,
): Generator<Float64Array, void, void> {
  let begin = -1
  let last = 0
  function* end(at: number): Generator<Float64Array, void, void> {
    if (begin >= 0 && (at - begin) / BAR_NUMBERS >= FEWEST_BARS) yield bars.subarray(begin, at)
    begin = -1
  }
  for (let at = 0; at < bars.length; at += BAR_NUMBERS) {
    const openTime = bars[at] ?? 0
    const isOutside = openTime < from || openTime + barMs > to
    if (isOutside || openTime - last > (MOST_BARS_MISSING + 1) * barMs) yield* end(at)
    if (isOutside) continue
    if (begin < 0) begin = at
    last = openTime
  }
  yield* end(bars.length)
}
