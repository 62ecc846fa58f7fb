import type { SpreadHistory } from './spread-history.ts'

/** How the spread of a pair is expected to go on. Fractions per day; positive favours the direction taken. */
export interface CarryForecast {
  /** The level to which the spread returns. */
  readonly mean: number
  /** How far the last 24 hours were from there. */
  readonly deviation: number
  /** Share of a deviation that is left a day later, 0 up to but not including 1. */
  readonly persistence: number
}

const HOURS_PER_DAY = 24
/** A break-even later than a year is none. */
const LATEST_BREAK_EVEN_DAYS = 365
/** Halvings of a year that end well below a second. */
const HALVINGS = 40

/**
 * Expects a spread to return to its mean, which is drawn towards zero by as much as it is uncertain: of a mean
 * m with variance v, the share 1 − v/m² is believed, and nothing of one that is no larger than its error.
 *
 * @param newestDay spread of the last 24 hours, in the same direction as the history
 */
export function forecastCarry(history: SpreadHistory, newestDay: number): CarryForecast {
  const { mean, meanVariance, persistence } = history
  const square = mean * mean
  const believed = square > meanVariance ? 1 - meanVariance / square : 0
  return { mean: mean * believed, deviation: newestDay - mean * believed, persistence }
}

/**
 * Expected income of a position in the pair within a time, as a fraction of its size: the mean, plus the present
 * deviation as it decays.
 *
 * @example expectedCarry({ mean: 0.0001, deviation: 0, persistence: 0.5 }, 48) // 0.0002
 */
export function expectedCarry({ mean, deviation, persistence }: CarryForecast, hours: number): number {
  const days = hours / HOURS_PER_DAY
  return mean * days + (deviation * persistence * (1 - persistence ** days)) / (1 - persistence)
}

/** The same forecast seen from the opposite position. */
export const opposite = ({ mean, deviation, persistence }: CarryForecast): CarryForecast => ({
  mean: -mean,
  deviation: -deviation,
  persistence,
})

/**
 * The first time, in hours, at which the expected carry has paid a cost; null where it does not within a year.
 *
 * @param cost fraction of the position
 */
export function breakEvenHours(forecast: CarryForecast, cost: number): number | null {
  if (cost <= 0) return 0
  // Carry rises all the way, or from a dip on, or (a good start above a bad mean) up to a peak only: in each
  // case the cost is crossed once before `latest`, or not at all.
  const latest = HOURS_PER_DAY * Math.min(LATEST_BREAK_EVEN_DAYS, peakDays(forecast))
  if (expectedCarry(forecast, latest) < cost) return null
  let [low, high] = [0, latest]
  for (let step = 0; step < HALVINGS; step++) {
    const middle = (low + high) / 2
    if (expectedCarry(forecast, middle) < cost) low = middle
    else high = middle
  }
  return high
}

/** When a carry that starts well and turns bad is highest; infinity for any other. */
function peakDays({ mean, deviation, persistence }: CarryForecast): number {
  if (mean >= 0 || deviation <= 0 || persistence <= 0) return Number.POSITIVE_INFINITY
  const decay = -Math.log(persistence)
  const start = (deviation * persistence * decay) / (1 - persistence)
  return Math.max(0, Math.log(start / -mean) / decay)
}
