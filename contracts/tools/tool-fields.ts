import { z } from 'zod'
import { canonicalTimeframe, coinOfName } from '../domain/common-names.ts'
import { coinSchema, EXCHANGES, exchangeSchema } from '../domain/series.ts'
import { TIMEFRAMES, type Timeframe, timeframeSchema } from '../domain/timeframes.ts'
import { callSchema, regimeSchema, type Verdict } from '../domain/verdict.ts'
import { percent } from '../infra/field-schemas.ts'
import { LIMITS } from '../limits.ts'

/**
 * A name chosen by a caller. The schema shown to callers lists the values; any other text passes here, so
 * that the tool can refuse it with a code and the list of what exists.
 */
const named = (description: string, values: readonly string[]) =>
  name().meta({ description, enum: [...values] })

/** Half a character could not be sent on, nor shown in a refusal. */
const name = () =>
  z
    .string()
    .trim()
    .min(1)
    .max(LIMITS.nameCharacters)
    .refine((text) => text.isWellFormed(), { error: 'must be well-formed Unicode' })

export const coinField = name()
  .transform(coinOfName)
  .describe('Coin, as BTC; Bitcoin, BTCUSDT and BTC-PERP are understood too')

export const exchangeField = named('Exchange code', EXCHANGES)
  .transform((text) => text.toUpperCase())
  .optional()

export const timeframeField = (fallback: Timeframe) =>
  named('Length of a bar; aligned to UTC midnight', TIMEFRAMES)
    .overwrite(canonicalTimeframe)
    .default(fallback)

export const instantField = z.iso.datetime().describe('ISO 8601, UTC')

/** The first fields of every row about one series. */
export const callFields = {
  call: callSchema,
  confidence: percent.describe(
    "100 × calibrated probability that the called side's barrier comes first; 50 to 60",
  ),
  strength: percent.describe(
    'Percentile among the recent bars of this series, for ranking; not a probability',
  ),
  regime: regimeSchema,
}

export const seriesFields = { coin: coinSchema, timeframe: timeframeSchema, exchange: exchangeSchema }

/** The address at which anybody who holds a verdict's id can look it up. */
export const verifyUrl = (publicUrl: string, { verdictId }: Pick<Verdict, 'verdictId'>): string =>
  `${publicUrl}/verify/${verdictId}`
