import { z } from 'zod'
import { coinSchema, exchangeSchema } from '../domain/series.ts'
import { count, numberOrNull, textOrNull } from '../infra/field-schemas.ts'
import { LIMITS } from '../limits.ts'
import { coinField, instantField } from './tool-fields.ts'

export const scanFundingArbRequest = z.strictObject({
  min_net_bps: z
    .number()
    .min(-10_000)
    .max(10_000)
    .default(0)
    .describe('Least expected net carry, in basis points'),
  holding_hours: z.int().min(1).max(2_160).default(168).describe('How long both legs are held'),
  limit: z.int().min(1).max(LIMITS.fundingRows).default(10).describe('Rows in the answer'),
  coins: z
    .array(coinField)
    .min(1)
    .max(100)
    .optional()
    .describe('Only these coins; all that are known where it is left out'),
  taker_fee_bps: z
    .number()
    .min(0)
    .max(100)
    .default(5)
    .describe('Fee of one leg, in basis points; four legs are paid'),
})

export const fundingLeg = z.object({
  exchange: exchangeSchema,
  contract: coinSchema.describe('What the exchange calls the coin: 1000PEPE, KPEPE or PEPE'),
  coins_per_unit: z.int().positive().describe('Coins that one unit of its price is for: 1,000 of 1000PEPE'),
  side: z.enum(['long', 'short']),
  rate: z.number().describe('Newest settled rate: the fraction longs pay shorts for one interval'),
  interval_hours: z.number().describe('Differs by exchange and contract, and changes over time'),
  annualised: z.number().describe('The rate as a simple yearly fraction'),
  settled_at: instantField,
  next_funding: instantField.describe('Next settlement, if the interval stays'),
})

export const fundingOpportunity = z.object({
  rank: z.int().positive(),
  coin: coinSchema,
  long: fundingLeg,
  short: fundingLeg,
  annualised_gross: z
    .number()
    .describe('What the newest rates would earn in a year if they stayed; they do not'),
  expected_annualised: z
    .number()
    .describe('Yearly carry expected over the holding time, shrunk by persistence'),
  net_expected_bps: z
    .number()
    .describe('Expected carry over the holding time after four taker fees, in basis points of one leg'),
  break_even_hours: numberOrNull.describe(
    'When the expected carry has paid the fees; null where it does not within a year',
  ),
  persistence: z
    .number()
    .min(0)
    .max(1)
    .describe('Correlation of the daily spread with that of the day before, at least 0'),
  history_days: z.int().nonnegative().describe('Whole days of funding history that both exchanges have'),
})

export const scanFundingArbResponse = z.object({
  completed_at: instantField,
  holding_hours: z.int(),
  fees_bps: z.number().describe('The four taker fees together'),
  opportunities: z.array(fundingOpportunity),
  pairs_compared: z.int().nonnegative(),
  pairs_too_short: count.describe(
    'Pairs left out for less than a week of history in common, or a gap in the last 24 hours',
  ),
  pairs_unconfirmed: count.describe(
    'Pairs left out because no two fresh prices within 5 % confirm that they are of one asset',
  ),
  markets_stale: count.describe('Markets left out because their newest settlement is too old'),
  venues: z.array(exchangeSchema).describe('Exchanges with funding history here'),
  note: textOrNull.describe('Why there is nothing, and what was left out'),
})

export type ScanFundingArbRequest = z.output<typeof scanFundingArbRequest>
export type ScanFundingArbResponse = z.infer<typeof scanFundingArbResponse>
export type FundingLeg = z.infer<typeof fundingLeg>
export type FundingOpportunity = z.infer<typeof fundingOpportunity>
