import { assert } from '../../../contracts/assert.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { type FundingRate, fundingRateSchema } from '../../../contracts/funding.ts'
import { partitionPoint } from '../../../contracts/partition-point.ts'
import { type Market, marketName } from '../../../contracts/series.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../contracts/timeframes.ts'

/** Settlements kept per day, at most: an hour is the shortest interval of any venue. */
const MOST_PER_DAY = 24
const HOURS_PER_DAY = 24
const LEAST_COVERED_HOURS = 12
const FIRST_CAPACITY = 32
const GROWTH = 1.5

const dayOf = (timeMs: number): number => Math.floor(timeMs / DAY_MS)

/**
 * Keeps the settlements of one market for its last `keepDays` days, in order of time however they come, and says what
 * longs paid on each day.
 */
export class MarketFunding {
  readonly market: Market
  readonly #keepDays: number
  readonly #first: FundingRate
  readonly #mostSettlements: number
  // Parallel columns in order of time: ten bytes a settlement.
  #minutes = new Uint32Array(FIRST_CAPACITY)
  #rates = new Float32Array(FIRST_CAPACITY)
  #intervalMinutes = new Uint16Array(FIRST_CAPACITY)
  #count = 0
  #newest: FundingRate
  #lastDay: number
  /** The longest interval yet: a settlement reaches back no further. */
  #longestMinutes = 0
  /** Day `d` is in slot `d % keepDays`, and computed where `d` is before `staleFrom`. */
  readonly #days: Float64Array<ArrayBuffer>
  #staleFrom: number

