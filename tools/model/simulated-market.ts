import { HOUR_MS, MINUTE_MS } from '../../contracts/domain/timeframes.ts'
import { createSimulatedBars } from '../../services/market/simulated/simulated-bars.ts'
import { DEFAULT_SIMULATED_COINS } from '../../services/market/simulated/simulated-coins.ts'
import { BAR_NUMBERS, type CandleFile } from './histories.ts'

/** Any hour would do. */
const FIRST_HOUR = 480_000
/** Hours of market time that are drawn of each coin, by hour; a third of them minute by minute. */
const HOURS = 6_000
const SEEDS = 6

/** Candles of simulated markets, as a first `npm start` draws them: hours and five minutes of each coin. */
export function* simulatedCandles(
  seeds = SEEDS,
  hours = HOURS,
): Generator<readonly CandleFile[], void, void> {
  for (let seed = 0; seed < seeds; seed++)
    for (const coin of DEFAULT_SIMULATED_COINS) {
      const drawn = createSimulatedBars(`seed${seed}`, coin)
      const about = { name: `${coin} ${seed}`, isSpot: false }
      const minutes = barsOf((hour) => drawn.minutes(hour), hours / 3)
      yield [
        { ...about, barMs: 5 * MINUTE_MS, bars: fiveMinutes(minutes) },
        { ...about, barMs: HOUR_MS, bars: barsOf((hour) => drawn.hour(hour), hours) },
      ]
    }
}

function barsOf(rowsOf: (hour: number) => Float64Array, hours: number): Float64Array {
  const rows = Array.from({ length: hours }, (_, index) =>
    // The market draws each hour into the same numbers.
    rowsOf(FIRST_HOUR + index).slice(),
  )
  const bars = new Float64Array(rows.reduce((length, one) => length + one.length, 0))
  let at = 0
  for (const one of rows) {
    bars.set(one, at)
    at += one.length
  }
  return bars
}

function fiveMinutes(minutes: Float64Array): Float64Array {
  const barMs = 5 * MINUTE_MS
  const longer: number[] = []
  for (let at = 0; at < minutes.length; at += BAR_NUMBERS) {
    const [openTime = 0, open = 0, high = 0, low = 0, close = 0, volume = 0] = minutes.subarray(
      at,
      at + BAR_NUMBERS,
    )
    if (openTime % barMs === 0) longer.push(openTime, open, high, low, close, volume)
    else {
      const last = longer.length - BAR_NUMBERS
      longer[last + 2] = Math.max(longer[last + 2] ?? 0, high)
      longer[last + 3] = Math.min(longer[last + 3] ?? 0, low)
      longer[last + 4] = close
      longer[last + 5] = (longer[last + 5] ?? 0) + volume
    }
  }
  return Float64Array.from(longer)
}
