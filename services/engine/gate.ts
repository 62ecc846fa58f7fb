import { z } from 'zod'
import { count } from '../../contracts/field-schemas.ts'
import { type Coin, coinSchema } from '../../contracts/series.ts'
import { TIMEFRAMES, type Timeframe } from '../../contracts/timeframes.ts'
import { measureSchema } from './scoring/scores-schema.ts'

/** The score of one coin at a timeframe, walked forward. */
const coinScoreSchema = z.strictObject({
  coin: coinSchema,
  observedDays: count,
  races: count,
  auc: measureSchema,
  /** Why its calls are HOLD; missing where they are made. Continues "HOLD, because". */
  silence: z.string().min(1).max(250).optional(),
})

/** Calls apart of about the same confidence, beside what came of them; returns in basis points before costs. */
const confidenceScoreSchema = z.strictObject({
  /** Lowest and highest confidence, in percent. */
  from: count,
  to: count,
  calls: count,
  won: measureSchema,
  inFavour: measureSchema,
  gross: measureSchema,
})

/** Scores of a timeframe that say more than one number for all: by coin, by confidence, and of its newest days. */
const timeframeGateSchema = z.strictObject({
  /** AUC over as many newest days of the walk as speech is judged by. */
  walkedAuc: z.number().min(0).max(1),
  coins: z.array(coinScoreSchema).max(500),
  confidences: z.array(confidenceScoreSchema).max(10),
})

export const gateSchema = z.partialRecord(z.enum(TIMEFRAMES), timeframeGateSchema)

export type Gate = z.infer<typeof gateSchema>
export type TimeframeGate = z.infer<typeof timeframeGateSchema>

/** @example silenceKey('5m', 'LTC') === '5m LTC' */
export const silenceKey = (timeframe: Timeframe, coin: Coin): string => `${timeframe} ${coin}`

/** Why coins are silent, by {@link silenceKey}. */
export const silencesOf = (gate: Gate): ReadonlyMap<string, string> =>
  new Map(
    TIMEFRAMES.flatMap((timeframe) =>
      (gate[timeframe]?.coins ?? []).flatMap(({ coin, silence }) =>
        silence === undefined ? [] : [[silenceKey(timeframe, coin), silence] as const],
      ),
    ),
  )
