import type { Outcome } from '../../contracts/domain/outcome.ts'
import type { JsonObject } from '../../contracts/infra/json.ts'

/** Forecast ranges with what came of them. */
export interface RangeTally extends JsonObject {
  /** Forecasts whose window closed with all its bars. */
  readonly forecasts: number
  /** Returns below p10, from p10 to p90, and of those the ones from p25 to p75; what is left was above p90. */
  readonly below: number
  readonly within80: number
  readonly within50: number
  /** Sum of the mean pinball loss of p10 and p90, as fractions of the price. */
  readonly pinball: number
}

export const NO_RANGES: RangeTally = { forecasts: 0, below: 0, within80: 0, within50: 0, pinball: 0 }

/** Pinball loss of a quantile forecast: the true quantile has the least. */
const pinball = (share: number, quantile: number, value: number): number =>
  value >= quantile ? share * (value - quantile) : (1 - share) * (quantile - value)

/** The return that a range was about; undefined where there was no forecast, or bars of the window are missing. */
const returnOf = ({ forecast, entryPrice, closePrice }: Outcome): number | undefined =>
  forecast === null || entryPrice === null || closePrice === null ? undefined : closePrice / entryPrice - 1

/** Counts the forecast of an outcome, where it can be. */
export function countRange(tally: RangeTally, outcome: Outcome): RangeTally {
  const { forecast } = outcome
  const value = returnOf(outcome)
  if (forecast === null || value === undefined) return tally
  const { p10, p25, p75, p90 } = forecast
  const isWithin = (low: number, high: number): number => (value >= low && value <= high ? 1 : 0)
  return {
    forecasts: tally.forecasts + 1,
    below: tally.below + (value < p10 ? 1 : 0),
    within80: tally.within80 + isWithin(p10, p90),
    within50: tally.within50 + isWithin(p25, p75),
    pinball: tally.pinball + (pinball(0.1, p10, value) + pinball(0.9, p90, value)) / 2,
  }
}

export const isScored = (outcome: Outcome): boolean => returnOf(outcome) !== undefined
