import { z } from 'zod'
import { timeMs } from './field-schemas.ts'
import { seriesSchema } from './series.ts'

/**
 * Why bars have no verdict: no process followed the market; the series was closed because of a fault of its own;
 * its venue sent no bars; nobody asked for the series.
 */
export const MISSING_REASONS = ['no_engine', 'series_closed', 'no_bars', 'not_followed'] as const
export type MissingReason = (typeof MISSING_REASONS)[number]

/** A stretch of bars without a verdict, between two verdicts of a series. */
export const verdictsMissingSchema = seriesSchema.extend({
  reason: z.enum(MISSING_REASONS),
  /** How many. */
  bars: z.int().positive(),
  /** Close of the first and the last of them, Unix milliseconds. */
  from: timeMs,
  to: timeMs,
  /** Model version of the verdict after the gap. */
  modelVersion: z.string().min(1).max(64),
})

export type VerdictsMissing = z.infer<typeof verdictsMissingSchema>
