import type { FundingRate } from '../../../contracts/domain/candle.ts'
import type { Coin } from '../../../contracts/domain/series.ts'
import { HOUR_MS, MINUTE_MS } from '../../../contracts/domain/timeframes.ts'
import { ROW_NUMBERS } from '../bar-maker.ts'
import { activityAt, createPricePath, isWeekend, type PricePath, seedOfCoin } from './price-path.ts'
import { createRandom, seedAt } from './random.ts'
import { type SimulatedCoin, simulatedCoin } from './simulated-coins.ts'

/** The bars of a simulated coin as rows of numbers. Hours count from the Unix epoch. */
export type SimulatedBars = ReturnType<typeof createSimulatedBars>

const MINUTES = 60

/** Place of the volume in a row. */
const VOLUME = 5

/** How far a minute's high and low reach beyond its open and close, in its volatility. */
const WICK = 0.6

const MINUTE_SALT = 0x5eed_0011
const FUNDING_SALT = 0x5eed_0012

/** Volumes are whole lots, of which an average minute has so many or up to twice as many. */
const LOTS_PER_MINUTE = 256

/** Rate of an 8-hour interval when longs and shorts are even, as venues set it. */
const NEUTRAL_RATE = 0.0001
const RATE_PER_DEVIATION = 0.00012
const RATE_NOISE = 0.00004
const HIGHEST_RATE = 0.003

/**
 * A pure function of seed, coin and time: equal in every process, and independent of earlier requests.
 *
 * Prices are whole ticks, and volumes multiples of a power of two, so that sums of volumes are exact in any order.
 */
export function createSimulatedBars(seed: string, coin: Coin) {
  const shape = simulatedCoin(coin)
  const path = createPricePath(seed, shape)
  const coinSeed = seedOfCoin(seed, coin)
  const minuteRows = new Float64Array(MINUTES * ROW_NUMBERS)
  const hourRow = new Float64Array(ROW_NUMBERS)
  let filledHour = Number.NaN

  /** The sixty 1m bars of an hour, one row after another. Good until the next call. */
  function minutes(hour: number): Float64Array {
    if (hour !== filledHour) drawMinutes(minuteRows, hour, path, shape, coinSeed)
    filledHour = hour
    return minuteRows
  }

  /** The 1h bar of an hour: exactly what its sixty 1m bars make. Good until the next call. */
  function hourBar(hour: number): Float64Array {
    const rows = minutes(hour)
    hourRow.set(rows.subarray(0, ROW_NUMBERS))
    for (let at = ROW_NUMBERS; at < rows.length; at += ROW_NUMBERS) {
      hourRow[2] = Math.max(hourRow[2] as number, rows[at + 2] as number)
      hourRow[3] = Math.min(hourRow[3] as number, rows[at + 3] as number)
      hourRow[4] = rows[at + 4] as number
      hourRow[5] = (hourRow[5] as number) + (rows[at + 5] as number)
    }
    return hourRow
  }

  /** Longs pay more the further the price rose in a day. */
  function funding(hour: number): FundingRate | undefined {
    const intervalHours = shape.fundingIntervalHours
    if (hour % intervalHours !== 0) return undefined
    const dayReturn = Math.log(path.priceAt(hour) / path.priceAt(hour - 24))
    const deviations = dayReturn / (shape.hourlyVolatility * Math.sqrt(24))
    const noise = createRandom(seedAt(coinSeed ^ FUNDING_SALT, hour)).normal()
    const rate8h = NEUTRAL_RATE + RATE_PER_DEVIATION * deviations + RATE_NOISE * noise
    const rate = Math.max(-HIGHEST_RATE, Math.min(HIGHEST_RATE, rate8h)) * (intervalHours / 8)
    return { time: hour * HOUR_MS, rate: Number(rate.toFixed(8)), intervalHours }
  }

  return { minutes, hour: hourBar, funding }
}

/** Draws the minutes of an hour as a walk tied to the prices at both of its ends. */
function drawMinutes(
  rows: Float64Array,
  hour: number,
  path: PricePath,
  shape: SimulatedCoin,
  coinSeed: number,
): void {
  const random = createRandom(seedAt(coinSeed ^ MINUTE_SALT, hour))
  const ticksPerUnit = 10 ** shape.decimals
  const first = wholeTicks(path.priceAt(hour))
  const last = wholeTicks(path.priceAt(hour + 1))
  const deviation = (first * path.volatilityAt(hour)) / Math.sqrt(MINUTES)
  // The volumes stand in for the steps until it is known how far the walk would go freely.
  let way = 0
  for (let at = VOLUME; at < rows.length; at += ROW_NUMBERS) {
    rows[at] = deviation * random.normal()
    way += rows[at] as number
  }
  const correction = (last - first - way) / MINUTES

  const meanVolume = shape.minuteTurnover / shape.price
  const lot = 2 ** Math.floor(Math.log2(meanVolume / LOTS_PER_MINUTE))
  // Weekends are quieter.
  const busy =
    (path.volatilityAt(hour) / shape.hourlyVolatility) * (isWeekend(hour) ? 0.65 : 1.1) * activityAt(hour)
  let level = first
  let open = first
  for (let minute = 0; minute < MINUTES; minute++) {
    const at = minute * ROW_NUMBERS
    level += (rows[at + VOLUME] as number) + correction
    const close = minute === MINUTES - 1 ? last : wholeTicks(level)
    const stir = 0.4 + 0.6 * random.uniform() + (0.4 * Math.abs(close - open)) / deviation
    const high = Math.max(open, close) + Math.floor(WICK * deviation * Math.abs(random.normal()))
    const low = Math.min(open, close) - Math.floor(WICK * deviation * Math.abs(random.normal()))
    rows[at] = hour * HOUR_MS + minute * MINUTE_MS
    rows[at + 1] = open / ticksPerUnit
    rows[at + 2] = high / ticksPerUnit
    rows[at + 3] = Math.max(1, low) / ticksPerUnit
    rows[at + 4] = close / ticksPerUnit
    rows[at + VOLUME] = Math.round((meanVolume * busy * stir) / lot) * lot
    open = close
  }
}

const wholeTicks = (price: number): number => Math.max(1, Math.round(price))
