import { z } from 'zod'
import { isoTime } from '../domain/iso-time.ts'
import { type Outcome, RACE_OUTCOMES } from '../domain/outcome.ts'
import { seriesSchema } from '../domain/series.ts'
import { regimeSchema } from '../domain/verdict.ts'
import { marketKindSchema } from '../events/event-catalogue.ts'
import { count, instantUtc as instant, numberOrNull } from '../infra/field-schemas.ts'
import { RESULTS, resultOf } from './board.ts'
import { cursorSchema, nextSchema } from './parameters.ts'
import { verdictRowSchema } from './verdict-row.ts'

/** A change of the regime of a series. */
export const regimeShiftRowSchema = z.object({
  ...seriesSchema.shape,
  bar_close: z.iso.datetime().describe('ISO 8601, UTC: close of the bar with which it came'),
  regime: regimeSchema,
  prior_regime: regimeSchema,
  confidence: z.int().describe('Of the verdict with which it came'),
  verdict_id: z.uuid(),
})
export type RegimeShiftRow = z.infer<typeof regimeShiftRowSchema>

export const regimeShiftsAnswerSchema = z.object({
  notice: z.string(),
  as_of: z.string().describe('Position in the log up to which shifts are known'),
  rows: z.array(regimeShiftRowSchema),
  next: nextSchema,
})

/** The outcome of a verdict, as the history of a series shows it. */
export const historyOutcomeSchema = z.object({
  race: z.enum(RACE_OUTCOMES).describe('Which barrier came first'),
  result: z.enum(RESULTS),
  entry_price: numberOrNull,
  exit_price: numberOrNull,
  decided_at: instant.nullable(),
})
export type HistoryOutcome = z.infer<typeof historyOutcomeSchema>

export const historyOutcome = (outcome: Outcome): HistoryOutcome => ({
  race: outcome.race,
  result: resultOf(outcome),
  entry_price: outcome.entryPrice,
  exit_price: outcome.exitPrice,
  decided_at: outcome.decidedAt === null ? null : isoTime(outcome.decidedAt),
})

export const historyRowSchema = verdictRowSchema.omit({ cursor: true }).extend({
  is_open: z.boolean().describe('Whether its window is open'),
  outcome: historyOutcomeSchema.nullable().describe('Null before it is decided'),
})
export type HistoryRow = z.infer<typeof historyRowSchema>

export const seriesHistorySchema = z.object({
  market: marketKindSchema,
  market_time: instant.describe('The present instant of this market'),
  series: seriesSchema,
  newest_regime: z
    .object({ regime: regimeSchema, since: instant, bar_close: instant })
    .nullable()
    .describe('Of the newest verdict, shown or not; null on later pages'),
  rows: z.array(historyRowSchema).describe('Newest first'),
  withheld: count.describe('Verdicts not shown: their window is open'),
  next: cursorSchema.nullable().describe('Give it as `after` for older rows; null at the end'),
})
export type SeriesHistory = z.infer<typeof seriesHistorySchema>
