import { z } from 'zod'
import type { Scores } from './evaluation.ts'

const count = z.int().nonnegative()
const fraction = z.number().min(0).max(1)
const measureSchema = z.strictObject({
  value: z.number(),
  low: z.number().nullable(),
  high: z.number().nullable(),
})

const blockMeanSchema = measureSchema.extend({ t: z.number().nullable() })
const byExitSchema = z.strictObject({ inFavour: measureSchema, gross: blockMeanSchema, net: blockMeanSchema })

/** The scores of a timeframe as a model file holds them. */
export const scoresSchema = z.strictObject({
  verdicts: count,
  from: count,
  to: count,
  observedDays: count,
  races: z.strictObject({ up: count, down: count, both: count, timeout: count, incomplete: count }),
  timeoutShare: fraction.nullable(),
  auc: measureSchema.nullable(),
  newestAuc: measureSchema.nullable(),
  brier: measureSchema.nullable(),
  brierSpoken: measureSchema.nullable(),
  calibrationError: fraction.nullable(),
  reliability: z
    .array(z.strictObject({ from: fraction, to: fraction, races: count, said: fraction, happened: fraction }))
    .max(10)
    .readonly(),
  spoken: count,
  sellShare: fraction.nullable(),
  winRates: z
    .strictObject({
      races: count,
      called: measureSchema,
      calledByBlocks: measureSchema,
      alwaysBuy: measureSchema,
      alwaysSell: measureSchema,
      random: measureSchema,
    })
    .nullable(),
  everyCall: z
    .strictObject({
      trades: count,
      timeoutShare: fraction,
      called: byExitSchema,
      alwaysBuy: byExitSchema,
      alwaysSell: byExitSchema,
      random: byExitSchema,
    })
    .nullable(),
  flipsPerDay: z.number().nonnegative().nullable(),
}) satisfies z.ZodType<Scores>

/** Scores out of sample, with the AUC of the same recipe on labels that were moved away from their bars. */
export const measuredSchema = scoresSchema.extend({ placeboAuc: measureSchema.nullable() })
