import { ServiceError } from '../../../contracts/errors.ts'
import { type FundingRate, fundingRateSchema } from '../../../contracts/funding.ts'
import { type Market, marketName } from '../../../contracts/series.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../contracts/timeframes.ts'

/** The funding history of one market: its settlements, and what every day of them paid. */
export interface MarketFunding {
  readonly market: Market
  /** The settlement with the latest time, as it was taken. */
  readonly newest: FundingRate
  /** Settlements kept. */
  readonly count: number
  /** Memory of the history. */
  readonly bytes: number

  /**
   * Takes a settlement, in any order. One that is known changes nothing; of two for the same minute the one
   * taken later stands; one from before the days that are kept is passed over.
   *
   * @throws ServiceError `internal_error` for what cannot be a settlement
   */
  take(funding: FundingRate): void

  /**
   * Payments of longs to shorts in every UTC day before `endMs` (a midnight), as fractions, oldest first; as many days
   * as `into` has room for. Rates are spread over their own intervals, so days of markets with different intervals
   * compare. A day of which less than half is covered is NaN; a shorter gap counts as if it had been like the rest of
   * its day.
   */
  readDays(into: Float64Array, endMs: number): void

  /** The same of the 24 hours up to the newest settlement, NaN where less than half of them is covered. */
  newestDay(): number
}

/** Settlements kept per day, at most: an hour is the shortest interval of any venue. */
const MOST_PER_DAY = 24
const HOURS_PER_DAY = 24
const LEAST_COVERED_HOURS = 12
const FIRST_CAPACITY = 32
const GROWTH = 1.5

const dayOf = (timeMs: number): number => Math.floor(timeMs / DAY_MS)

/**
 * Begins a market's history with its first settlement.
 *
 * @param keepDays UTC days kept, up to that of the newest settlement
 */
export function createMarketFunding(market: Market, keepDays: number, first: FundingRate): MarketFunding {
  const mostSettlements = keepDays * MOST_PER_DAY
  // Parallel columns in order of time: ten bytes a settlement.
  let minutes = new Uint32Array(FIRST_CAPACITY)
  let rates = new Float32Array(FIRST_CAPACITY)
  let intervalMinutes = new Uint16Array(FIRST_CAPACITY)
  let count = 0
  let newest = first
  let lastDay = dayOf(first.time)
  /** The longest interval yet: a settlement reaches back no further. */
  let longestMinutes = 0
  /** Day `d` is in slot `d % keepDays`, and computed where `d` is before `staleFrom`. */
  const days = new Float64Array(keepDays).fill(Number.NaN)
  let staleFrom = lastDay - keepDays + 1

  const firstDay = (): number => lastDay - keepDays + 1
  const timeAt = (index: number): number => (minutes[index] as number) * MINUTE_MS

  /** Index of the first settlement not before a minute. */
  function indexFrom(minute: number): number {
    let [low, high] = [0, count]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((minutes[middle] as number) < minute) low = middle + 1
      else high = middle
    }
    return low
  }

  function accrualOf(fromMs: number, toMs: number): number {
    let paid = 0
    let coveredHours = 0
    for (let index = indexFrom(fromMs / MINUTE_MS); index < count; index++) {
      const end = timeAt(index)
      if (end - longestMinutes * MINUTE_MS >= toMs) break
      const hours = (intervalMinutes[index] as number) / 60
      const within = (Math.min(end, toMs) - Math.max(end - hours * HOUR_MS, fromMs)) / HOUR_MS
      if (within <= 0) continue
      paid += ((rates[index] as number) * within) / hours
      coveredHours += within
    }
    return coveredHours < LEAST_COVERED_HOURS ? Number.NaN : (HOURS_PER_DAY * paid) / coveredHours
  }

  function refreshDays(): void {
    for (let day = Math.max(staleFrom, firstDay()); day <= lastDay; day++) {
      days[day % keepDays] = accrualOf(day * DAY_MS, (day + 1) * DAY_MS)
    }
    staleFrom = lastDay + 1
  }

  /** Opens a place in every column, which grow where they are full. */
  function insertAt(at: number): void {
    if (count === minutes.length) {
      const capacity = Math.min(mostSettlements, Math.ceil(count * GROWTH))
      const [grownMinutes, grownRates, grownIntervals] = [
        new Uint32Array(capacity),
        new Float32Array(capacity),
        new Uint16Array(capacity),
      ]
      grownMinutes.set(minutes)
      grownRates.set(rates)
      grownIntervals.set(intervalMinutes)
      minutes = grownMinutes
      rates = grownRates
      intervalMinutes = grownIntervals
    }
    if (at < count) {
      for (const column of [minutes, rates, intervalMinutes]) column.copyWithin(at + 1, at, count)
    }
    count += 1
  }

  function dropOldest(howMany: number): void {
    if (howMany === 0) return
    for (const column of [minutes, rates, intervalMinutes]) column.copyWithin(0, howMany, count)
    count -= howMany
  }

  function take(funding: FundingRate): void {
    const checked = fundingRateSchema.safeParse(funding)
    const interval = Math.round(funding.intervalHours * 60)
    if (!checked.success || interval === 0) {
      throw new ServiceError('internal_error', {
        message: `A settlement of ${marketName(market)} was refused: ${JSON.stringify(funding)} is none. Check settlements before taking them.`,
      })
    }
    const minute = Math.round(funding.time / MINUTE_MS)
    // A settlement pays for the time before it: one at the first midnight is about a day that is gone.
    if (minute * MINUTE_MS <= firstDay() * DAY_MS) return

    let at = indexFrom(minute)
    const isKnown = at < count && minutes[at] === minute
    const longest = isKnown ? Math.max(interval, intervalMinutes[at] as number) : interval
    if (!isKnown) {
      if (count === mostSettlements) {
        if (at === 0) return
        dropOldest(1)
        at -= 1
      }
      insertAt(at)
    }
    minutes[at] = minute
    rates[at] = funding.rate
    intervalMinutes[at] = interval
    longestMinutes = Math.max(longestMinutes, interval)
    staleFrom = Math.min(staleFrom, dayOf((minute - longest) * MINUTE_MS))
    if (at < count - 1) return

    newest = funding
    lastDay = dayOf(minute * MINUTE_MS)
    dropOldest(indexFrom((firstDay() * DAY_MS) / MINUTE_MS + 1))
  }

  take(first)

  return {
    market,
    get newest() {
      return newest
    },
    get count() {
      return count
    },
    get bytes() {
      return minutes.byteLength + rates.byteLength + intervalMinutes.byteLength + days.byteLength
    },
    take,
    readDays(into, endMs) {
      refreshDays()
      const before = dayOf(endMs) - into.length
      for (let index = 0; index < into.length; index++) {
        const day = before + index
        into[index] = day < firstDay() || day > lastDay ? Number.NaN : (days[day % keepDays] as number)
      }
    },
    newestDay: () => {
      const end = timeAt(count - 1)
      return accrualOf(end - DAY_MS, end)
    },
  }
}
