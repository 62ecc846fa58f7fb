/** Weight of the newest input in an exponential average (EMA). */
export const emaWeight = (period: number): number => 2 / (period + 1)

/** Weight of the newest input in Wilder's average. */
export const wilderWeight = (period: number): number => 1 / period

/** An exponential average that starts as the plain mean of its first inputs, as TA-Lib seeds it; NaN before that. */
export class SeededAverage {
  readonly #period: number
  readonly #weight: number
  #count = 0
  #sum = 0
  value = Number.NaN

  constructor(period: number, weight: number) {
    this.#period = period
    this.#weight = weight
  }

  push(input: number): number {
    this.#count += 1
    if (this.#count > this.#period) return (this.value += (input - this.value) * this.#weight)
    this.#sum += input
    if (this.#count === this.#period) this.value = this.#sum / this.#period
    return this.value
  }
}

const RSI_BARS = 14

/** Wilder's RSI14, 0–100, valid from the 15th bar. A market that did not move at all reads 0, as in TA-Lib. */
export class Rsi {
  readonly #gain = new SeededAverage(RSI_BARS, wilderWeight(RSI_BARS))
  readonly #loss = new SeededAverage(RSI_BARS, wilderWeight(RSI_BARS))
  value = Number.NaN

  /** @param change of the close, from one bar to the next */
  push(change: number): void {
    const gain = this.#gain.push(change > 0 ? change : 0)
    const moved = gain + this.#loss.push(change < 0 ? -change : 0)
    this.value = moved === 0 ? 0 : (100 * gain) / moved
  }
}

const ADX_BARS = 14

/** Wilder's ADX14 (valid from the 28th bar) with +DI and −DI (from the 15th), 0–100. */
export class Adx {
  #moves = 0
  #plus = 0
  #minus = 0
  #range = 0
  readonly #average = new SeededAverage(ADX_BARS, wilderWeight(ADX_BARS))
  plusDi = Number.NaN
  minusDi = Number.NaN

  get value(): number {
    return this.#average.value
  }

  /**
   * @param rise high above the previous high
   * @param fall low below the previous low
   */
  push(rise: number, fall: number, trueRange: number): void {
    this.#moves += 1
    this.#plus = this.#sum(this.#plus, rise > 0 && rise > fall ? rise : 0)
    this.#minus = this.#sum(this.#minus, fall > 0 && fall > rise ? fall : 0)
    this.#range = this.#sum(this.#range, trueRange)
    if (this.#moves < ADX_BARS) return
    this.plusDi = this.#range === 0 ? 0 : (100 * this.#plus) / this.#range
    this.minusDi = this.#range === 0 ? 0 : (100 * this.#minus) / this.#range
    const total = this.plusDi + this.minusDi
    this.#average.push(total === 0 ? 0 : (100 * Math.abs(this.plusDi - this.minusDi)) / total)
  }

  /** The seed is 13 inputs, not 14: Wilder's and TA-Lib's first sum leaves room for the current bar. */
  #sum(sum: number, input: number): number {
    return this.#moves < ADX_BARS ? sum + input : sum - sum / ADX_BARS + input
  }
}

/** A power of two, so that a ring index is a bit mask; longer than the period. */
const RETURN_RING = 64

/**
 * Mean and population deviation of the last 50 values; NaN before. The sums are of the distance to a value of the
 * window and are taken anew once per period: sums of the squares themselves would cancel to noise where the deviation
 * is small, and drift for ever.
 */
export class RollingDeviation {
  static readonly PERIOD = 50
  readonly #ring = new Float64Array(RETURN_RING)
  #count = 0
  #shift = 0
  #sum = 0
  #squares = 0
  mean = Number.NaN
  deviation = Number.NaN

  push(value: number): void {
    const period = RollingDeviation.PERIOD
    this.#count += 1
    this.#ring[this.#count & (RETURN_RING - 1)] = value
    if (this.#count < period) return
    if (this.#count % period === 0) this.#restart(value)
    else {
      const entering = value - this.#shift
      const leaving = this.#back(period) - this.#shift
      this.#sum += entering - leaving
      this.#squares += entering * entering - leaving * leaving
    }
    const mean = this.#sum / period
    const variance = this.#squares / period - mean * mean
    this.mean = this.#shift + mean
    this.deviation = variance > 0 ? Math.sqrt(variance) : 0
  }

  #restart(newest: number): void {
    this.#shift = newest
    this.#sum = 0
    this.#squares = 0
    for (let back = 0; back < RollingDeviation.PERIOD; back++) {
      const distance = this.#back(back) - newest
      this.#sum += distance
      this.#squares += distance * distance
    }
  }

  #back(steps: number): number {
    return this.#ring[(this.#count - steps) & (RETURN_RING - 1)] ?? 0
  }
}
