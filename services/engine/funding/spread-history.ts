/** The overlap of two daily histories. Accruals are fractions per day. */
export interface SpreadHistory {
  /** Days that both have. */
  readonly days: number
  /** Mean daily spread: what the first paid more than the second. */
  readonly mean: number
  /** Variance of the mean, which persistence makes larger: days that repeat one another tell less. */
  readonly meanVariance: number
  /** Correlation of a day's spread with that of the day before, 0 to {@link MOST_PERSISTENCE}. */
  readonly persistence: number
}

/** The assumed persistence before there is history, and the days of history that weigh as much. */
const PRIOR_PERSISTENCE = 0.5
const PRIOR_DAYS = 10
/** Below one, so that every deviation ends some time. */
const MOST_PERSISTENCE = 0.98
/** Spreads that differ by no more than rounding do not vary. */
const ROUNDING = 1e-12

/**
 * Compares two histories of daily accruals, day by day; days that either lacks (NaN) are left out.
 *
 * Persistence is the first autocorrelation over days that follow one another, corrected by (1 + 3ρ) / n for
 * being measured around a mean from the same few days, then drawn towards a prior.
 *
 * @returns undefined where the histories have fewer than two days in common
 */
export function spreadHistory(first: Float64Array, second: Float64Array): SpreadHistory | undefined {
  let days = 0
  let sum = 0
  for (let day = 0; day < first.length; day++) {
    const spread = (first[day] as number) - (second[day] as number)
    if (Number.isNaN(spread)) continue
    days += 1
    sum += spread
  }
  if (days < 2) return undefined

  const mean = sum / days
  let squares = 0
  let products = 0
  let steps = 0
  let before = Number.NaN
  for (let day = 0; day < first.length; day++) {
    const deviation = (first[day] as number) - (second[day] as number) - mean
    if (!Number.isNaN(deviation)) squares += deviation * deviation
    const product = deviation * before
    if (!Number.isNaN(product)) {
      products += product
      steps += 1
    }
    before = deviation
  }
  const isConstant = squares <= days * mean * mean * ROUNDING
  const measured = isConstant || steps === 0 ? undefined : products / steps / (squares / days)
  const persistence = persistenceOf(measured, steps, days)
  const variance = isConstant ? 0 : squares / (days - 1)
  const meanVariance = ((variance / days) * (1 + persistence)) / (1 - persistence)
  return { days, mean, meanVariance, persistence }
}

function persistenceOf(measured: number | undefined, steps: number, days: number): number {
  if (measured === undefined) return PRIOR_PERSISTENCE
  const corrected = measured + (1 + 3 * measured) / days
  const drawn = (steps * corrected + PRIOR_DAYS * PRIOR_PERSISTENCE) / (steps + PRIOR_DAYS)
  return Math.min(MOST_PERSISTENCE, Math.max(0, drawn))
}
