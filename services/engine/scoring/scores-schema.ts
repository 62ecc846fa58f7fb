import { z } from 'zod'
import { count } from '../../../contracts/field-schemas.ts'

const fraction = z.number().min(0).max(1)
export const measureSchema = z.strictObject({
  value: z.number(),
  low: z.number().nullable(),
  high: z.number().nullable(),
})

const blockMeanSchema = measureSchema.extend({ t: z.number().nullable() })

/** Results of taking one side of some races; time-outs are left at the close of their window. */
const byExitSchema = z.strictObject({
  /** Share that ended in favour of the side taken; nobody is favoured where a bar touched both barriers. */
  inFavour: measureSchema,
  /** Mean return in basis points, before and after costs. */
  gross: blockMeanSchema,
  net: blockMeanSchema,
})

/** Forecasts of about the same height, beside what came of them. */
const reliabilityBinSchema = z.strictObject({
  /** Lowest and highest forecast of the bin. */
  from: fraction,
  to: fraction,
  races: count,
  /** Mean forecast, and the share that the upper barrier won. */
  said: fraction,
  happened: fraction,
})

/**
 * Wins on races that do not overlap: of each series, a race counts only where the one counted before it was
 * over. Of races that neither barrier won in time none is here; one that touched both in a bar is lost.
 */
const winRatesSchema = z.strictObject({
  races: count,
  /** Win rate of the calls, with Wilson's interval. */
  called: measureSchema,
  /** The same share with an interval from blocks of time, because coins move together. */
  calledByBlocks: measureSchema,
  /** Win rates of constant calls and of a fair coin on the same bars. */
  alwaysBuy: measureSchema,
  alwaysSell: measureSchema,
  random: measureSchema,
})

/** Every call that does not overlap the one before, whether a barrier was reached or not. */
const everyCallSchema = z.strictObject({
  trades: count,
  timeoutShare: fraction,
  called: byExitSchema,
  /** Results of constant calls and of a fair coin on the same bars. */
  alwaysBuy: byExitSchema,
  alwaysSell: byExitSchema,
  random: byExitSchema,
})

/**
 * All that is measured of a set of scored calls of one timeframe, as a model file holds it. Shares and probabilities are
 * fractions.
 */
export const scoresSchema = z.strictObject({
  verdicts: count,
  /** Close of the first and the last bar, Unix milliseconds. */
  from: count,
  to: count,
  /** Days with a verdict: fewer than lie between the ends where there are holes. */
  observedDays: count,
  /** How the races of all verdicts ended, HOLD included. */
  races: z.strictObject({ up: count, down: count, both: count, timeout: count, incomplete: count }),
  /** Share of whole races in which neither barrier was reached; null without any. */
  timeoutShare: fraction.nullable(),
  /** AUC of forecasts on decided races; null when one side never won. */
  auc: measureSchema.nullable(),
  /** The same over the newest 180 observed days. */
  newestAuc: measureSchema.nullable(),
  /** The same over the newest 365; former models have none. */
  newestYearAuc: measureSchema.nullable().optional(),
  brier: measureSchema.nullable(),
  /** Brier score of BUY and SELL alone. */
  brierSpoken: measureSchema.nullable(),
  /** Mean distance of what was said from what happened, over the bins. */
  calibrationError: fraction.nullable(),
  reliability: z.array(reliabilityBinSchema).max(10).readonly(),
  /** BUY and SELL verdicts, and the share of SELL among them. */
  spoken: count,
  sellShare: fraction.nullable(),
  winRates: winRatesSchema.nullable(),
  everyCall: everyCallSchema.nullable(),
  /** Changes of the call, per series and day. */
  flipsPerDay: z.number().nonnegative().nullable(),
})

export type ReliabilityBin = z.infer<typeof reliabilityBinSchema>
export type WinRates = z.infer<typeof winRatesSchema>
export type ByExit = z.infer<typeof byExitSchema>
export type EveryCall = z.infer<typeof everyCallSchema>
export type Scores = z.infer<typeof scoresSchema>

/** Scores out of sample, with the AUC of the same recipe on labels that were moved away from their bars. */
export const measuredSchema = scoresSchema.extend({
  placeboAuc: measureSchema.nullable(),
  /** AUC before the recipe's `chosenUntil`, and from there on; missing in models fitted without one. */
  chosenAuc: measureSchema.nullable().optional(),
  untouchedAuc: measureSchema.nullable().optional(),
  /** Share of BUY and SELL verdicts whose window closed on the called side, at whichever barrier the race ended. */
  closedAsCalled: measureSchema.nullable().optional(),
  /** Mean return of the calls from `chosenUntil` on, in basis points before costs; former models have none. */
  untouchedGross: measureSchema.nullable().optional(),
  /** Calibration error before `chosenUntil` and from there on, each without the offset and with it; likewise. */
  calibrations: z
    .strictObject({
      chosen: z.array(fraction.nullable()).length(2),
      untouched: z.array(fraction.nullable()).length(2),
    })
    .optional(),
})

export type Measured = z.infer<typeof measuredSchema>
