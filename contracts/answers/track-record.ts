import { z } from 'zod'
import { coinSchema, exchangeSchema } from '../domain/series.ts'
import { timeframeSchema } from '../domain/timeframes.ts'
import { count, instantUtc as instant, numberOrNull, textOrNull } from '../infra/field-schemas.ts'
import { cursorSchema, nextSchema } from './parameters.ts'

const instantOrNull = instant.nullable()

const shareSchema = z
  .object({ value: z.number(), low: z.number(), high: z.number() })
  .describe('A share with the ends of its 95 % interval')

/** Results of a coin's calls over all its series of a model: of each series the calls whose windows do not overlap. */
export const recordCoinSchema = z.object({
  model_version: z.string(),
  coin: coinSchema,
  series: count.describe('Exchanges and timeframes that are pooled'),
  verdicts: count.describe('Labelled verdicts, HOLD included'),
  calls: count,
  reached: count.describe('Races that reached a barrier'),
  wins: count,
  win_rate: shareSchema.nullable().describe('Of `reached`; its interval is too narrow for pooled series'),
  trades: count.describe('Calls whose return is known'),
  net_mean_bps: numberOrNull.describe('Basis points a call, 12 for entering and leaving taken off'),
  always_buy: numberOrNull.describe('Win rate of always BUY on the same bars'),
  always_sell: numberOrNull.describe('The same of always SELL'),
  random: numberOrNull.describe('What a fair coin can expect on the same bars'),
})
export type RecordCoin = z.infer<typeof recordCoinSchema>

export const recordCoinsSchema = z.object({ rows: z.array(recordCoinSchema), next: nextSchema })
export type RecordCoinsAnswer = z.infer<typeof recordCoinsSchema>

const sum = z.number().describe('Sum over the trades, basis points of one unit each, 12 per trade taken off')

/** Results of a month's calls, of each series the calls whose windows do not overlap. */
export const recordMonthSchema = z.object({
  model_version: z.string(),
  timeframe: timeframeSchema,
  month: z.string().describe('Of the bars, as 2026-01'),
  calls: count,
  reached: count.describe('Races that reached a barrier'),
  wins: count,
  trades: count.describe('Calls whose return is known'),
  net_bps: sum,
  always_buy_bps: sum,
  always_sell_bps: sum,
  random_bps: sum.describe('What a fair coin can expect on the same bars'),
  forecasts: count.describe('Verdicts with a range whose window closed with all its bars'),
  within_80: count.describe('Of those, prices that ended from p10 to p90, where four of five are expected'),
  within_50: count.describe('From p25 to p75, where half are expected'),
})
export type RecordMonth = z.infer<typeof recordMonthSchema>

export const recordMonthsSchema = z.object({ rows: z.array(recordMonthSchema) })

const bps = numberOrNull.describe('Basis points per call, 12 for entering and leaving taken off')

const racesSchema = z
  .object({ up: count, down: count, both: count, timeout: count, incomplete: count })
  .describe('How races ended')

const callsSchema = z.object({ BUY: count, SELL: count, HOLD: count })

const inFavour = numberOrNull.describe('Share of `trades` that ended in favour, time-outs too')

const grossBps = numberOrNull.describe('Basis points per call, before costs')

const baselineSchema = z.object({
  win_rate: numberOrNull,
  in_favour: inFavour,
  gross_mean_bps: grossBps,
  net_mean_bps: bps,
})

const reliabilitySchema = z.array(
  z.object({
    from: z.number().describe('Lowest probability of the likelier side'),
    to: z.number().describe('All below it; the last row has no other end than 1'),
    races: count,
    non_overlapping: count.describe('Of each series those whose windows do not overlap'),
    said: z.number().describe('Mean probability of the likelier side'),
    happened: z.number().describe('Share of races that it won'),
  }),
)

