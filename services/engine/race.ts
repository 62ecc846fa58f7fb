import type { Candle } from '../../contracts/domain/candle.ts'
import type { Outcome } from '../../contracts/domain/outcome.ts'

/** How the race of a verdict ended, without whose it was. */
export type RaceResult = Pick<
  Outcome,
  'race' | 'entryPrice' | 'exitPrice' | 'decidedAt' | 'highest' | 'lowest' | 'closePrice'
>

export interface RaceStart {
  /** Close of the verdict's bar, Unix milliseconds; the race starts at the open of the bar after it. */
  readonly barClose: number
  readonly barMs: number
  /** Bars in which the race is decided. */
  readonly windowBars: number
  /** Distance of both barriers from the entry, as a fraction of it. */
  readonly barrier: number
}

/** A race under way. */
export interface Race {
  /**
   * Takes the next bar of the series; bars that opened before the race did are passed over.
   *
   * @returns the result once the window is over, decided or not; undefined before.
   */
  take(bar: Candle): RaceResult | undefined
  /** The result where no further bar comes: what the bars so far decided, else incomplete. */
  end(): RaceResult
}

type Decision = Omit<RaceResult, 'entryPrice' | 'highest' | 'lowest' | 'closePrice'>

const MISSING: Decision = { race: 'incomplete', exitPrice: null, decidedAt: null }

/**
 * Runs the race that a verdict is about: entered at the open of the bar after it, won by the barrier that is
 * touched first. A bar that is missing before anything was decided leaves the race without an outcome.
 */
export function createRace({ barClose, barMs, windowBars, barrier }: RaceStart): Race {
  const validUntil = barClose + windowBars * barMs
  let nextOpen = barClose
  let entry: number | undefined
  let highest = 0
  let lowest = 0
  let ended: RaceResult | undefined

  const result = (end: Decision): RaceResult => ({
    ...end,
    entryPrice: entry ?? null,
    highest: entry === undefined ? null : highest,
    lowest: entry === undefined ? null : lowest,
    closePrice: null,
  })

  /** Decides the race by one bar of the window; `both` has no exit, because the order is unknown. */
  function decide(bar: Candle, start: number): RaceResult | undefined {
    const [upper, lower] = [start * (1 + barrier), start * (1 - barrier)]
    highest = Math.max(highest, bar.high / start - 1)
    lowest = Math.min(lowest, bar.low / start - 1)
    const decidedAt = bar.openTime + barMs
    // A bar that opens beyond a barrier was decided at its open, and nobody got a better or worse price.
    if (bar.open >= upper) return result({ race: 'up', exitPrice: bar.open, decidedAt })
    if (bar.open <= lower) return result({ race: 'down', exitPrice: bar.open, decidedAt })
    const [up, down] = [bar.high >= upper, bar.low <= lower]
    if (up && down) return result({ race: 'both', exitPrice: null, decidedAt })
    if (up) return result({ race: 'up', exitPrice: upper, decidedAt })
    if (down) return result({ race: 'down', exitPrice: lower, decidedAt })
    if (decidedAt >= validUntil) return result({ race: 'timeout', exitPrice: bar.close, decidedAt: null })
    return undefined
  }

  return {
    take(bar) {
      if (bar.openTime < nextOpen) return undefined
      const isNext = bar.openTime === nextOpen
      const closes = bar.openTime + barMs
      if (isNext) {
        entry ??= bar.open
        nextOpen = closes
        ended ??= decide(bar, entry)
      } else {
        ended ??= result(MISSING)
      }
      if (closes < validUntil || ended === undefined) return undefined
      return isNext && closes === validUntil ? { ...ended, closePrice: bar.close } : ended
    },
    end: () => ended ?? result(MISSING),
  }
}