  /**
   * Begins a market's history with its first settlement.
   *
   * @param keepDays UTC days kept, up to that of the newest settlement
   */
  constructor(market: Market, keepDays: number, first: FundingRate) {
    this.market = market
    this.#keepDays = keepDays
    this.#first = first
    this.#mostSettlements = this.#keepDays * MOST_PER_DAY
    this.#newest = this.#first
    this.#lastDay = dayOf(this.#first.time)
    this.#days = new Float64Array(this.#keepDays).fill(Number.NaN)
    this.#staleFrom = this.#lastDay - this.#keepDays + 1
    this.take(this.#first)
  }

  readonly #firstDay = (): number => this.#lastDay - this.#keepDays + 1

  readonly #timeAt = (index: number): number => (this.#minutes[index] as number) * MINUTE_MS

  /** Index of the first settlement not before a minute. */
  readonly #indexFrom = (minute: number): number =>
    partitionPoint(this.#count, (index) => (this.#minutes[index] as number) < minute)

  #accrualOf(fromMs: number, toMs: number): number {
    let paid = 0
    let coveredHours = 0
    for (let index = this.#indexFrom(fromMs / MINUTE_MS); index < this.#count; index++) {
      const end = this.#timeAt(index)
      if (end - this.#longestMinutes * MINUTE_MS >= toMs) break
      const hours = (this.#intervalMinutes[index] as number) / 60
      const within = (Math.min(end, toMs) - Math.max(end - hours * HOUR_MS, fromMs)) / HOUR_MS
      if (within <= 0) continue
      paid += ((this.#rates[index] as number) * within) / hours
      coveredHours += within
    }
    return coveredHours < LEAST_COVERED_HOURS ? Number.NaN : (HOURS_PER_DAY * paid) / coveredHours
  }

  #refreshDays(): void {
    for (let day = Math.max(this.#staleFrom, this.#firstDay()); day <= this.#lastDay; day++) {
      this.#days[day % this.#keepDays] = this.#accrualOf(day * DAY_MS, (day + 1) * DAY_MS)
    }
    this.#staleFrom = this.#lastDay + 1
  }

  /** Opens a place in every column, which grow where they are full. */
  #insertAt(at: number): void {
    if (this.#count === this.#minutes.length) {
      const capacity = Math.min(this.#mostSettlements, Math.ceil(this.#count * GROWTH))
      const [grownMinutes, grownRates, grownIntervals] = [
        new Uint32Array(capacity),
        new Float32Array(capacity),
        new Uint16Array(capacity),
      ]
      grownMinutes.set(this.#minutes)
      grownRates.set(this.#rates)
      grownIntervals.set(this.#intervalMinutes)
      this.#minutes = grownMinutes
      this.#rates = grownRates
      this.#intervalMinutes = grownIntervals
    }
    if (at < this.#count) {
      for (const column of [this.#minutes, this.#rates, this.#intervalMinutes])
        column.copyWithin(at + 1, at, this.#count)
    }
    this.#count += 1
    assert(
      this.#count <= this.#minutes.length,
      'no more settlements are held than there is room for',
      this.#count,
    )
  }

  #dropOldest(howMany: number): void {
    if (howMany === 0) return
    for (const column of [this.#minutes, this.#rates, this.#intervalMinutes])
      column.copyWithin(0, howMany, this.#count)
    this.#count -= howMany
  }

  /**
   * Takes a settlement, in any order. One that is known changes nothing; of two for the same minute the one
   * taken later stands; one from before the days that are kept is passed over.
   *
   * @throws ServiceError `internal_error` for what cannot be a settlement
   */
  readonly take = (funding: FundingRate): void => {
    const checked = fundingRateSchema.safeParse(funding)
    const interval = Math.round(funding.intervalHours * 60)
    if (!checked.success || interval === 0) {
      throw new ServiceError('internal_error', {
        message: `A settlement of ${marketName(this.market)} was refused: ${JSON.stringify(funding)} is none. Check settlements before taking them.`,
      })
    }
    const minute = Math.round(funding.time / MINUTE_MS)
    // A settlement pays for the time before it: one at the first midnight is about a day that is gone.
    if (minute * MINUTE_MS <= this.#firstDay() * DAY_MS) return

    let at = this.#indexFrom(minute)
    const isKnown = at < this.#count && this.#minutes[at] === minute
    const longest = isKnown ? Math.max(interval, this.#intervalMinutes[at] as number) : interval
    if (!isKnown) {
      if (this.#count === this.#mostSettlements) {
        if (at === 0) return
        this.#dropOldest(1)
        at -= 1
      }
      this.#insertAt(at)
    }
    this.#minutes[at] = minute
    this.#rates[at] = funding.rate
    this.#intervalMinutes[at] = interval
    this.#longestMinutes = Math.max(this.#longestMinutes, interval)
    this.#staleFrom = Math.min(this.#staleFrom, dayOf((minute - longest) * MINUTE_MS))
    if (at < this.#count - 1) return

    this.#newest = funding
    this.#lastDay = dayOf(minute * MINUTE_MS)
    this.#dropOldest(this.#indexFrom((this.#firstDay() * DAY_MS) / MINUTE_MS + 1))
  }

  /** The settlement with the latest time, as it was taken. */
  get newest(): FundingRate {
    return this.#newest
  }

  /** Settlements kept. */
  get count(): number {
    return this.#count
  }

  /** Memory of the history. */
  get bytes(): number {
    return (
      this.#minutes.byteLength +
      this.#rates.byteLength +
      this.#intervalMinutes.byteLength +
      this.#days.byteLength
    )
  }

  /**
   * Payments of longs to shorts in every UTC day before `endMs` (a midnight), as fractions, oldest first; as many days
   * as `into` has room for. Rates are spread over their own intervals, so days of markets with different intervals
   * compare. A day of which less than half is covered is NaN; a shorter gap counts as if it had been like the rest of
   * its day.
   */
  readDays(into: Float64Array, endMs: number): void {
    this.#refreshDays()
    const before = dayOf(endMs) - into.length
    for (let index = 0; index < into.length; index++) {
      const day = before + index
      into[index] =
        day < this.#firstDay() || day > this.#lastDay
          ? Number.NaN
          : (this.#days[day % this.#keepDays] as number)
    }
  }

  /** The same of the 24 hours up to the newest settlement, NaN where less than half of them is covered. */
  readonly newestDay = (): number => {
    const end = this.#timeAt(this.#count - 1)
    return this.#accrualOf(end - DAY_MS, end)
  }
}
