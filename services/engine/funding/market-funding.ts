import { type FundingRate, fundingRateSchema } from '../../../contracts/domain/candle.ts'
import { type Market, marketName } from '../../../contracts/domain/series.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../contracts/domain/timeframes.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { partitionPoint } from '../../../contracts/infra/partition-point.ts'

/** Settlements kept per day, at most: an hour is the shortest interval of any venue. */
const MOST_PER_DAY = 24
const HOURS_PER_DAY = 24
const LEAST_COVERED_HOURS = 12
const FIRST_CAPACITY = 32
const GROWTH = 1.5

const minuteOf = ({ time }: FundingRate): number => Math.round(time / MINUTE_MS)

/**
 * Keeps the settlements of one market for its last `keepDays` days, in order of time however they come, and says what
 * longs paid on each day.
 */
export class MarketFunding {
  readonly market: Market
  readonly #keepDays: number
  // Parallel columns in order of time: ten bytes a settlement.
  #minutes = new Uint32Array(FIRST_CAPACITY)
  #rates = new Float32Array(FIRST_CAPACITY)
  #intervalMinutes = new Uint16Array(FIRST_CAPACITY)
  #count = 0
  /** The settlement with the latest time, as it was taken. */
  newest: FundingRate

  /**
   * Begins a market's history with its first settlement.
   *
   * @param keepDays UTC days kept, up to that of the newest settlement
   */
  constructor(market: Market, keepDays: number, first: FundingRate) {
    this.market = market
    this.#keepDays = keepDays
    this.newest = first
    this.take(first)
  }

  /** The midnight at which the days that are kept begin. */
  get #firstMinute(): number {
    const minutesPerDay = DAY_MS / MINUTE_MS
    return (Math.floor(minuteOf(this.newest) / minutesPerDay) - this.#keepDays + 1) * minutesPerDay
  }

  /** Index of the first settlement not before a minute. */
  readonly #indexFrom = (minute: number): number =>
    partitionPoint(this.#count, (index) => (this.#minutes[index] as number) < minute)

  /** Opens a place in every column, which grow where they are full. */
  #insertAt(at: number): void {
    if (this.#count === this.#minutes.length) {
      const capacity = Math.min(this.#keepDays * MOST_PER_DAY, Math.ceil(this.#count * GROWTH))
      const [minutes, rates, intervals] = [this.#minutes, this.#rates, this.#intervalMinutes]
      this.#minutes = new Uint32Array(capacity)
      this.#rates = new Float32Array(capacity)
      this.#intervalMinutes = new Uint16Array(capacity)
      this.#minutes.set(minutes)
      this.#rates.set(rates)
      this.#intervalMinutes.set(intervals)
    }
    this.#move(at, at + 1)
    this.#count += 1
  }

  /** Moves all settlements from one index on to another one. */
  #move(from: number, to: number): void {
    for (const column of [this.#minutes, this.#rates, this.#intervalMinutes])
      column.copyWithin(to, from, this.#count)
  }

  #dropOldest(howMany: number): void {
    this.#move(howMany, 0)
    this.#count -= howMany
  }

  /**
   * Takes a settlement, in any order. One that is known changes nothing; of two for the same minute the one
   * taken later stands; one from before the days that are kept is passed over.
   *
   * @throws ServiceError `internal_error` for what cannot be a settlement
   */
  readonly take = (funding: FundingRate): void => {
    const interval = Math.round(funding.intervalHours * 60)
    if (!fundingRateSchema.safeParse(funding).success || interval === 0) {
      throw new ServiceError('internal_error', {
        message: `A settlement of ${marketName(this.market)} was refused: ${JSON.stringify(funding)} is none. Check settlements before taking them.`,
      })
    }
    const minute = minuteOf(funding)
    // A settlement pays for the time before it: one at the first midnight is about a day that is gone.
    if (minute <= this.#firstMinute) return

    let at = this.#indexFrom(minute)
    if (at === this.#count || this.#minutes[at] !== minute) {
      if (this.#count === this.#keepDays * MOST_PER_DAY) {
        if (at === 0) return
        this.#dropOldest(1)
        at -= 1
      }
      this.#insertAt(at)
    }
    this.#minutes[at] = minute
    this.#rates[at] = funding.rate
    this.#intervalMinutes[at] = interval
    if (at < this.#count - 1) return

    this.newest = funding
    this.#dropOldest(this.#indexFrom(this.#firstMinute + 1))
  }

  /** Settlements kept. */
  get count(): number {
    return this.#count
  }

  /** Memory of the history. */
  get bytes(): number {
    return this.#minutes.byteLength + this.#rates.byteLength + this.#intervalMinutes.byteLength
  }

  /**
   * Payments of longs to shorts in every UTC day before `endMs` (a midnight), as fractions, oldest first; as many days
   * as `into` has room for. Rates are spread over their own intervals, so days of markets with different intervals
   * compare. A day of which less than half is covered is NaN; a shorter gap counts as if it had been like the rest of
   * its day.
   */
  readDays(into: Float64Array, endMs: number): void {
    const fromMs = endMs - into.length * DAY_MS
    this.#spread(into, fromMs)
    const gone = Math.ceil((this.#firstMinute * MINUTE_MS - fromMs) / DAY_MS)
    if (gone > 0) into.fill(Number.NaN, 0, gone)
  }

  /** The same of the 24 hours up to the newest settlement, NaN where less than half of them is covered. */
  readonly newestDay = (): number => {
    const day = new Float64Array(1)
    this.#spread(day, (this.#minutes[this.#count - 1] as number) * MINUTE_MS - DAY_MS)
    return day[0] as number
  }

  /** Writes what was paid in each of some days that follow an instant. */
  #spread(days: Float64Array, fromMs: number): void {
    const covered = new Float64Array(days.length)
    days.fill(0)
    for (let index = this.#indexFrom(fromMs / MINUTE_MS); index < this.#count; index++) {
      const end = (this.#minutes[index] as number) * MINUTE_MS
      const hours = (this.#intervalMinutes[index] as number) / 60
      const begin = Math.max(end - hours * HOUR_MS, fromMs)
      for (let day = Math.floor((begin - fromMs) / DAY_MS); day < days.length; day++) {
        const midnight = fromMs + day * DAY_MS
        const within = (Math.min(end, midnight + DAY_MS) - Math.max(begin, midnight)) / HOUR_MS
        if (within <= 0) break
        days[day] = (days[day] as number) + ((this.#rates[index] as number) * within) / hours
        covered[day] = (covered[day] as number) + within
      }
    }
    for (const [day, hours] of covered.entries())
      days[day] = hours < LEAST_COVERED_HOURS ? Number.NaN : (HOURS_PER_DAY * (days[day] as number)) / hours
  }
}
