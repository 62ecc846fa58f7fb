import { type FundingRate, fundingFault } from '../../contracts/domain/candle.ts'
import { type Market, marketName } from '../../contracts/domain/series.ts'
import { HOUR_MS, MINUTE_MS } from '../../contracts/domain/timeframes.ts'
import { ServiceError } from '../../contracts/errors/errors.ts'

/** One settlement as a venue sends it. Few venues state the interval. */
export interface RawFunding {
  /** Unix milliseconds; venues write them some milliseconds late. */
  readonly time: number
  /** Fraction paid by longs for one interval. */
  readonly rate: number
  readonly intervalHours?: number
}

/** Intervals that venues settle at. Anything else between two settlements is an outage or a late one. */
const SCHEDULES_HOURS: readonly number[] = [1, 2, 4, 8, 12, 24]

/** How many steps to either side say what is usual around a settlement. */
const NEIGHBOURS = 3

/**
 * Brings the funding history of a market into order: times rounded to the minute, repeated ones dropped, and every rate
 * with the interval it was paid for.
 *
 * An interval that no row says is the time since the settlement before, where that is a usual step. It is not where it
 * is longer than the steps around it and they agree: then a settlement between is missing, of an outage. At the end of
 * a history there are none after it, and a longer step counts as a new interval: contracts change between 8, 4 and 1
 * hours, and a rate that is taken for one of fewer hours would look several times as high. Where the venue says what
 * the interval is at present, that decides. Otherwise (the first row, a late settlement) it is the most frequent step
 * around it.
 *
 * @param present hours between settlements at present, where the venue says them
 * @throws ServiceError `market_data_damaged` for a row that cannot be a settlement, and for a history whose intervals
 *   cannot be told.
 */
export function normaliseFunding(
  rows: readonly RawFunding[],
  market: Market,
  present?: number,
): FundingRate[] {
  const byTime = new Map<number, RawFunding>()
  for (const [index, row] of rows.entries()) {
    const fault = fundingFault({ intervalHours: SCHEDULES_HOURS[0] as number, ...row })
    if (fault !== undefined)
      throw damagedFundingError(market, `row ${index} is not a settlement: ${fault}`, index)
    byTime.set(Math.round(row.time / MINUTE_MS) * MINUTE_MS, row)
  }
  const times = [...byTime.keys()].toSorted((a, b) => a - b)
  const steps = stepsBetween(times)
  const usualOverall = mostFrequent(steps, undefined) ?? present
  return times.map((time, index): FundingRate => {
    const row = byTime.get(time) as RawFunding
    const intervalHours = row.intervalHours ?? intervalAt(index, steps, usualOverall, present)
    if (intervalHours === undefined) {
      throw damagedFundingError(
        market,
        `the interval of the rate at ${new Date(time).toISOString()} cannot be told`,
      )
    }
    return { time, rate: row.rate, intervalHours }
  })
}

const stepsBetween = (times: readonly number[]): number[] =>
  times.slice(1).map((time, index) => (time - (times[index] as number)) / HOUR_MS)

function intervalAt(
  index: number,
  steps: readonly number[],
  usualOverall: number | undefined,
  present: number | undefined,
): number | undefined {
  // Step i lies between settlements i and i + 1, so the one before settlement `index` is `index - 1`.
  const own = index === 0 ? undefined : steps[index - 1]
  const before = steps.slice(Math.max(0, index - 1 - NEIGHBOURS), Math.max(0, index - 1))
  const behind = steps.slice(index, index + NEIGHBOURS)
  const usual = mostFrequent([...before, ...(own === undefined ? [] : [own]), ...behind], own) ?? usualOverall
  if (own === undefined || !SCHEDULES_HOURS.includes(own)) return usual
  if (usual === undefined || own <= usual) return own
  // Longer than usual: a new schedule, unless the settlements after it, or the venue, say otherwise.
  const isNew = behind.length === 0 ? present === undefined || present === own : behind[0] === own
  return isNew ? own : usual
}

/** The most frequent usual step; of equally frequent ones `preferred`, else the shortest. */
function mostFrequent(steps: readonly number[], preferred: number | undefined): number | undefined {
  let best: number | undefined
  let bestCount = 0
  for (const hours of SCHEDULES_HOURS) {
    const count = steps.filter((step) => step === hours).length
    if (count > bestCount || (count === bestCount && count > 0 && hours === preferred)) {
      best = hours
      bestCount = count
    }
  }
  return best
}

const damagedFundingError = (market: Market, fault: string, row?: number): ServiceError =>
  new ServiceError('market_data_damaged', {
    message: `funding of ${marketName(market)}: ${fault}`,
    details: { market: marketName(market), ...(row === undefined ? {} : { row }) },
  })
