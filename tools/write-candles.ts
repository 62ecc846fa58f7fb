import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { HOUR_MS, MINUTE_MS, TIMEFRAMES, timeframeMs } from '../contracts/domain/timeframes.ts'
import { createSimulatedBars } from '../services/market/simulated/simulated-bars.ts'

// node tools/write-candles.ts: writes fixtures/candles. Only a change of the simulated market is a reason to run it.
const BARS = 400
const END = Date.UTC(2026, 0, 1)
const ROW = 6

const bars = createSimulatedBars('fixtures', 'BTC')

/** Rows of 1m or 1h bars from an instant to the end, as the simulated market draws them. */
function* rowsFrom(startMs: number, baseMs: number): Generator<number[]> {
  for (let hour = startMs / HOUR_MS; hour < END / HOUR_MS; hour++) {
    const drawn = baseMs === HOUR_MS ? bars.hour(hour) : bars.minutes(hour)
    for (let at = 0; at < drawn.length; at += ROW) yield [...drawn.subarray(at, at + ROW)]
  }
}

/** Open of the first, highest, lowest, close of the last, and all volume, of so many rows. */
function merge(rows: readonly (readonly number[])[]): number[] {
  const column = (place: number): number[] => rows.map((row) => row[place] ?? Number.NaN)
  const total = column(5).reduce((sum, volume) => sum + volume, 0)
  return [
    column(0)[0],
    column(1)[0],
    Math.max(...column(2)),
    Math.min(...column(3)),
    column(4).at(-1),
    total,
  ].map(Number)
}

for (const timeframe of TIMEFRAMES) {
  const lengthMs = timeframeMs(timeframe)
  const baseMs = lengthMs < HOUR_MS ? MINUTE_MS : HOUR_MS
  const perBar = lengthMs / baseMs
  const rows = [...rowsFrom(END - Math.ceil((BARS * lengthMs) / HOUR_MS) * HOUR_MS, baseMs)].slice(
    -BARS * perBar,
  )
  const merged = Array.from({ length: BARS }, (_, index) =>
    merge(rows.slice(index * perBar, (index + 1) * perBar)),
  )
  const text = ['ts,open,high,low,close,volume', ...merged.map((row) => row.join(','))].join('\n')
  writeFileSync(
    join(process.argv[2] ?? 'fixtures', `candles/SIM-BTC-${timeframe}.csv.gz`),
    gzipSync(`${text}\n`, { level: 9 }),
  )
}