/** Measurements of a model, for one series or pooled over the series of a timeframe. */
export const trackRecordRowSchema = z.object({
  model_version: z.string(),
  exchange: exchangeSchema.nullable().describe('null where series are pooled'),
  coin: coinSchema.nullable(),
  timeframe: timeframeSchema,
  from: instantOrNull.describe('Close of the earliest bar; null where no verdict counts'),
  to: instantOrNull.describe('Close of the latest bar'),
  verdicts: count.describe('Labelled verdicts, HOLD included, without those of `recorded_late`'),
  calls: callsSchema,
  races: racesSchema.describe('How the races of all verdicts ended'),
  spoken_races: racesSchema.describe('How the races of BUY and SELL ended'),
  brier: numberOrNull.describe('Mean squared error over races that one barrier won; 0.25 is a coin'),
  brier_races: count,
  brier_spoken: numberOrNull.describe('The same over BUY and SELL'),
  brier_spoken_races: count,
  calibration_error: numberOrNull.describe('Mean distance of `said` and `happened` over `reliability`'),
  reliability: reliabilitySchema,
  spoken: z
    .object({ calls: count, reached: count, wins: count, net_mean_bps: bps })
    .describe('Every BUY and SELL; their windows overlap'),
  non_overlapping: z
    .object({
      calls: count,
      reached: count.describe('Races that reached a barrier; one bar that touched both is lost'),
      wins: count,
      win_rate: shareSchema.nullable(),
      trades: count.describe('Calls whose return is known: all but incomplete ones'),
      timed_out: count.describe('Of `trades`: races that reached no barrier, which `win_rate` leaves out'),
      in_favour: shareSchema.nullable().describe('Share of `trades` that ended in favour'),
      gross_mean_bps: grossBps,
      net_mean_bps: bps,
      mean_margin_bps: numberOrNull.describe('Half the 95 % interval of either mean; null below 5 blocks'),
      t: numberOrNull.describe('Standard errors that the mean is away from 0, by blocks of time'),
      blocks: count.describe('Blocks of 50 windows with a trade'),
    })
    .describe('Of each series the BUY and SELL whose windows do not overlap'),
  baselines: z
    .object({ always_buy: baselineSchema, always_sell: baselineSchema, random: baselineSchema })
    .describe('On the bars of `non_overlapping`'),
  ranges: z
    .object({
      forecasts: count.describe('Verdicts with a range whose window closed with all its bars'),
      non_overlapping: count.describe('Of each series those whose windows do not overlap'),
      coverage_80: shareSchema.nullable().describe('Share of returns within p10 and p90, which is to be 0.8'),
      coverage_50: numberOrNull.describe('The same of p25 and p75, which is to be 0.5'),
      below: numberOrNull.describe('Share of returns below p10, which is to be 0.1'),
      above: numberOrNull.describe('Share of returns above p90'),
      pinball_bps: numberOrNull.describe('Mean pinball loss of p10 and p90, in basis points'),
    })
    .describe('How far the price was to go, and how far it went'),
  recorded_late: callsSchema.describe(
    'Recorded after the first bar of their race closed; in no other figure',
  ),
  bars_missed: count.describe('Bars without a verdict in front of one whose outcome is labelled'),
})
export type TrackRecordRow = z.infer<typeof trackRecordRowSchema>

/** Whether calls are made at a timeframe, and how the model did there of late. */
export const speechRowSchema = z.object({
  model_version: z.string(),
  timeframe: timeframeSchema,
  state: z
    .enum(['calls', 'silent', 'withdrawn'])
    .describe('`silent`: it never calls, for want of skill; `withdrawn`: no calls for now'),
  reason: textOrNull.describe('Why no calls are made; null where they are'),
  since: instantOrNull.describe('Since which bars it is so; null where calls were never withdrawn'),
  window_days: count.describe('Days that a model is judged by: 180 up to 15m, 730 from 30m on'),
  auc_180d: numberOrNull.describe('AUC of the forecasts over `window_days`; null for too few outcomes'),
  races_180d: count,
  days_running: count.describe('Days below 0.505, or from 0.515 if withdrawn; 14 change the state'),
})
export type SpeechAnswerRow = z.infer<typeof speechRowSchema>

export const trackRecordAnswerSchema = z.object({
  notice: z.string(),
  as_of: z.string().describe('Position in the log up to which outcomes are counted'),
  rows: z.array(trackRecordRowSchema),
  speech: z
    .array(speechRowSchema)
    .describe('How each model does of late; on the first page, and as the newest outcomes have it'),
  next: cursorSchema.nullable().describe('Give it as `after` for the rows after these; null at the end'),
})
export type TrackRecordAnswer = z.infer<typeof trackRecordAnswerSchema>
