import type { Candle } from '../../contracts/domain/candle.ts'
import { HOUR_MS } from '../../contracts/domain/timeframes.ts'

/** Numbers of one row of a candle: open time, open, high, low, close, volume. */
export const ROW_NUMBERS = 6

type Bar = { -readonly [Field in keyof Candle]: Candle[Field] }

/** Makes the longer bars of one series from its base bars. */
export class BarMaker {
  readonly #lengthMs: number
  readonly #baseMs: number
  #notBefore: number
  /** Whether a bar can be told to be whole: before the first base bar it may be partial. */
  #isBegun: boolean
  #bar: Bar | undefined
  /** The time that its base bars span, Unix milliseconds. */
  #from = 0
  #to = 0

  /**
   * @param baseMs length of a base bar
   * @param notBefore bars that open before this instant are left out
   * @param isCovered whether every base bar there is from `notBefore` on will be taken: otherwise the bar that the
   *   first base bar falls into may be partial, and is left out
   */
  constructor(lengthMs: number, baseMs: number, notBefore: number, isCovered: boolean) {
    this.#lengthMs = lengthMs
    this.#baseMs = baseMs
    this.#notBefore = notBefore
    this.#isBegun = isCovered
  }

  /**
   * Takes a base bar, from `offset` of rows of {@link ROW_NUMBERS}.
   *
   * @returns the close time of the bar, where the base bar is the first of it, else 0
   */
  take(rows: Float64Array, offset: number): number {
    const openTime = rows[offset] as number
    if (!this.#isBegun) {
      this.#notBefore = Math.max(this.#notBefore, Math.ceil(openTime / this.#lengthMs) * this.#lengthMs)
      this.#isBegun = true
    }
    const opens = openTime - (openTime % this.#lengthMs)
    if (opens < this.#notBefore) return 0
    const high = rows[offset + 2] as number
    const low = rows[offset + 3] as number
    const close = rows[offset + 4] as number
    const volume = rows[offset + 5] as number
    const bar = this.#bar
    this.#to = openTime + this.#baseMs
    if (bar?.openTime !== opens) {
      this.#from = openTime
      this.#bar = { openTime: opens, open: rows[offset + 1] as number, high, low, close, volume }
      return opens + this.#lengthMs
    }
    if (high > bar.high) bar.high = high
    if (low < bar.low) bar.low = low
    bar.close = close
    bar.volume = addVolumes(bar.volume, volume)
    return 0
  }

  /**
   * Ends the bar in the making and answers it; undefined if none was begun. A bar that a hole cuts off is left out: more
   * than half of its time, an hour at least, is missing at its beginning or its end.
   */
  finish(): Candle | undefined {
    const bar = this.#bar
    this.#bar = undefined
    if (bar === undefined) return undefined
    const missing = Math.max(this.#from - bar.openTime, bar.openTime + this.#lengthMs - this.#to)
    return missing >= HOUR_MS && missing > this.#lengthMs / 2 ? undefined : bar
  }
}

/** Volumes are decimals of at most eight places, and of at most four where they are large. */
const FINE = 1e8
const COARSE = 1e4

/** Below it a sum times its scale is within an eighth of the whole number that is meant. */
const EXACT_BELOW = 2 ** 50

/**
 * The sum of two decimals as the nearest number there is to the decimal sum, so that the order in which parts
 * are added does not show: 0.1 and 0.2 are 0.3. Past the exact range it is the plain sum.
 */
function addVolumes(a: number, b: number): number {
  const sum = a + b
  if (sum * FINE < EXACT_BELOW) return Math.round(sum * FINE) / FINE
  if (sum * COARSE < EXACT_BELOW) return Math.round(sum * COARSE) / COARSE
  return sum
}
